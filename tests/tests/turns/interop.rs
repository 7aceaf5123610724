//! The real client opens and continues every kind of log that turns leave behind.
//!
//! `DSH_INTEROP` names a copy of the tool that runs the published packages, made ready with `npm install`.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dsh_agent::{
    Agent, Call, Cancel, Cause, Chunk, Composition, Decision, Failure, Model, PreStep, Request,
    RetryPolicy, Route, StepInfo, Tool, ToolError, ToolOutput, ToolSpec, TurnEnd,
};
use dsh_model::Scripted;
use dsh_session::{Encoding, Json, Message};
use dsh_tests::{Rig, ended, interop, mention, model, turn};
use dsh_wasm::{InstructionFiles, Options};
use futures::stream::BoxStream;
use serde_json::json;

struct Echoes(ToolSpec);

#[async_trait]
impl Tool for Echoes {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }
    async fn run(&self, call: Call, _: Cancel) -> Result<ToolOutput, ToolError> {
        ToolOutput::text(call.arguments.as_str())
    }
}

/// A model whose failures are waited out.
struct Patient(Arc<Scripted>);

impl Model for Patient {
    fn route(&self) -> Route {
        self.0.route()
    }

    fn retry_policy(&self) -> RetryPolicy {
        RetryPolicy { first_wait: Duration::from_millis(1), ..RetryPolicy::STANDARD }
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Chunk> {
        self.0.stream(request)
    }
}

struct Rejects;

#[async_trait]
impl PreStep for Rejects {
    async fn pre_step(&self, _: StepInfo, _: Vec<Message>) -> Result<Decision, Failure> {
        let by = Some("gate".to_owned());
        Ok(Decision::Reject { reason: Some("not on Mondays".into()), details: None, by })
    }
}

/// The agent with one part exchanged.
fn with(agent: &Agent, change: impl FnOnce(&mut Composition)) {
    let mut composition = Composition::clone(&agent.composition());
    change(&mut composition);
    agent.compose(composition);
}

/// One session of every kind of turn.
async fn write(rig: &Rig) {
    let source = rig.session(&["new", "and a second turn 日本 😀"]).await;
    let replies = [
        json!({ "text": "plain" }),
        json!({ "delayMs": 100, "reasoning": "hm", "text": "slow" }),
        json!({ "text": "steered" }),
        json!({ "text": "queued" }),
        json!({ "text": "looking", "calls": [{ "name": "echo", "arguments": { "a": 1 } }, { "name": "none" }] }),
        json!({ "text": "looked" }),
        json!({ "text": "half a sent", "error": { "code": "SERVER", "message": "unwell" } }),
        json!({ "text": "once upon a", "maxTokens": true }),
        json!({ "text": "with a snapshot" }),
        json!({ "text": "never en", "hang": true }),
    ];
    let agent = rig.harness.create(Some("/w/日本".into()), model(&replies)).await.unwrap();
    let parameters = Json::parse(r#"{"type":"object"}"#).unwrap();
    let spec = ToolSpec { name: "echo".into(), description: "Gives it back.".into(), parameters };
    with(&agent, |composition| composition.tools = vec![Arc::new(Echoes(spec))]);
    assert_eq!(turn(&agent, "plain").await, TurnEnd::Completed);
    let told = |message: &Message| message.text().contains("Be kind. 日本");
    assert!(agent.live().messages().iter().any(told), "instruction files are in the log");
    let mut events = agent.live().subscribe();
    agent.followup(agent.prompt("slow").unwrap()).await.unwrap();
    // Steered before the step began, the two would share one reply.
    while events.next().await.is_some_and(|event| &*event.kind != "step/start") {}
    agent.steer(agent.prompt("steer").unwrap()).await.unwrap();
    agent.followup(agent.prompt("queue").unwrap()).await.unwrap();
    assert_eq!(ended(&agent).await, TurnEnd::Completed);
    assert_eq!(turn(&agent, "use a tool").await, TurnEnd::Completed);
    assert!(matches!(turn(&agent, "fail").await, TurnEnd::Error { .. }));
    assert_eq!(turn(&agent, "no room").await, TurnEnd::MaxTokens);
    assert_eq!(turn(&agent, &format!("see {}", mention(&source))).await, TurnEnd::Completed);
    let own = mention(&agent.live().header().id);
    assert!(matches!(turn(&agent, &own).await, TurnEnd::Error { .. }));
    let before = agent.composition();
    with(&agent, |composition| composition.pre_step = Arc::new(Rejects));
    assert!(matches!(turn(&agent, "rejected").await, TurnEnd::Blocked { .. }));
    agent.compose(Composition::clone(&before));
    let mut events = agent.live().subscribe();
    agent.followup(agent.prompt("hang").unwrap()).await.unwrap();
    while events.next().await.is_some_and(|event| &*event.kind != "assistant/chunk") {}
    agent.cancel(Cause::User, false).await.unwrap();
    assert_eq!(ended(&agent).await, TurnEnd::Aborted { reason: Cause::User });
    agent.dispose().await.unwrap();
    let busy = json!({ "reasoning": "hm", "error": { "code": "RATE_LIMIT", "message": "slow down",
        "status": 429, "retryAfterMs": 2 } });
    let patient = Arc::new(Patient(model(&[busy.clone(), busy, json!({ "text": "at last" })])));
    let waited = rig.harness.create(None, patient).await.unwrap();
    assert_eq!(turn(&waited, "busy").await, TurnEnd::Completed);
    waited.dispose().await.unwrap();
    let compacted = rig
        .harness
        .resume(
            &source,
            model(&[
                json!({ "reasoning": "hm", "text": "the first summary" }),
                json!({ "text": "after it", "calls": [{ "name": "none" }] }),
                json!({ "text": "and on" }),
                json!({ "error": { "code": "SERVER", "message": "unwell" } }),
                json!({ "text": "the second summary 日本 😀" }),
                json!({ "error": { "code": "CONTEXT_WINDOW_EXCEEDED", "message": "too long" } }),
                json!({ "text": "the third, in a step" }),
                json!({ "text": "room again" }),
            ]),
        )
        .await
        .unwrap();
    compacted.compact(Some("the rivers")).await.unwrap().unwrap();
    assert_eq!(turn(&compacted, "go on").await, TurnEnd::Completed);
    compacted.compact(None).await.unwrap_err();
    compacted.compact(None).await.unwrap().unwrap();
    assert_eq!(turn(&compacted, "too much").await, TurnEnd::Completed);
    compacted.dispose().await.unwrap();
    // The last clone holds the lock.
    drop(compacted);
    let resumed =
        rig.harness.resume(&source, model(&[json!({ "text": "resumed" })])).await.unwrap();
    assert_eq!(turn(&resumed, "once more").await, TurnEnd::Completed);
    resumed.dispose().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_real_client_opens_and_continues_every_kind_of_log() {
    let Some(tool) = interop() else { return };
    for encoding in [Encoding::Zstd, Encoding::Raw] {
        let own = tempfile::tempdir().unwrap();
        std::fs::write(own.path().join("AGENTS.md"), "Be kind. 日本").unwrap();
        let wanted = dsh_config::Layers::default().settle().unwrap().instructions;
        let files = InstructionFiles { wanted, user: Some(own.path().to_owned()) };
        let instructions = Some(files);
        let encoding = Some(encoding);
        let rig = Rig::with(Options { encoding, instructions, ..Options::standard() }).await;
        write(&rig).await;
        for script in ["check.mjs", "resume-all.mjs"] {
            let ran = Command::new("node").current_dir(&tool).arg(script).arg(rig.root()).output();
            let ran = ran.unwrap();
            let said = String::from_utf8_lossy(&ran.stdout).into_owned();
            assert!(
                ran.status.success(),
                "{script}: {said}{}",
                String::from_utf8_lossy(&ran.stderr)
            );
            assert_eq!(said.lines().count(), 3, "{script}: {said}");
        }
    }
}
