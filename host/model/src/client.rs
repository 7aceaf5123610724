//! The client that requests go out with: no redirects, no global state, and the machine's own certificates.

use std::sync::Arc;

use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;

use crate::endpoint::Service;
use crate::{Endpoint, EndpointError, Secret};

/// What services are told of who asks.
const USER_AGENT: &str = concat!("dsh-wasm/", env!("CARGO_PKG_VERSION"));

/// A client for this endpoint.
///
/// A redirect is an answer like any other: following it would carry the request, and with it a conversation, to a place
/// that nobody named.
pub(crate) fn client(
    endpoint: &Endpoint,
    service: &Service,
) -> Result<reqwest::Client, EndpointError> {
    let proxied = endpoint.system_proxy && !service.here;
    let encrypted = service.chat.scheme() == "https" || proxied;
    let failed = |error: &dyn std::error::Error| EndpointError::Client(error.to_string());
    let builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls(encrypted).map_err(|error| failed(&error))?)
        .connect_timeout(endpoint.timeouts.connect)
        .redirect(Policy::none())
        .default_headers(headers(endpoint)?)
        .user_agent(USER_AGENT)
        .tcp_nodelay(true);
    let builder = if proxied { builder } else { builder.no_proxy() };
    builder.build().map_err(|error| failed(&error))
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
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// The headers of every request, none of them printed by whoever prints a request.
fn headers(endpoint: &Endpoint) -> Result<HeaderMap, EndpointError> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
    if let Some(key) = endpoint.key.as_ref().filter(|key| !key.is_empty()) {
        let visible = key.reveal().bytes().all(|byte| byte.is_ascii_graphic());
        let bearer = visible.then(|| format!("Bearer {}", key.reveal()));
        let value = bearer.and_then(|bearer| secret(&Secret::new(bearer)));
        headers.insert(AUTHORIZATION, value.ok_or(EndpointError::Key)?);
    }
    for (name, value) in &endpoint.headers {
        let wrong = || EndpointError::Header { name: name.clone() };
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        headers.insert(name, secret(value).ok_or_else(wrong)?);
    }
    Ok(headers)
}

/// A header's value: any text without control characters, which goes out as UTF-8.
fn secret(value: &Secret) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_bytes(value.reveal().as_bytes()).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// A text as the value of a header: what is not visible ASCII is percent-encoded, and so is the percent sign.
pub(crate) fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_graphic() && byte != b'%' {
            encoded.push(char::from(byte));
        } else {
            encoded += &format!("%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(change: impl FnOnce(&mut Endpoint)) -> Result<HeaderMap, EndpointError> {
        let mut endpoint = Endpoint::new("http://h", "m").unwrap();
        change(&mut endpoint);
        headers(&endpoint)
    }

    #[test]
    fn what_cannot_be_sent_is_an_error_that_does_not_show_it() {
        for key in ["sk sesame", "sk-sesame\nHost: evil", "sk-sésame"] {
            let error = built(|endpoint| endpoint.key = Some(Secret::new(key))).unwrap_err();
            assert!(!error.to_string().contains("same"), "{error}");
        }
        for (name, value) in [("a b", "x"), ("", "x"), ("a", "x\r\ny")] {
            let pair = (name.to_owned(), Secret::new(value));
            let error = built(|endpoint| endpoint.headers = vec![pair]).unwrap_err();
            assert_eq!(error.to_string(), format!("the header {name:?} cannot be sent"));
        }
    }

    #[test]
    fn headers_of_ones_own_take_the_place_of_ours() {
        let headers = built(|endpoint| {
            endpoint.key = Some(Secret::new("sk-one"));
            endpoint.headers = vec![
                ("Authorization".into(), Secret::new("Basic two")),
                ("x-team".into(), Secret::new("日本")),
            ];
        });
        let headers = headers.unwrap();
        assert_eq!(headers[AUTHORIZATION], "Basic two");
        assert_eq!(headers["x-team"].as_bytes(), "日本".as_bytes());
        assert!(headers[AUTHORIZATION].is_sensitive());
        assert!(!format!("{headers:?}").contains("two"));
    }

    #[test]
    fn an_empty_key_is_no_key() {
        let headers = built(|endpoint| endpoint.key = Some(Secret::new(" \n"))).unwrap();
        assert_eq!(headers.get(AUTHORIZATION), None);
    }

    #[test]
    fn any_text_fits_a_header() {
        assert_eq!(encoded("session-1"), "session-1");
        assert_eq!(encoded("é 100%"), "%C3%A9%20100%25");
    }
}
