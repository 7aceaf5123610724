//! What goes out: headers, path, and a body that depends on the request alone.

use dsh_model::Provider;

use crate::events::{ask, request, request_of, whole};
use crate::server::Server;

#[tokio::test]
async fn the_same_request_is_the_same_bytes() {
    let server = Server::play(vec![whole("a")]).await;
    ask(&server.model(), request()).await;
    ask(&server.model_of(|endpoint| endpoint.model = "other".into()), request()).await;
    let asked = server.asked();
    // The model is the one of the log, not of the adapter that happens to be there.
    assert_eq!(asked[0].body, asked[1].body);
    assert_eq!(
        asked[0].body,
        r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":"be brief"},{"role":"user","content":"hello"}]}"#
    );
}

#[tokio::test]
async fn requests_go_to_the_right_place_with_the_right_headers() {
    let server = Server::play(vec![whole("a")]).await;
    for base in ["", "/v1/", "/v1/chat/completions"] {
        ask(&server.model_of(|endpoint| endpoint.base_url += base), request()).await;
    }
    ask(&server.model_of(|endpoint| endpoint.base_url += "/x/?api-version=2"), request()).await;
    let asked = server.asked();
    for asked in &asked[..3] {
        assert!(asked.head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{}", asked.head);
        assert_eq!(asked.header("content-type"), Some("application/json"));
        assert_eq!(asked.header("authorization"), None);
        assert!(asked.header("user-agent").unwrap().starts_with("dsh-wasm/"));
    }
    assert!(asked[3].head.starts_with("POST /x/chat/completions?api-version=2 "));
}

#[tokio::test]
async fn a_session_id_in_any_script_fits_the_header_that_tells_it() {
    let server = Server::play(vec![whole("a")]).await;
    let model = server.model_of(|endpoint| endpoint.session_header = Some("x-session-id".into()));
    for id in ["session-1", "会話記録:①😀\r\nx: y"] {
        let told = ask(&model, request_of(id, "hello")).await;
        assert_eq!(told.text, "a");
    }
    let asked = server.asked();
    assert_eq!(asked[0].header("x-session-id"), Some("session-1"));
    let encoded = asked[1].header("x-session-id").unwrap();
    assert!(encoded.starts_with("%E4%BC%9A") && encoded.ends_with("%0D%0Ax:%20y"), "{encoded}");
    assert_eq!(asked[1].header("x"), None);
    // Nobody is told who did not ask for it.
    ask(&server.model(), request_of("secret", "hello")).await;
    assert!(!server.asked()[2].head.contains("secret"));
}

#[tokio::test]
async fn a_prompt_in_any_script_arrives_as_it_was_written() {
    let server = Server::play(vec![whole("a")]).await;
    let prompt = "日本 \u{1F600} \u{202e} \"\\ \u{7f}\u{0}";
    ask(&server.model(), request_of("s", prompt)).await;
    assert_eq!(server.asked()[0].json()["messages"][1]["content"], prompt);
}

#[tokio::test]
async fn deepseek_is_asked_in_its_own_words() {
    let server = Server::play(vec![whole("a")]).await;
    let model = server.model_of(|endpoint| {
        *endpoint = endpoint.clone().of(Provider::named("deepseek").unwrap());
    });
    let mut request = request();
    request.header.config.reasoning_effort = Some("max".into());
    request.header.config.max_tokens = Some(256_000);
    ask(&model, request.clone()).await;
    let body = server.asked()[0].json();
    assert_eq!(body["thinking"]["type"], "enabled");
    assert_eq!((&body["reasoning_effort"], &body["max_tokens"]), (&"max".into(), &256_000.into()));
    request.header.config.reasoning_effort = Some("medium".into());
    ask(&model, request).await.failed("UNSUPPORTED_REASONING_EFFORT", "off, low, high, max");
    assert_eq!(server.asked().len(), 1);
}
