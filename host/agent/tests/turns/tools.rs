//! Tool calls: their order, what runs beside what, gates, and what a model reads when one does not run.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use dsh_agent::{
    Approval, Approver, Call, Cancel, Cause, Composition, Failure, Route, Target, Tool, ToolError,
    ToolGate, ToolOutput, ToolSpec, Verdict,
};
use tokio::sync::Semaphore;

use crate::fed::{Fed, Feed};
use crate::rig::{Rig, text_message, tool_spec};

/// Does what its name says.
struct Does {
    spec: ToolSpec,
    /// How many calls run now, and how many ran at once at most.
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    /// Lets calls of `wait` go on.
    permits: Arc<Semaphore>,
}

impl Does {
    fn tools(names: &[&str]) -> (Vec<Arc<dyn Tool>>, Arc<AtomicUsize>, Arc<Semaphore>) {
        let running = Arc::new(AtomicUsize::new(0));
        let most = Arc::new(AtomicUsize::new(0));
        let permits = Arc::new(Semaphore::new(0));
        let tools = names.iter().map(|name| {
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            let permits = Arc::clone(&permits);
            Arc::new(Self { spec: tool_spec(name), running, most, permits }) as Arc<dyn Tool>
        });
        let tools = tools.collect();
        (tools, most, permits)
    }
}

#[async_trait]
impl Tool for Does {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn parallel(&self) -> bool {
        self.spec.name == "wait"
    }

