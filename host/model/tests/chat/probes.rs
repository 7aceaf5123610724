//! Whether a service could be asked: each fault is told apart.

use dsh_model::{Probe, Secret};

use crate::server::{Act, Server, answer};

const MODELS: &str = r#"{"object":"list","data":[{"id":"m"},{"id":"llama:latest"}]}"#;

async fn probe(script: Vec<Act>, model: &str, key: Option<&str>) -> Probe {
    let server = Server::play(vec![script]).await;
    let chat = server.model_of(|endpoint| {
        endpoint.model = model.into();
        endpoint.key = key.map(Secret::new);
    });
    let probe = chat.probe().await;
    assert!(server.asked()[0].head.starts_with("GET /v1/models "));
    probe
}

#[tokio::test]
async fn a_service_that_knows_the_model_is_well() {
    assert_eq!(probe(answer("200 OK", &[], MODELS), "m", None).await, Probe::Well);
    assert_eq!(probe(answer("200 OK", &[], MODELS), "llama", None).await, Probe::Well);
}

#[tokio::test]
async fn a_model_that_is_not_listed_is_unknown() {
    let known = vec!["m".into(), "llama:latest".into()];
    let found = probe(answer("200 OK", &[], MODELS), "n", None).await;
    assert_eq!(found, Probe::UnknownModel { known });
}

#[tokio::test]
async fn a_service_without_a_list_cannot_be_judged() {
    assert_eq!(probe(answer("404 Not Found", &[], ""), "m", None).await, Probe::Unlisted);
    assert_eq!(probe(answer("200 OK", &[], "<html>"), "m", None).await, Probe::Unlisted);
}

#[tokio::test]
async fn a_key_is_missing_or_refused() {
    let no = || answer("401 Unauthorized", &[], r#"{"error":{"message":"bad key sk-sesame"}}"#);
    assert!(matches!(probe(no(), "m", None).await, Probe::KeyMissing(_)));
    let refused = probe(no(), "m", Some("sk-sesame")).await;
    let Probe::KeyRefused(failure) = refused else { panic!("{refused:?}") };
    assert!(failure.message.contains("bad key <hidden>"), "{}", failure.message);
}

#[tokio::test]
async fn a_sick_service_is_not_a_missing_one() {
    let sick = probe(answer("500 Internal Server Error", &[], "oh"), "m", None).await;
    assert!(matches!(sick, Probe::Unwell(_)), "{sick:?}");
    let server = Server::play(vec![vec![]]).await;
    let model = server.model();
    drop(server);
    tokio::task::yield_now().await;
    let gone = model.probe().await;
    assert!(matches!(gone, Probe::Unreachable(_)), "{gone:?}");
}

#[tokio::test(start_paused = true)]
async fn a_silent_service_is_not_waited_for() {
    let silent = probe(vec![Act::Hold], "m", None).await;
    let Probe::Unreachable(failure) = silent else { panic!("{silent:?}") };
    assert!(failure.message.contains("said nothing for 15 s"), "{}", failure.message);
}
