//! Cancelled turns, in every phase, and what comes after them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use dsh_agent::{
    AgentError, Call, Cancel, Cause, Composition, Decision, Failure, PreStep, Route, Status,
    StepInfo, Target, Tool, ToolError, ToolOutput, ToolSpec, TurnEnd,
};
use dsh_session::Message;
use tokio::sync::Notify;

use crate::fed::{Fed, Feed};
use crate::rig::{Rig, scripted, tool_spec};

fn fed() -> (Composition, Feed) {
    let (model, feed) = Fed::new(Route::new("p", "m"));
    (Composition::new(model), feed)
}

/// Never decides; tells when it was dropped.
#[derive(Default)]
struct Hangs {
    dropped: Arc<AtomicBool>,
}

struct OnDrop(Arc<AtomicBool>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[async_trait]
impl PreStep for Hangs {
    async fn pre_step(&self, _: StepInfo, _: Vec<Message>) -> Result<Decision, Failure> {
        let _dropped = OnDrop(Arc::clone(&self.dropped));
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_hanging_pre_step_is_dropped() {
    let (mut composition, _feed) = fed();
    let hangs = Hangs::default();
    let dropped = Arc::clone(&hangs.dropped);
    composition.pre_step = Arc::new(hangs);
    let mut rig = Rig::start(composition).await;
    rig.agent.followup(rig.prompt("one")).await.unwrap();
    rig.until("turn/start").await;
    let cause = Cause::Hook { reason: "enough".into() };
    rig.agent.cancel(cause.clone(), false).await.unwrap();
    rig.idle().await;
    assert!(dropped.load(Ordering::SeqCst));
    assert_eq!(rig.agent.last_turn().unwrap().end, TurnEnd::Aborted { reason: cause });
    let story = rig.story().await;
    assert!(!story.iter().any(|line| line.starts_with("step") || line.starts_with("user")));
    assert_eq!(story.last().unwrap(), r#"end aborted {"kind":"hook","reason":"enough"}"#);
}

#[tokio::test]
async fn a_reply_keeps_what_was_said_before_the_cancel() {
    let (composition, feed) = fed();
    let mut rig = Rig::start(composition).await;
    rig.agent.followup(rig.prompt("one")).await.unwrap();
    feed.text("This sentence is cut");
    rig.until("assistant/chunk").await;
    rig.until("assistant/chunk").await;
    rig.agent.cancel(Cause::Parent, false).await.unwrap();
    rig.idle().await;
    let story = rig.story().await;
    let end = [
        "model: This sentence is cut 0 calls interrupted",
        "step end",
        r#"end aborted {"kind":"parent"}"#,
    ];
    assert_eq!(story[story.len() - 3..], end);
}

#[tokio::test]
async fn a_cancel_before_the_first_chunk_leaves_no_reply() {
    let (composition, _feed) = fed();
    let mut rig = Rig::start(composition).await;
    rig.agent.followup(rig.prompt("one")).await.unwrap();
    rig.until("request/context").await;
    rig.agent.cancel(Cause::User, false).await.unwrap();
    rig.idle().await;
    let story = rig.story().await;
    let end = ["request/context", "step end", r#"end aborted {"kind":"user"}"#];
    assert_eq!(story[story.len() - 3..], end);
}

/// Never gives a result; tells when it has begun.
struct HangingTool {
    spec: ToolSpec,
    begun: Arc<Notify>,
}

#[async_trait]
impl Tool for HangingTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, _: Call, _: Cancel) -> Result<ToolOutput, ToolError> {
        self.begun.notify_one();
        std::future::pending().await
    }
}

#[tokio::test]
async fn every_call_of_a_cancelled_turn_has_a_result() {
    let (mut composition, feed) = fed();
    let begun = Arc::new(Notify::new());
    let tool = HangingTool { spec: tool_spec("hang"), begun: Arc::clone(&begun) };
    composition.tools = vec![Arc::new(tool)];
    let rig = Rig::start(composition).await;
    rig.agent.followup(rig.prompt("one")).await.unwrap();
    feed.call(&[("a", "hang", "{}"), ("b", "hang", "{}")]);
    begun.notified().await;
    rig.agent.cancel(Cause::User, false).await.unwrap();
    rig.idle().await;
    let story = rig.story().await;
    let end = [
        "model:  2 calls",
        "call hang {}",
        "result a Error: tool call aborted ABORTED",
        "call hang {}",
        "result b Error: tool call aborted before dispatch ABORTED_BEFORE_DISPATCH",
        "step end",
        r#"end aborted {"kind":"user"}"#,
    ];
    assert_eq!(story[story.len() - end.len()..], end);
}

#[tokio::test]
async fn a_cancel_takes_the_queue_with_it_unless_it_shall_stay() {
    for (keep, left) in [(false, 0), (true, 1)] {
        let (composition, feed) = fed();
        let mut rig = Rig::start(composition).await;
        rig.agent.followup(rig.prompt("one")).await.unwrap();
        feed.text("so");
        rig.until("assistant/chunk").await;
        rig.agent.followup(rig.prompt("two")).await.unwrap();
        rig.agent.cancel(Cause::User, keep).await.unwrap();
        rig.idle().await;
        assert_eq!(rig.agent.waiting(Target::NextTurn).len(), left);
        assert_eq!(rig.agent.last_turn().unwrap().turn, 1);
        rig.story().await;
    }
}

#[tokio::test]
async fn a_prompt_right_after_a_cancel_runs() {
    let (composition, feed) = fed();
    let mut rig = Rig::start(composition).await;
    rig.agent.followup(rig.prompt("one")).await.unwrap();
    feed.text("so");
    rig.until("assistant/chunk").await;
    rig.agent.followup(rig.prompt("parked")).await.unwrap();
    rig.agent.cancel(Cause::User, true).await.unwrap();
    // Steering has no turn to steer any more, so it becomes a prompt.
    rig.agent.steer(rig.prompt("late")).await.unwrap();
    feed.say("parked answer");
    feed.say("late answer");
    rig.idle().await;
    assert_eq!(rig.agent.last_turn().unwrap().turn, 3);
    let story = rig.story().await;
    assert!(story.contains(&"model: late answer 0 calls".to_owned()));
}

#[tokio::test]
async fn a_late_prompt_that_was_taken_back_starts_nothing() {
    let (composition, feed) = fed();
    let mut rig = Rig::start(composition).await;
    rig.agent.followup(rig.prompt("one")).await.unwrap();
    feed.text("so");
    rig.until("assistant/chunk").await;
    rig.agent.followup(rig.prompt("parked")).await.unwrap();
    let late = rig.prompt("late");
    let (cancelled, sent, removed) = tokio::join!(
        rig.agent.cancel(Cause::User, true),
        rig.agent.followup(late.clone()),
        rig.agent.remove(late.id())
    );
    cancelled.unwrap();
    sent.unwrap();
    assert!(removed.unwrap().is_some());
    rig.idle().await;
    assert_eq!(rig.agent.last_turn().unwrap().turn, 1);
    assert_eq!(rig.agent.waiting(Target::NextTurn).len(), 1);
}

#[tokio::test]
async fn a_prompt_is_never_lost_however_soon_after_a_cancel_it_comes() {
    for pause in 0..40 {
        let (composition, feed) = fed();
        let mut rig = Rig::start(composition).await;
        rig.agent.followup(rig.prompt("one")).await.unwrap();
        feed.text("so");
        rig.until("assistant/chunk").await;
        let prompt = rig.prompt("late");
        let late = async {
            for _ in 0..pause {
                tokio::task::yield_now().await;
            }
            rig.agent.followup(prompt).await
        };
        let (cancelled, sent) = tokio::join!(rig.agent.cancel(Cause::User, true), late);
        cancelled.unwrap();
        sent.unwrap();
        feed.say("late answer");
        rig.idle().await;
        let story = rig.story().await;
        assert_eq!(story.last().unwrap(), "end completed", "after {pause} turns of the runtime");
    }
}

#[tokio::test]
async fn a_scripted_reply_hangs_until_it_is_cancelled() {
    let mut rig = Rig::start(scripted(r#"{"text":"Half a sentence","hang":true}"#)).await;
    rig.agent.followup(rig.prompt("one")).await.unwrap();
    for _ in 0..3 {
        rig.until("assistant/chunk").await;
    }
    rig.agent.cancel(Cause::User, false).await.unwrap();
    rig.idle().await;
    let story = rig.story().await;
    assert_eq!(story[story.len() - 3], "model: Half a sentence 0 calls interrupted");
}

#[tokio::test]
async fn an_idle_agent_forgets_a_cancel() {
    let rig = Rig::start(scripted(r#"{"text":"a"}"#)).await;
    rig.agent.cancel(Cause::User, false).await.unwrap();
    rig.ask("one").await;
    assert_eq!(rig.agent.last_turn().unwrap().end, TurnEnd::Completed);
}

#[tokio::test]
async fn a_disposed_agent_stops_and_takes_nothing_more() {
    let (composition, feed) = fed();
    let mut rig = Rig::start(composition).await;
    rig.agent.followup(rig.prompt("one")).await.unwrap();
    feed.text("so");
    rig.until("assistant/chunk").await;
    rig.agent.followup(rig.prompt("two")).await.unwrap();
    rig.agent.dispose().await.unwrap();
    assert_eq!(*rig.agent.status().borrow(), Status::Disposed);
    let refused = rig.agent.followup(rig.prompt("three")).await.unwrap_err();
    assert!(matches!(refused, AgentError::Disposed));
    let story = rig.story().await;
    assert_eq!(story.last().unwrap(), r#"end aborted {"kind":"disposed"}"#);
    assert!(story.contains(&"next-turn@0 -1 +[] canceled".to_owned()));
}
