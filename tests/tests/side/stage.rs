//! A session with a completed turn, and what happens beside it.

use std::sync::Arc;

use async_trait::async_trait;
use dsh_agent::{
    Agent, Call, Cancel, Composition, Request, Tool, ToolError, ToolOutput, ToolSpec, TurnEnd,
};
use dsh_model::Scripted;
use dsh_session::{Event, Json, Message, SessionId};
use dsh_tests::{Rig, model, turn};
use dsh_wasm::{Options, Ran};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// A parent, and the model that answers it and whatever is forked from it.
pub(crate) struct Stage {
    pub(crate) rig: Rig,
    pub(crate) parent: Agent,
    pub(crate) model: Arc<Scripted>,
}

impl Stage {
    /// A parent that was asked once, and answered `ok`; these replies come next, in turn.
    pub(crate) async fn set(replies: &[Value]) -> Self {
        Self::on(Rig::empty().await, replies).await
    }

    /// The same, with the plugin set so.
    pub(crate) async fn with(settings: &Value, replies: &[Value]) -> Self {
        Self::on(Rig::with(options(settings)).await, replies).await
    }

    pub(crate) async fn on(rig: Rig, replies: &[Value]) -> Self {
        let model = model(&[&[json!({ "text": "ok" })], replies].concat());
        let parent = rig.harness.create(Some("/w".into()), model.clone()).await.unwrap();
        assert_eq!(turn(&parent, "the task").await, TurnEnd::Completed);
        Self { rig, parent, model }
    }

    /// Opens a side session on `agent`; gives what the client is to send, too.
    pub(crate) async fn side_on(&self, agent: &Agent, question: &str) -> (Agent, Option<String>) {
        match self.command(agent, &format!("/side {question}")).await.unwrap() {
            Ran::Opened { agent, send, .. } => (agent, send),
            _ => panic!("/side opens a session"),
        }
    }

    /// Opens a side session on the parent, and asks there.
    pub(crate) async fn side(&self, question: &str) -> Agent {
        let (child, send) = self.side_on(&self.parent, question).await;
        if let Some(send) = send {
            assert_eq!(turn(&child, &send).await, TurnEnd::Completed);
        }
        child
    }

    pub(crate) async fn command(&self, agent: &Agent, line: &str) -> Result<Ran, String> {
        let ran = self.rig.harness.command(id(agent), line, None).await;
        ran.map_err(|error| format!("{error:#}"))
    }

    /// What a command tells the person, be it a failure.
    pub(crate) async fn told(&self, agent: &Agent, line: &str) -> String {
        match self.command(agent, line).await {
            Ok(Ran::Text(text)) => text,
            Ok(_) => panic!("{line} comes to a text"),
            Err(error) => error,
        }
    }

    /// The log on disk.
    pub(crate) fn log(&self, id: &SessionId) -> Vec<Event> {
        let mut events = Vec::new();
        self.rig.harness.sessions().store().read(id, &mut events).unwrap();
        events
    }

    /// The log's bytes.
    pub(crate) fn bytes(&self, agent: &Agent) -> Vec<u8> {
        let store = self.rig.harness.sessions().store();
        let encoding = store.root_encoding().unwrap().unwrap();
        let path = dsh_session::log_path(store.root(), agent.live().header(), encoding).unwrap();
        std::fs::read(path).unwrap()
    }

    /// The notes in a session's own history that have this form, as facts with their place.
    pub(crate) fn notes(&self, agent: &Agent, form: &str) -> Vec<(Option<u64>, Value)> {
        let notes = agent.live().own_notes("sidechat").into_iter();
        let notes =
            notes.map(|note| (note.seq, serde_json::from_str(note.source.facts.as_str()).unwrap()));
        notes.filter(|(_, facts): &(_, Value)| facts["form"] == form).collect()
    }

    /// The last request.
    pub(crate) fn request(&self) -> Request {
        self.model.requests().pop().unwrap()
    }

    /// The number of sessions in the list.
    pub(crate) async fn count(&self) -> usize {
        self.rig.harness.sessions().list().await.unwrap().sessions.len()
    }
}

/// The standard plugins, with sidechat set so.
pub(crate) fn options(settings: &Value) -> Options {
    let mut options = Options::standard();
    for composed in &mut options.plugins {
        if composed.manifest.contains("id = \"sidechat\"") {
            composed.settings.0 = settings.as_object().unwrap().clone();
        }
    }
    options
}

pub(crate) fn id(agent: &Agent) -> &SessionId {
    &agent.live().header().id
}

/// What a message says, after who says it.
pub(crate) fn line(message: &Message) -> String {
    let source = message.source();
    let who = source.plugin.as_deref().unwrap_or(&source.kind);
    format!("{who}: {}", message.text())
}

pub(crate) fn lines(messages: &[Message]) -> Vec<String> {
    messages.iter().map(line).collect()
}

/// Changes an agent's parts.
pub(crate) fn recompose(agent: &Agent, change: impl FnOnce(&mut Composition)) {
    let mut composition = Composition::clone(&agent.composition());
    change(&mut composition);
    agent.compose(composition);
}

/// A tool that ends when it is let.
pub(crate) struct Waits {
    spec: ToolSpec,
    read_only: bool,
    lets: Arc<Semaphore>,
}

impl Waits {
    pub(crate) fn tool(name: &str, read_only: bool, lets: &Arc<Semaphore>) -> Arc<dyn Tool> {
        let parameters = Json::parse(r#"{"type":"object"}"#).unwrap();
        let spec = ToolSpec { name: name.into(), description: "Waits.".into(), parameters };
        Arc::new(Self { spec, read_only, lets: lets.clone() })
    }
}

#[async_trait]
impl Tool for Waits {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn read_only(&self) -> bool {
        self.read_only
    }

    async fn run(&self, _: Call, _: Cancel) -> Result<ToolOutput, ToolError> {
        self.lets.acquire().await.unwrap().forget();
        ToolOutput::text("done")
    }
}
