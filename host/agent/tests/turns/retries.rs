//! Requests that are sent again: what is logged, when it stops, and what a person can do meanwhile.

use std::sync::Arc;
use std::time::Duration;

use dsh_agent::{
    Cause, Chunk, Composition, Model, Request, Retry, RetryPolicy, Route, Shown, TurnEnd,
};
use dsh_model::{Script, Scripted};
use dsh_session::Event;
use futures::stream::BoxStream;
use tokio::time::Instant;

use crate::rig::Rig;

/// A scripted model whose failures pass.
struct Passing(Scripted, RetryPolicy);

impl Model for Passing {
    fn route(&self) -> Route {
        self.0.route()
    }

    fn retry_policy(&self) -> RetryPolicy {
        self.1.clone()
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Chunk> {
        self.0.stream(request)
    }
}

const BUSY: &str = r#"{"error":{"code":"SERVER","message":"busy"}}"#;
const WELL: &str = r#"{"text":"here I am"}"#;

async fn rig(replies: &[&str]) -> Rig {
    let policy = RetryPolicy { retries: 2, jitter: 0.0, ..RetryPolicy::STANDARD };
    let model = Scripted::new(Script::parse(&replies.join("\n")).unwrap());
    Rig::start(Composition::new(Arc::new(Passing(model, policy)))).await
}

fn retries(events: &[Event]) -> Vec<Retry> {
    let shown = events.iter().filter_map(Shown::of);
    let retry = |shown| match shown {
        Shown::Retrying(retry) => Some(retry),
        _ => None,
    };
    shown.filter_map(retry).collect()
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_passes_is_waited_out_in_the_same_step() {
    let rig = rig(&[
        BUSY,
        r#"{"error":{"code":"RATE_LIMIT","message":"slow","retryAfterMs":7000}}"#,
        WELL,
    ])
    .await;
    let before = Instant::now();
    rig.ask("hello").await;
    assert_eq!(before.elapsed(), Duration::from_millis(7500));
    let story = rig.story().await;
    let from = story.iter().position(|line| line == "chunks").unwrap();
    assert_eq!(
        story[from..],
        [
            "chunks",
            "llm/retry",
            "llm/retry-started",
            "chunks",
            "llm/retry",
            "llm/retry-started",
            "chunks",
            "model: here I am 0 calls",
            "step end",
            "end completed"
        ]
    );
    let events = rig.disk().await;
    let retries = retries(&events);
    let told: Vec<_> = retries.iter().map(|retry| (retry.retry, retry.delay_ms as u64)).collect();
    assert_eq!(told, [(1, 500), (2, 7000)]);
    assert_eq!(retries[0].retry_id, retries[1].retry_id);
    assert_eq!(retries[0].failure.message, "busy");
    assert_eq!(rig.requests().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_message_cites_the_chunks_of_the_answer_alone() {
    let rig = rig(&[BUSY, WELL]).await;
    rig.ask("hello").await;
    let events = rig.disk().await;
    let started = events.iter().find(|event| &*event.kind == "llm/retry-started").unwrap().seq;
    let message = events.iter().find(|event| &*event.kind == "assistant/message").unwrap();
    let cited = message.sources.as_deref().unwrap();
    assert_eq!(cited.first(), Some(&(started + 1)));
    assert_eq!(cited.last(), Some(&(message.seq - 1)));
}

#[tokio::test(start_paused = true)]
async fn retries_end() {
    let rig = rig(&[BUSY, BUSY, BUSY, WELL]).await;
    rig.ask("hello").await;
    assert_eq!(rig.story().await.last().unwrap(), "end error SERVER");
    assert_eq!(rig.requests().len(), 3);
    rig.ask("again").await;
    assert_eq!(rig.agent.last_turn().unwrap().end, TurnEnd::Completed);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_again_once_something_was_said() {
    for half in [
        r#"{"text":"half a","error":{"code":"TRANSPORT","message":"gone"}}"#,
        r#"{"calls":[{"name":"rm","arguments":{}}],"error":{"code":"TRANSPORT","message":"gone"}}"#,
    ] {
        let rig = rig(&[half, WELL]).await;
        rig.ask("hello").await;
        let story = rig.story().await;
        assert_eq!(story.last().unwrap(), "end error TRANSPORT");
        assert!(!story.iter().any(|line| line.starts_with("model:") || line.starts_with("call")));
        assert_eq!(rig.requests().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn thinking_that_was_cut_off_is_thought_anew() {
    let half = r#"{"reasoning":"hm","error":{"code":"TRANSPORT","message":"gone"}}"#;
    let rig = rig(&[half, r#"{"reasoning":"aha","text":"yes"}"#]).await;
    rig.ask("hello").await;
    assert_eq!(rig.agent.last_turn().unwrap().end, TurnEnd::Completed);
    let last = rig.agent.live().messages().pop().unwrap();
    assert!(last.json().as_str().contains("aha") && !last.json().as_str().contains("hm"));
}

#[tokio::test(start_paused = true)]
async fn a_model_that_says_nothing_is_asked_again_and_then_it_is_a_failure() {
    let rig = rig(&["{}", "{}", "{}", WELL]).await;
    rig.ask("hello").await;
    assert_eq!(rig.story().await.last().unwrap(), "end error EMPTY_RESPONSE");
    assert_eq!(rig.requests().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_wait_can_be_cancelled() {
    let mut rig = rig(&[BUSY, WELL]).await;
    rig.agent.followup(rig.prompt("hello")).await.unwrap();
    rig.until("llm/retry").await;
    let before = Instant::now();
    rig.agent.cancel(Cause::User, false).await.unwrap();
    rig.idle().await;
    assert!(before.elapsed() < Duration::from_millis(500));
    let story = rig.story().await;
    assert_eq!(story.last().unwrap(), r#"end aborted {"kind":"user"}"#);
    assert!(!story.contains(&"llm/retry-started".to_owned()));
    assert_eq!(rig.requests().len(), 1);
}
