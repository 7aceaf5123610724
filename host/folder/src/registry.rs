//! Components from OCI registries.

use std::time::Duration;

use oci_client::client::{ClientConfig, ClientProtocol};
use oci_client::errors::OciDistributionError;
use oci_client::manifest::{OciDescriptor, OciImageManifest};
use oci_client::secrets::RegistryAuth;
use oci_client::{Client, Reference};

use crate::error::FolderError;
use crate::fetch::MOST_BYTES;

/// Media types under which registries hold components.
const COMPONENTS: [&str; 2] = ["application/wasm", "application/vnd.wasm.content.layer.v1+wasm"];

/// Gets a component. Every byte is checked against the digests of the reference and of what it points to.
///
/// Nobody's name is given: what is not public cannot be had. A registry on this machine is spoken to in the clear,
/// as other clients do; every other one over TLS.
///
/// # Errors
///
/// [`FolderError::Registry`].
pub(crate) async fn pull(said: &str) -> Result<Vec<u8>, FolderError> {
    let failed = |reason: String| FolderError::Registry { reference: said.to_owned(), reason };
    let reference: Reference =
        said.parse().map_err(|err| failed(format!("is no reference: {err}")))?;
    let client = client(&reference).map_err(failed)?;
    let told = |err: OciDistributionError| failed(explained(&err));
    let (manifest, _) =
        client.pull_image_manifest(&reference, &RegistryAuth::Anonymous).await.map_err(told)?;
    let layer = component(&manifest).map_err(failed)?;
    let mut out = Bounded(Vec::new());
    client.pull_blob(&reference, layer, &mut out).await.map_err(told)?;
    Ok(out.0)
}

fn client(reference: &Reference) -> Result<Client, String> {
    let mut config = ClientConfig::default();
    let registry = reference.resolve_registry();
    let host = registry.rsplit_once(':').map_or(registry, |(host, _)| host);
    if matches!(host, "localhost" | "127.0.0.1" | "[::1]") {
        config.protocol = ClientProtocol::Http;
    }
    config.platform_resolver = None;
    config.connect_timeout = Some(Duration::from_secs(10));
    config.read_timeout = Some(Duration::from_secs(60));
    // The client takes the process's provider; whoever was first has the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::try_from(config).map_err(|err| explained(&err))
}

/// The one layer that is a component.
fn component(manifest: &OciImageManifest) -> Result<&OciDescriptor, String> {
    let mut layers =
        manifest.layers.iter().filter(|layer| COMPONENTS.contains(&layer.media_type.as_str()));
    match (layers.next(), layers.next()) {
        (Some(layer), None) if u64::try_from(layer.size).is_ok_and(|size| size <= MOST_BYTES) => {
            Ok(layer)
        }
        (Some(layer), None) => {
            Err(format!("its component has {} bytes, and {MOST_BYTES} are the most", layer.size))
        }
        (None, _) => {
            let types: Vec<&str> =
                manifest.layers.iter().map(|layer| layer.media_type.as_str()).collect();
            let types = if types.is_empty() { "nothing".to_owned() } else { types.join(", ") };
            Err(format!("holds no component (a layer of type {}); it holds {types}", COMPONENTS[0]))
        }
        (Some(_), Some(_)) => Err("holds more than one component".to_owned()),
    }
}

/// What went wrong, with every cause: the client's own sentence often says only that something did.
fn explained(err: &OciDistributionError) -> String {
    let mut said = err.to_string();
    let mut cause = std::error::Error::source(err);
    while let Some(err) = cause {
        let text = err.to_string();
        if !said.contains(&text) {
            said = format!("{said}: {text}");
        }
        cause = err.source();
    }
    said
}

/// Takes as much as a component may have: what a registry says of a size is its word alone.
struct Bounded(Vec<u8>);

impl tokio::io::AsyncWrite for Bounded {
    fn poll_write(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
        bytes: &[u8],
    ) -> std::task::Poll<std::io::Result<usize>> {
        let held = u64::try_from(self.0.len().saturating_add(bytes.len()));
        if held.is_ok_and(|held| held <= MOST_BYTES) {
            self.0.extend_from_slice(bytes);
            std::task::Poll::Ready(Ok(bytes.len()))
        } else {
            std::task::Poll::Ready(Err(std::io::Error::other(
                "more bytes than a component may have",
            )))
        }
    }

    fn poll_flush(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn poll_shutdown(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }
}
