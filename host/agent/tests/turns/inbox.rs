//! What waits: queued, steered, injected, edited, taken back.

use std::sync::Arc;

use async_trait::async_trait;
use dsh_agent::{
    AgentError, Composition, Decision, Failure, InboxError, PreStep, Route, Status, StepInfo,
    Target, TurnEnd,
};
use dsh_session::Message;

use crate::fed::{Fed, answering};
use crate::rig::{Rig, scripted, text_message};

/// The last texts that the model was asked with, from the newest reply on.
fn asked(rig: &Rig) -> Vec<String> {
    let request = rig.requests().pop().unwrap();
    request.messages.iter().map(Message::text).collect()
}

#[tokio::test]
async fn queued_prompts_get_turns_of_their_own_in_order() {
    let (rig, feed) = answering().await;
    rig.agent.followup(rig.prompt("second")).await.unwrap();
    rig.agent.followup(rig.prompt("third")).await.unwrap();
    feed.finish(dsh_agent::Finish::Stop);
    feed.say("two");
    feed.say("three");
    rig.idle().await;
    assert_eq!(asked(&rig), ["first", "so", "second", "two", "third"]);
    assert_eq!(rig.agent.last_turn().unwrap().turn, 3);
}

#[tokio::test]
async fn steering_joins_the_running_turn_before_queued_prompts() {
    let (rig, feed) = answering().await;
    rig.agent.followup(rig.prompt("queued")).await.unwrap();
    rig.agent.steer(rig.prompt("steered")).await.unwrap();
    feed.finish(dsh_agent::Finish::Stop);
    feed.say("turning");
    feed.say("queued answer");
    rig.idle().await;
    let story = rig.story().await;
    let turns = story.iter().filter(|line| line.starts_with("turn ")).count();
    assert_eq!(turns, 2);
    assert_eq!(asked(&rig), ["first", "so", "steered", "turning", "queued"]);
}

