//! Spans of plugins' calls as OTLP over HTTP, sent in batches by a thread of their own.

use std::time::Duration;

use anyhow::Context as _;
use async_trait::async_trait;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::Handle;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};

/// What collectors call this program.
const NAME: &str = "dsh-wasm";

/// Whose spans are sent: those of plugins' calls. Others are made by whatever sends them, too.
const SENT: &str = "dsh_plugin_host";

/// How long one request may take.
const REQUEST: Duration = Duration::from_secs(10);

/// How long the end of the program waits for what was not sent yet.
const LAST: Duration = Duration::from_secs(1);

/// Spans on their way to a collector.
pub(super) struct Exporter {
    provider: SdkTracerProvider,
}

impl Exporter {
    /// Sends every span of a plugin's call that ends from now on, anywhere in this process, to `url`.
    pub(super) fn begin(url: &str, runtime: &Handle) -> anyhow::Result<Self> {
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Poster::new(runtime)?)
            .with_endpoint(url)
            .with_timeout(REQUEST)
            .build()
            .with_context(|| format!("spans cannot be sent to {url:?}"))?;
        let provider = SdkTracerProvider::builder()
            .with_resource(Resource::builder().with_service_name(NAME).build())
            .with_batch_exporter(exporter)
            .build();
        let spans = tracing_opentelemetry::layer()
            .with_tracer(provider.tracer(NAME))
            .with_filter(Targets::new().with_target(SENT, LevelFilter::INFO));
        let all = tracing_subscriber::registry().with(spans);
        tracing::subscriber::set_global_default(all).context("spans go elsewhere already")?;
        Ok(Self { provider })
    }

    /// Sends what is still here, as long as that is quick.
    pub(super) fn end(self) {
        // Whoever does not answer now is no failure of what the person asked for.
        let _ = self.provider.shutdown_with_timeout(LAST);
    }
}

/// Posts from the program's runtime what a thread without one gives it.
#[derive(Debug)]
struct Poster {
    client: reqwest::Client,
    runtime: Handle,
}

impl Poster {
    fn new(runtime: &Handle) -> anyhow::Result<Self> {
        // Where one is installed, it is this one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .timeout(REQUEST)
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        Ok(Self { client, runtime: runtime.clone() })
    }
}

#[async_trait]
impl HttpClient for Poster {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let request = reqwest::Request::try_from(request)?;
        let client = self.client.clone();
        // Even to begin with a request takes the runtime.
        let answered = self.runtime.spawn(async move {
            let answer = client.execute(request).await?;
            let status = answer.status();
            // What a collector says beside its status changes nothing, so it is not read.
            Ok::<_, reqwest::Error>(status)
        });
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = answered.await??;
        Ok(response)
    }
}