    async fn run(&self, call: Call, _: Cancel) -> Result<ToolOutput, ToolError> {
        let now = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        let output = match self.spec.name.as_str() {
            "wait" => {
                self.permits.acquire().await.unwrap().forget();
                ToolOutput::text("waited")
            }
            "echo" => ToolOutput::text(call.arguments.as_str()),
            "fail" => Err(ToolError::new("FsError", "FS_NOT_FOUND", "no such file")),
            "panic" => panic!("oh no"),
            "conclude" => Ok(ToolOutput { concludes_turn: true, ..ToolOutput::text("done")? }),
            "note" => {
                let note = text_message("note", r#"{"kind":"plugin","plugin":"tool"}"#, "noted");
                Ok(ToolOutput { contexts: vec![note], ..ToolOutput::text("see note")? })
            }
            other => panic!("no behaviour for {other}"),
        };
        self.running.fetch_sub(1, Ordering::SeqCst);
        output
    }
}

fn composed(names: &[&str]) -> (Composition, Feed, Arc<AtomicUsize>, Arc<Semaphore>) {
    let (model, feed) = Fed::new(Route::new("p", "m"));
    let mut composition = Composition::new(model);
    let (tools, most, permits) = Does::tools(names);
    composition.tools = tools;
    (composition, feed, most, permits)
}

/// What the log tells of the tools after a turn in which the model calls these, and then says "ok".
async fn tool_story(
    composition: Composition,
    feed: &Feed,
    calls: &[(&str, &str, &str)],
) -> Vec<String> {
    let rig = Rig::start(composition).await;
    feed.call(calls);
    feed.say("ok");
    rig.ask("go").await;
    let story = rig.story().await;
    let tools = ["call ", "result ", "approval/"];
    story.into_iter().filter(|line| tools.iter().any(|tool| line.starts_with(tool))).collect()
}

#[tokio::test]
async fn calls_run_in_order_and_each_has_its_result() {
    let (composition, feed, most, _) = composed(&["echo", "fail"]);
    let calls = [("a", "echo", r#"{"x":1}"#), ("b", "fail", "{}"), ("c", "echo", "")];
    let expected = [
        r#"call echo {"x":1}"#,
        r#"result a {"x":1}"#,
        "call fail {}",
        "result b Error: no such file FS_NOT_FOUND",
        "call echo ",
        "result c {}",
    ];
    assert_eq!(tool_story(composition, &feed, &calls).await, expected);
    assert_eq!(most.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn calls_that_may_run_beside_others_start_together_and_others_wait() {
    let (composition, feed, most, permits) = composed(&["wait", "echo"]);
    permits.add_permits(3);
    let calls =
        [("a", "wait", "{}"), ("b", "wait", "{}"), ("c", "echo", "{}"), ("d", "wait", "{}")];
    let expected = [
        "call wait {}",
        "call wait {}",
        "result a waited",
        "result b waited",
        "call echo {}",
        "result c {}",
        "call wait {}",
        "result d waited",
    ];
    assert_eq!(tool_story(composition, &feed, &calls).await, expected);
    assert!(most.load(Ordering::SeqCst) <= 2);
}

#[tokio::test]
async fn at_most_ten_calls_run_at_once() {
    let (composition, feed, most, permits) = composed(&["wait"]);
    let ids: Vec<String> = (0..25).map(|number| format!("c{number}")).collect();
    let calls: Vec<_> = ids.iter().map(|id| (id.as_str(), "wait", "{}")).collect();
    let mut rig = Rig::start(composition).await;
    feed.call(&calls);
    feed.say("ok");
    rig.agent.followup(rig.prompt("go")).await.unwrap();
    for _ in 0..10 {
        rig.until("tool/call").await;
    }
    while most.load(Ordering::SeqCst) < 10 {
        tokio::task::yield_now().await;
    }
    permits.add_permits(25);
    rig.idle().await;
    assert_eq!(most.load(Ordering::SeqCst), 10);
    let story = rig.story().await;
    let results: Vec<&String> = story.iter().filter(|line| line.starts_with("result")).collect();
    let expected: Vec<String> = ids.iter().map(|id| format!("result {id} waited")).collect();
    assert!(results.into_iter().eq(&expected), "{story:?}");
}

#[tokio::test]
async fn a_prompt_queued_during_calls_waits_for_the_end_of_the_turn() {
    let (composition, feed, _, permits) = composed(&["wait"]);
    let mut rig = Rig::start(composition).await;
    rig.agent.followup(rig.prompt("go")).await.unwrap();
    feed.call(&[("a", "wait", "{}"), ("b", "wait", "{}")]);
    rig.until("tool/call").await;
    rig.agent.followup(rig.prompt("queued")).await.unwrap();
    permits.add_permits(2);
    feed.say("ok");
    feed.say("queued answer");
    rig.idle().await;
    let story = rig.story().await;
    let result = story.iter().position(|line| line == "result b waited").unwrap();
    let expected = [
        "step end",
        "step 2",
        "chunks",
        "model: ok 0 calls",
        "step end",
        "end completed",
        "turn 2",
    ];
    assert_eq!(story[result + 1..result + 8], expected);
    assert_eq!(story[result - 1], "result a waited");
}

#[tokio::test]
async fn calls_that_cannot_run_tell_the_model_why() {
    let (composition, feed, ..) = composed(&["echo", "panic"]);
    let calls = [("a", "none", r#"{"a":1}"#), ("b", "echo", r#"{"a": "#), ("c", "panic", "{}")];
    let story = tool_story(composition, &feed, &calls).await;
    let results: Vec<&String> = story.iter().filter(|line| line.starts_with("result")).collect();
    let expected = [
        r#"result a Error: unknown tool "none" UNKNOWN_TOOL"#,
        r#"result b Error: invalid arguments: "arguments" must be an object INVALID_ARGS"#,
        "result c Error: panicked: oh no PANIC",
    ];
    assert_eq!(results, expected);
}

#[tokio::test]
async fn a_tool_may_conclude_the_turn() {
    let (composition, feed, ..) = composed(&["conclude"]);
    let rig = Rig::start(composition).await;
    feed.call(&[("a", "conclude", "{}")]);
    rig.ask("go").await;
    assert_eq!(rig.story().await.last().unwrap(), "end completed");
    assert_eq!(rig.requests().len(), 1);
}

#[tokio::test]
async fn a_tools_context_joins_the_next_step_after_the_results() {
    let (composition, feed, ..) = composed(&["note", "echo"]);
    let rig = Rig::start(composition).await;
    feed.call(&[("a", "note", "{}"), ("b", "echo", "{}")]);
    feed.say("ok");
    rig.ask("go").await;
    let story = rig.story().await;
    let result = story.iter().position(|line| line == "result b {}").unwrap();
    let expected = [
        r#"next-step@0 -0 +["noted"]"#,
        "step end",
        "next-step@0 -1 +[]",
        "step 2",
        "plugin: noted",
        "chunks",
    ];
    assert_eq!(story[result + 1..result + 7], expected);
}

#[tokio::test]
async fn a_tools_context_outlives_the_cancelled_turn() {
    let (composition, feed, ..) = composed(&["note", "wait"]);
    let mut rig = Rig::start(composition).await;
    rig.agent.followup(rig.prompt("go")).await.unwrap();
    feed.call(&[("a", "note", "{}"), ("b", "wait", "{}")]);
    rig.until("tool/result").await;
    rig.agent.cancel(Cause::User, false).await.unwrap();
    rig.idle().await;
    assert_eq!(rig.agent.waiting(Target::NextStep).len(), 1);
    assert_eq!(rig.story().await.last().unwrap(), r#"end aborted {"kind":"user"}"#);
}

/// Says about every call what it was made with.
struct Gate(Result<Verdict, Failure>);

#[async_trait]
impl ToolGate for Gate {
    async fn check(&self, _: &Call) -> Result<Verdict, Failure> {
        self.0.clone()
    }
}

struct Answers(Approval);

#[async_trait]
impl Approver for Answers {
    async fn approve(&self, _: &Call, _: Option<&str>) -> Approval {
        self.0
    }
}

/// What the log tells of one call of `echo` behind these gates.
async fn gated(gates: Vec<Result<Verdict, Failure>>, answer: Option<Approval>) -> Vec<String> {
    let (mut composition, feed, ..) = composed(&["echo"]);
    composition.gates =
        gates.into_iter().map(|verdict| Arc::new(Gate(verdict)) as Arc<dyn ToolGate>).collect();
    composition.approver = answer.map(|answer| Arc::new(Answers(answer)) as Arc<dyn Approver>);
    tool_story(composition, &feed, &[("a", "echo", "{}")]).await
}

#[tokio::test]
async fn deny_beats_ask_and_ask_beats_allow() {
    let (allow, ask) = (|| Ok(Verdict::Allow), || Ok(Verdict::Ask(Some("why not".into()))));
    let deny = || Ok(Verdict::Deny("not this one".into()));
    let denied = ["call echo {}", "result a Error: not this one DENIED"];
    assert_eq!(gated(vec![allow(), ask(), deny()], Some(Approval::AllowedOnce)).await, denied);
    let asked = ["call echo {}", "approval/asked", "approval/decided", "result a {}"];
    assert_eq!(gated(vec![allow(), ask()], Some(Approval::AllowedOnce)).await, asked);
    assert_eq!(gated(vec![allow(), allow()], None).await, ["call echo {}", "result a {}"]);
}

#[tokio::test]
async fn nobody_to_ask_is_a_denial_and_so_is_a_failing_gate() {
    let ask = || Ok(Verdict::Ask(None));
    let unavailable = gated(vec![ask()], None).await;
    assert!(unavailable.last().unwrap().ends_with("nobody can be asked DENIED"));
    let rejected = gated(vec![ask()], Some(Approval::Rejected)).await;
    assert!(rejected.last().unwrap().ends_with("the user rejected this call DENIED"));
    let failure = Failure { by: Some("guard".into()), ..Failure::new("TRAP", "out of fuel") };
    let failed = gated(vec![Err(failure)], None).await;
    assert_eq!(failed[1], "result a Error: guard failed: out of fuel DENIED");
}