#[tokio::test]
async fn an_edited_prompt_is_asked_as_edited_and_a_removed_one_never() {
    let (rig, feed) = answering().await;
    rig.agent.followup(text_message("a", r#"{"kind":"user"}"#, "typo")).await.unwrap();
    rig.agent.followup(text_message("b", r#"{"kind":"user"}"#, "no")).await.unwrap();
    let edited = text_message("a", r#"{"kind":"user"}"#, "edited");
    assert_eq!(rig.agent.replace("a", edited).await.unwrap().unwrap().text(), "typo");
    assert_eq!(rig.agent.remove("b").await.unwrap().unwrap().text(), "no");
    feed.finish(dsh_agent::Finish::Stop);
    feed.say("two");
    rig.idle().await;
    assert_eq!(asked(&rig), ["first", "so", "edited"]);
    let story = rig.story().await;
    assert!(story.contains(&r#"next-turn@0 -1 +["edited"] canceled"#.to_owned()));
    assert!(story.contains(&"next-turn@1 -1 +[] canceled".to_owned()));
}

#[tokio::test]
async fn a_claimed_prompt_can_neither_be_edited_nor_removed() {
    let rig = Rig::start(scripted(r#"{"text":"a"}"#)).await;
    let prompt = rig.prompt("one");
    rig.agent.followup(prompt.clone()).await.unwrap();
    rig.idle().await;
    assert_eq!(rig.agent.remove(prompt.id()).await.unwrap(), None);
    assert_eq!(rig.agent.replace(prompt.id(), rig.prompt("two")).await.unwrap(), None);
}

#[tokio::test]
async fn an_id_waits_once() {
    let (rig, feed) = answering().await;
    let prompt = rig.prompt("again");
    rig.agent.followup(prompt.clone()).await.unwrap();
    let refused = rig.agent.steer(prompt.clone()).await.unwrap_err();
    assert!(matches!(refused, AgentError::Inbox(InboxError::Waiting(id)) if id == prompt.id()));
    feed.finish(dsh_agent::Finish::Stop);
    feed.say("ok");
    rig.idle().await;
}

#[tokio::test]
async fn an_injected_note_wakes_nobody_and_goes_with_the_next_prompt() {
    let rig = Rig::start(scripted(r#"{"text":"a"}"#)).await;
    let note = text_message("note", r#"{"kind":"plugin","plugin":"notes"}"#, "noted");
    rig.agent.inject(note).await.unwrap();
    assert_eq!(*rig.agent.status().borrow(), Status::Idle);
    assert_eq!(rig.story().await, [r#"next-step@0 -0 +["noted"]"#]);
    rig.ask("go").await;
    assert_eq!(asked(&rig), ["noted", "go"]);
}

#[tokio::test]
async fn what_waits_survives_the_process() {
    let rig = Rig::start(scripted("")).await;
    let note = text_message("note", r#"{"kind":"plugin","plugin":"notes"}"#, "noted");
    rig.agent.inject(note).await.unwrap();
    let rig = rig.resume(scripted(r#"{"text":"a"}"#)).await;
    assert_eq!(rig.agent.waiting(Target::NextStep).len(), 1);
    rig.ask("go").await;
    assert_eq!(asked(&rig), ["noted", "go"]);
}

#[tokio::test]
async fn prompts_parked_by_a_failed_turn_run_with_the_next_one() {
    let (rig, feed) = answering().await;
    rig.agent.followup(rig.prompt("parked")).await.unwrap();
    rig.agent.steer(rig.prompt("steered")).await.unwrap();
    let failure = dsh_agent::ModelFailure::new("SERVER", "unwell");
    feed.finish(dsh_agent::Finish::Error { failure });
    rig.idle().await;
    assert_eq!(rig.agent.waiting(Target::NextTurn).len(), 1);
    assert_eq!(rig.agent.waiting(Target::NextStep).len(), 1);
    feed.say("one");
    feed.say("two");
    rig.ask("next").await;
    assert_eq!(asked(&rig), ["first", "steered", "parked", "one", "next"]);
}

/// Drops every message, or rejects where it is told to.
struct Drops {
    reject: bool,
}

#[async_trait]
impl PreStep for Drops {
    async fn pre_step(&self, _: StepInfo, _: Vec<Message>) -> Result<Decision, Failure> {
        if self.reject {
            let (reason, by) = (Some("not today".into()), Some("guard".into()));
            return Ok(Decision::Reject { reason, details: None, by });
        }
        Ok(Decision::Enter(Vec::new()))
    }
}

#[tokio::test]
async fn a_turn_without_messages_asks_no_model() {
    let mut composition = scripted("");
    composition.pre_step = Arc::new(Drops { reject: false });
    let rig = Rig::start(composition).await;
    rig.ask("one").await;
    let story = rig.story().await;
    assert_eq!(story[1..], ["turn 1", "next-turn@0 -1 +[]", "end completed"]);
    assert_eq!(rig.requests(), []);
}

#[tokio::test]
async fn a_rejected_prompt_is_gone_and_the_reason_is_kept() {
    let mut composition = scripted("");
    composition.pre_step = Arc::new(Drops { reject: true });
    let rig = Rig::start(composition).await;
    rig.ask("one").await;
    let rejected = ["rejected by guard: not today", "end blocked"];
    assert_eq!(rig.story().await[1..], [&["turn 1", "next-turn@0 -1 +[]"][..], &rejected].concat());
    let TurnEnd::Blocked { reason, plugin, .. } = rig.agent.last_turn().unwrap().end else {
        panic!("the turn was blocked");
    };
    assert_eq!((reason.as_deref(), plugin.as_deref()), (Some("not today"), Some("guard")));
    assert_eq!(rig.agent.waiting(Target::NextTurn), []);
}

#[tokio::test]
async fn steering_that_is_dropped_leaves_the_outcome_as_it_was() {
    struct DropsSteering;
    #[async_trait]
    impl PreStep for DropsSteering {
        async fn pre_step(&self, step: StepInfo, batch: Vec<Message>) -> Result<Decision, Failure> {
            Ok(Decision::Enter(if step.step > 1 { Vec::new() } else { batch }))
        }
    }
    let (model, feed) = Fed::new(Route::new("p", "m"));
    let mut composition = Composition::new(model);
    composition.pre_step = Arc::new(DropsSteering);
    let mut rig = Rig::start(composition).await;
    rig.agent.followup(rig.prompt("first")).await.unwrap();
    feed.text("so");
    rig.until("assistant/chunk").await;
    rig.agent.steer(rig.prompt("dropped")).await.unwrap();
    feed.finish(dsh_agent::Finish::MaxTokens);
    rig.idle().await;
    let story = rig.story().await;
    let end = ["step end", "next-step@0 -1 +[]", "end max-tokens"];
    assert_eq!(story[story.len() - 3..], end);
}
