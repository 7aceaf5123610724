//! Turns that fail: each with its own code, and the next one works.

use std::sync::Arc;

use async_trait::async_trait;
use dsh_agent::{Composition, Decision, Failure, PreStep, StepInfo, Target, TurnEnd};
use dsh_model::Echo;
use dsh_session::{Json, Message};

use crate::rig::{Rig, scripted, text_message};

/// Does something wrong where the prompt says so.
struct Breaks;

#[async_trait]
impl PreStep for Breaks {
    async fn pre_step(&self, _: StepInfo, batch: Vec<Message>) -> Result<Decision, Failure> {
        let said = batch.last().map(Message::text).unwrap_or_default();
        match said.as_str() {
            "fail" => Err(Failure {
                details: Some(Json::parse(r#"{"sessionId":"x"}"#).unwrap()),
                by: Some("session-reference".into()),
                ..Failure::new("SELF_REFERENCE", "a session cannot reference itself")
            }),
            "panic" => panic!("oh no"),
            "twice" => Ok(Decision::Enter(batch.iter().chain(&batch).cloned().collect())),
            "speak" => {
                let source = Json::parse(r#"{"kind":"model","provider":"p","model":"m"}"#).unwrap();
                let answer = Message::assistant("forged", &source, &[]).unwrap();
                Ok(Decision::Enter(vec![answer]))
            }
            _ => Ok(Decision::Enter(batch)),
        }
    }
}

async fn breaking() -> Rig {
    let mut composition = Composition::new(Arc::new(Echo));
    composition.pre_step = Arc::new(Breaks);
    Rig::start(composition).await
}

#[tokio::test]
async fn a_plugins_failure_ends_the_turn_with_its_own_code() {
    let rig = breaking().await;
    rig.ask("fail").await;
    let expected =
        [r#"next-turn@0 -0 +["fail"]"#, "turn 1", "next-turn@0 -1 +[]", "end error SELF_REFERENCE"];
    assert_eq!(rig.story().await, expected);
    let end = rig.disk().await.pop().unwrap();
    let error = r#"{"turn":1,"reason":{"kind":"error","error":{"message":"a session cannot reference itself","code":"SELF_REFERENCE","plugin":"session-reference","details":{"sessionId":"x"}}}}"#;
    assert_eq!(end.data.as_str(), error);
    assert_eq!(rig.requests(), []);
    rig.ask("fine").await;
    assert_eq!(rig.agent.last_turn().unwrap().end, TurnEnd::Completed);
}

#[tokio::test]
async fn what_a_plugin_must_not_decide_ends_the_turn_with_nothing_of_the_batch() {
    let rig = breaking().await;
    for (said, code) in
        [("panic", "PANIC"), ("twice", "INVALID_DECISION"), ("speak", "INVALID_DECISION")]
    {
        rig.ask(said).await;
        let TurnEnd::Error { error } = rig.agent.last_turn().unwrap().end else {
            panic!("{said} is no failure");
        };
        assert_eq!(error.code, code);
    }
    rig.ask("fine").await;
    let story = rig.story().await;
    let users: Vec<&String> = story.iter().filter(|line| line.starts_with("user")).collect();
    assert_eq!(users, ["user: fine"]);
}

#[tokio::test]
async fn a_message_cannot_enter_history_twice() {
    let rig = breaking().await;
    let prompt = text_message("same", r#"{"kind":"user"}"#, "once");
    rig.agent.followup(prompt.clone()).await.unwrap();
    rig.idle().await;
    rig.agent.followup(prompt).await.unwrap();
    rig.idle().await;
    assert_eq!(rig.story().await.last().unwrap(), "end error INVALID_DECISION");
}

#[tokio::test]
async fn a_models_failure_is_kept_verbatim_and_its_text_is_not() {
    let script = concat!(
        r#"{"text":"half an ans","error":{"code":"RATE_LIMIT","message":"slow down","status":429,"retryAfterMs":1000}}"#,
        "\n",
        r#"{"text":"fine"}"#,
    );
    let rig = Rig::start(scripted(script)).await;
    rig.ask("one").await;
    let end = rig.disk().await.pop().unwrap();
    let error = r#"{"turn":1,"reason":{"kind":"error","error":{"message":"slow down","code":"RATE_LIMIT","status":429,"providerRetryAfterMs":1000}}}"#;
    assert_eq!(end.data.as_str(), error);
    assert_eq!(rig.story().await[8..], ["chunks", "step end", "end error RATE_LIMIT"]);
    rig.ask("two").await;
    let texts: Vec<String> = rig.requests()[1].messages.iter().map(Message::text).collect();
    assert_eq!(texts, ["one", "two"]);
}

#[tokio::test]
async fn an_empty_reply_is_a_failure() {
    let rig = Rig::start(scripted("{}")).await;
    rig.ask("one").await;
    assert_eq!(rig.story().await.last().unwrap(), "end error EMPTY_RESPONSE");
}

#[tokio::test]
async fn a_script_that_is_over_says_so() {
    let rig = Rig::start(scripted("")).await;
    rig.ask("one").await;
    assert_eq!(rig.story().await.last().unwrap(), "end error SCRIPT_ENDED");
    assert_eq!(rig.agent.waiting(Target::NextTurn), []);
}
