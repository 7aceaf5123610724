//! Servers over streamable HTTP: a client of our own, with nothing global in it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;

use crate::StartError;

/// Most bytes of one answer, and of one event of a stream.
const ANSWER: usize = 16 << 20;

/// A transport to `url`; nothing is sent yet.
pub(crate) fn transport(
    url: &str,
    headers: &[(String, String)],
    connect: Duration,
) -> Result<StreamableHttpClientTransport<reqwest::Client>, StartError> {
    let wrong = |what: String| StartError::Setting { what };
    let parsed: reqwest::Url =
        url.parse().map_err(|error| wrong(format!("its url {url:?} is none: {error}")))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(wrong(format!("its url {url:?} is neither http nor https")));
    }
    let mut custom = HashMap::new();
    for (name, value) in headers {
        let parsed =
            HeaderName::from_bytes(name.as_bytes()).ok().zip(HeaderValue::from_str(value).ok());
        // The value may be a secret, so the name is all that is said.
        let (name, mut value) =
            parsed.ok_or_else(|| wrong(format!("its header {name:?} cannot be sent")))?;
        value.set_sensitive(true);
        custom.insert(name, value);
    }
    let local = matches!(parsed.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    let failed = |error: &dyn std::error::Error| wrong(format!("TLS cannot be set up: {error}"));
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(
            tls(!local || parsed.scheme() == "https").map_err(|error| failed(&error))?,
        )
        .connect_timeout(connect)
        // Headers may hold keys: they go where the person said and nowhere else.
        .redirect(reqwest::redirect::Policy::none());
    let client = if local { client.no_proxy() } else { client };
    let client = client.build().map_err(|error| failed(&error))?;
    let config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(custom)
        .max_sse_event_size(ANSWER)
        .max_json_response_size(ANSWER);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

/// Reading the machine's certificates takes a while, so only those who need them do.
fn tls(encrypted: bool) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let builder = if encrypted {
        builder.with_platform_verifier()?
    } else {
        builder.with_root_certificates(RootCertStore::empty())
    };
    Ok(builder.with_no_client_auth())
}
