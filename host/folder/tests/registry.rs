//! Plugins from an OCI registry, a small one on loopback.

use std::collections::HashMap;
use std::sync::Arc;

use dsh_plugin_folder::{Digest, Fetched, FolderError, Source};
use dsh_plugin_host::Manifest;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// What is at which path: its type and its bytes.
type Pages = HashMap<String, (&'static str, Vec<u8>)>;

/// Answers every request with the page at its path, and gives the registry's address.
async fn registry(pages: Pages) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let pages = Arc::new(pages);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let pages = pages.clone();
            tokio::spawn(async move {
                let (mut head, mut byte) = (Vec::new(), [0]);
                while !head.ends_with(b"\r\n\r\n") {
                    if stream.read(&mut byte).await.unwrap_or_default() == 0 {
                        return;
                    }
                    head.extend(byte);
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                let path = head.split(' ').nth(1).unwrap_or_default();
                let (status, kind, body) = match pages.get(path) {
                    Some((kind, body)) => ("200 OK", *kind, body.clone()),
                    None if path == "/v2/" => ("200 OK", "text/plain", Vec::new()),
                    None => ("404 Not Found", "application/json", b"{\"errors\":[]}".to_vec()),
                };
                let head = format!(
                    "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                    body.len()
                );
                // A client that went away has what it wanted.
                let _ = stream.write_all(&[head.as_bytes(), &body].concat()).await;
            });
        }
    });
    address
}

/// The pages of an artifact with these layers under the tag `1`.
fn pages(layers: &[(&str, &[u8])], served: &[u8]) -> Pages {
    let config = b"{}";
    let descriptor = |kind: &str, bytes: &[u8]| {
        let (digest, size) = (Digest::of(bytes), bytes.len());
        serde_json::json!({ "mediaType": kind, "digest": format!("sha256:{digest}"), "size": size })
    };
    let layered: Vec<_> = layers.iter().map(|(kind, bytes)| descriptor(kind, bytes)).collect();
    let manifest = serde_json::json!({
        "schemaVersion": 2, "mediaType": MANIFEST,
        "config": descriptor("application/vnd.wasm.config.v0+json", config), "layers": layered,
    });
    let mut pages = Pages::new();
    pages.insert("/v2/a/b/manifests/1".to_owned(), (MANIFEST, manifest.to_string().into()));
    for (_, bytes) in layers {
        let path = format!("/v2/a/b/blobs/sha256:{}", Digest::of(bytes));
        pages.insert(path, ("application/octet-stream", served.to_vec()));
    }
    pages
}

async fn fetched(pages: Pages, what: &str) -> Result<Fetched, FolderError> {
    let address = registry(pages).await;
    let source = Source::of(&format!("{address}/{what}"), std::path::Path::new("/nowhere"))?;
    assert!(matches!(source, Source::Registry(_)));
    Fetched::from(source).await
}

fn component() -> Vec<u8> {
    Manifest::embed("id = \"a\"\nversion = \"2\"\n", b"\0asm\x0d\0\x01\0").expect("a manifest")
}

#[tokio::test]
async fn a_component_comes_with_its_manifest() {
    let wasm = component();
    let fetched = fetched(pages(&[("application/wasm", &wasm)], &wasm), "a/b:1").await;
    let fetched = fetched.unwrap_or_else(|err| panic!("{err}"));
    assert_eq!((fetched.manifest.version.as_str(), &fetched.wasm), ("2", &wasm));
}

#[tokio::test]
async fn what_is_not_what_was_promised_is_refused_by_name() {
    let wasm = component();
    let layer: (&str, &[u8]) = ("application/wasm", &wasm);
    let image = ("application/vnd.oci.image.layer.v1.tar", b"tar".as_slice());
    let other =
        Manifest::embed("id = \"b\"\nversion = \"2\"\n", b"\0asm\x0d\0\x01\0").expect("one");
    for (pages, what, words) in [
        (pages(&[layer], &wasm), "a/b:2", "a/b:2"),
        (pages(&[image], b"tar"), "a/b:1", "holds no component"),
        (pages(&[layer, ("application/wasm", b"x")], &wasm), "a/b:1", "more than one"),
        // Bytes of the same length that hash to something else.
        (pages(&[layer], &other), "a/b:1", "igest"),
    ] {
        let said = fetched(pages, what).await.expect_err(words).to_string();
        assert!(said.contains(words) && said.contains("127.0.0.1"), "{words}: {said}");
    }
}
