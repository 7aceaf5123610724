//! Answers that are no success: what the person reads, what a program can tell, and what never leaks.

use dsh_agent::ModelFailure;
use dsh_model::Secret;

use crate::events::{ask, request, whole};
use crate::server::{Server, answer};

async fn refused(status: &str, headers: &[&str], body: &str) -> ModelFailure {
    let server = Server::play(vec![answer(status, headers, body)]).await;
    ask(&server.model(), request()).await.failure().clone()
}

#[tokio::test]
async fn too_many_requests_with_and_without_a_wait() {
    let body = r#"{"error":{"message":"slow down"}}"#;
    let failure = refused("429 Too Many Requests", &["x-request-id: req-59"], body).await;
    assert_eq!((failure.code.as_str(), failure.status), ("RATE_LIMIT", Some(429)));
    assert_eq!(failure.provider_retry_after_ms, None);
    assert_eq!(failure.request_id.as_deref(), Some("req-59"));
    let failure = refused("429 Too Many Requests", &["Retry-After: 3"], body).await;
    assert_eq!(failure.provider_retry_after_ms, Some(3000));
    let dates =
        ["Date: Tue, 01 Dec 2026 02:00:00 GMT", "Retry-After: Tue, 01 Dec 2026 02:00:30 GMT"];
    let failure = refused("429 Too Many Requests", &dates, body).await;
    assert_eq!(failure.provider_retry_after_ms, Some(30_000));
}

#[tokio::test]
async fn what_the_service_says_is_passed_on_with_where_and_what_to_do() {
    let body = r#"{"error":{"message":"Authentication Fails","type":"authentication_error"}}"#;
    let failure = refused("401 Unauthorized", &[], body).await;
    assert_eq!(failure.code, "AUTH");
    assert!(failure.message.starts_with("127.0.0.1:"), "{}", failure.message);
    assert!(
        failure.message.ends_with("answered 401 Unauthorized: Authentication Fails; check the key")
    );
    let page = "<html><head><title>502 Bad Gateway</title></head></html>";
    let failure = refused("502 Bad Gateway", &["content-type: text/html"], page).await;
    assert_eq!(failure.code, "SERVER");
    assert!(failure.message.ends_with(r#"a web page, "502 Bad Gateway""#), "{}", failure.message);
    let failure = refused("404 Not Found", &[], "").await;
    assert!(failure.message.ends_with("404 Not Found; check the base URL and the model's name"));
    let body = r#"{"error":{"message":"This model's maximum context length is 10 tokens"}}"#;
    assert_eq!(refused("400 Bad Request", &[], body).await.code, "CONTEXT_WINDOW_EXCEEDED");
}

#[tokio::test]
async fn a_key_is_never_in_what_a_failure_says() {
    let key = "sk-0123456789-sesame";
    let body = format!(r#"{{"error":{{"message":"Incorrect API key provided: {key}, {key}"}}}}"#);
    let echo = format!("x-request-id: {key}");
    let server = Server::play(vec![
        answer("401 Unauthorized", &[&echo], &body),
        answer("500 Internal Server Error", &[], &format!("Authorization: Bearer {key}")),
        answer("200 OK", &[], &format!("{key}\n")),
        answer("200 OK", &[], &format!("data: {key}\n\n")),
        answer("200 OK", &[], &format!(r#"data: {{"error":"{key}"}}{}"#, "\n\n")),
        answer("302 Found", &[&format!("location: https://evil.example/{key}?{key}")], ""),
    ])
    .await;
    let model = server.model_of(|endpoint| {
        endpoint.key = Some(Secret::new(key));
        endpoint.headers = vec![("x-other".into(), Secret::new("open-sesame"))];
    });
    for _ in 0..6 {
        let told = ask(&model, request()).await;
        let said = format!("{:?}", told.failure());
        assert!(!said.contains("sesame"), "{said}");
    }
    assert!(!format!("{model:?}").contains("sesame"));
    let asked = server.asked();
    assert_eq!(asked.len(), 6);
    assert_eq!(asked[0].header("authorization"), Some("Bearer sk-0123456789-sesame"));
    assert_eq!(asked[0].header("x-other"), Some("open-sesame"));
}

#[tokio::test]
async fn a_redirect_takes_nothing_anywhere() {
    let elsewhere = Server::play(vec![whole("caught")]).await;
    for status in ["301 Moved Permanently", "307 Temporary Redirect", "308 Permanent Redirect"] {
        let to = format!("location: {}/v1/chat/completions?x", elsewhere.url);
        let server = Server::play(vec![answer(status, &[&to], "")]).await;
        let told = ask(&server.model(), request()).await;
        let base = format!("it moved to {}/v1/chat/completions, make that", elsewhere.url);
        told.failed(&format!("HTTP_{}", &status[..3]), &base);
    }
    assert!(elsewhere.asked().is_empty());
}

#[tokio::test]
async fn a_request_id_in_any_script_is_kept() {
    let failure = refused("500 Internal Server Error", &["x-request-id: 要求-é"], "").await;
    assert_eq!(failure.request_id.as_deref(), Some("要求-é"));
}

#[tokio::test]
async fn an_error_page_without_end_is_read_in_part() {
    let endless = "x".repeat(32 * 1024 * 1024);
    let failure = refused("503 Service Unavailable", &[], &endless).await;
    assert_eq!(failure.code, "SERVER");
    assert!(failure.message.len() < 1000);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_with_the_cause() {
    let server = Server::play(vec![vec![]]).await;
    let model = server.model();
    let host = server.url.strip_prefix("http://").unwrap().to_owned();
    drop(server);
    // The port is free again as soon as the listener is gone.
    tokio::task::yield_now().await;
    let told = ask(&model, request()).await;
    told.failed("TRANSPORT", &format!("{host}: cannot be reached: "));
    assert!(told.failure().message.contains("refused"), "{}", told.failure().message);
}

#[tokio::test]
async fn a_server_that_does_not_speak_tls_is_a_transport_failure() {
    let server = Server::play(vec![answer("400 Bad Request", &[], "")]).await;
    let model = server.model_of(|endpoint| {
        endpoint.base_url = endpoint.base_url.replace("http:", "https:");
        endpoint.key = Some(Secret::new("sk-sesame"));
    });
    ask(&model, request()).await.failed("TRANSPORT", "cannot be reached");
    assert!(server.asked().is_empty(), "nothing is sent in the clear");
}
