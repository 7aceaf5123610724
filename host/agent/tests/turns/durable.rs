//! What is on disk when, and what happens where the disk refuses.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use dsh_agent::{
    AgentError, Call, Cancel, Composition, Route, Status, Tool, ToolError, ToolOutput, ToolSpec,
    TurnEnd,
};

use crate::fed::Fed;
use crate::rig::{Rig, scripted, tool_spec};
use crate::story::story;

#[tokio::test]
async fn a_prompt_is_on_disk_when_it_was_taken() {
    let (model, _feed) = Fed::new(Route::new("p", "m"));
    let rig = Rig::start(Composition::new(model)).await;
    rig.agent.followup(rig.prompt("keep me")).await.unwrap();
    let told = story(&rig.disk().await);
    assert_eq!(told[0], r#"next-turn@0 -0 +["keep me"]"#);
}

#[tokio::test]
async fn chunks_reach_the_disk_while_the_reply_goes_on() {
    let (model, feed) = Fed::new(Route::new("p", "m"));
    let mut rig = Rig::start(Composition::new(model)).await;
    rig.agent.followup(rig.prompt("one")).await.unwrap();
    rig.until("request/context").await;
    feed.text("so far");
    let delta = loop {
        let event = rig.until("assistant/chunk").await;
        if event.data.as_str().contains("so far") {
            break event;
        }
    };
    // No more comes, so only the timer can save it.
    while !rig.disk().await.contains(&delta) {
        tokio::task::yield_now().await;
    }
    feed.finish(dsh_agent::Finish::Stop);
    rig.idle().await;
    rig.story().await;
}

#[tokio::test]
async fn idle_means_that_everything_is_on_disk() {
    let rig = Rig::start(scripted("{\"text\":\"a\"}\n{\"text\":\"b\"}")).await;
    for _ in 0..2 {
        let mut status = rig.agent.status();
        rig.agent.followup(rig.prompt("go")).await.unwrap();
        status.wait_for(|status| *status == Status::Idle).await.unwrap();
        assert_eq!(rig.disk().await, rig.heard());
    }
}

/// A log that was taken away, with something in its place that cannot be written.
struct Away {
    log: PathBuf,
    aside: PathBuf,
}

impl Away {
    fn take(rig: &Rig) -> Self {
        let (log, aside) = (rig.path(), rig.path().with_extension("aside"));
        fs::rename(&log, &aside).unwrap();
        fs::create_dir(&log).unwrap();
        Self { log, aside }
    }

    fn put_back(self) {
        fs::remove_dir(&self.log).unwrap();
        fs::rename(&self.aside, &self.log).unwrap();
    }
}

/// Counts its calls.
struct Counts {
    spec: ToolSpec,
    calls: Arc<AtomicUsize>,
}

#[async_trait]
impl Tool for Counts {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, _: Call, _: Cancel) -> Result<ToolOutput, ToolError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        ToolOutput::text("counted")
    }
}

#[tokio::test]
async fn a_disk_that_refuses_lets_no_tool_begin() {
    let calls = Arc::new(AtomicUsize::new(0));
    let (model, feed) = Fed::new(Route::new("p", "m"));
    let mut composition = Composition::new(model);
    let tool = Counts { spec: tool_spec("count"), calls: Arc::clone(&calls) };
    composition.tools = vec![Arc::new(tool)];
    let mut rig = Rig::start(composition).await;
    rig.agent.followup(rig.prompt("one")).await.unwrap();
    feed.text("so");
    rig.until("assistant/chunk").await;
    let away = Away::take(&rig);
    feed.call(&[("a", "count", "{}"), ("b", "count", "{}")]);
    assert!(rig.agent.when_idle().await.is_err());
    assert_eq!(calls.load(Ordering::SeqCst), 0);
    away.put_back();
    rig.idle().await;
    let story = rig.story().await;
    let end = [
        "call count {}",
        "result a Error: tool call aborted before dispatch ABORTED_BEFORE_DISPATCH",
        "call count {}",
        "result b Error: tool call aborted before dispatch ABORTED_BEFORE_DISPATCH",
        "step end",
        "end error LOG",
    ];
    assert_eq!(story[story.len() - end.len()..], end);
}

#[tokio::test]
async fn a_disk_that_refuses_stops_the_turn_before_the_model_and_loses_nothing() {
    let rig = Rig::start(scripted("{\"text\":\"a\"}\n{\"text\":\"b\"}")).await;
    rig.ask("one").await;
    let away = Away::take(&rig);
    let refused = rig.agent.followup(rig.prompt("two")).await.unwrap_err();
    assert!(matches!(refused, AgentError::Log(_)), "{refused}");
    assert!(rig.agent.when_idle().await.is_err());
    let TurnEnd::Error { error } = rig.agent.last_turn().unwrap().end else {
        panic!("the turn failed");
    };
    assert_eq!(error.code, "LOG");
    assert_eq!(rig.requests().len(), 1, "the model was not asked");
    away.put_back();
    rig.idle().await;
    assert_eq!(rig.disk().await, rig.heard());
    rig.ask("three").await;
    assert_eq!(rig.agent.last_turn().unwrap().end, TurnEnd::Completed);
    rig.story().await;
}
