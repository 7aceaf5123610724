//! Whole turns of a real agent on a log of its own.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use dsh_agent::{
    Agent, Call, Cancel, Composition, MessageIds, Model, Progress, Tool, ToolError, ToolOutput,
    ToolSpec, TurnEnd,
};
use dsh_session::{
    Encoding, Event, Fold as _, Header, Json, Live, Message, SessionId, Sessions, Store,
};
use tempfile::TempDir;

/// A tool that remembers its calls.
pub(crate) struct Lists {
    spec: ToolSpec,
    pub(crate) calls: Mutex<Vec<String>>,
}

#[async_trait]
impl Tool for Lists {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, call: Call, _: Cancel) -> Result<ToolOutput, ToolError> {
        self.calls.lock().unwrap().push(call.arguments.as_str().to_owned());
        ToolOutput::text("a file")
    }
}

pub(crate) struct Rig {
    pub(crate) agent: Agent,
    pub(crate) tool: Arc<Lists>,
    root: PathBuf,
    /// Kept while the root is in use.
    _dir: Option<TempDir>,
}

impl Rig {
    pub(crate) async fn start(model: impl Model + 'static) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().to_owned();
        let header = Header::new(SessionId::new("one"), 0, None);
        let live = sessions(&root).create(header, None).await.unwrap();
        Self { _dir: Some(dir), ..Self::on(&root, live, Progress::default(), Arc::new(model)) }
    }

    /// The same session after a restart, with this model.
    pub(crate) async fn resume(self, model: impl Model + 'static) -> Self {
        let Self { agent, root, _dir, .. } = self;
        let id = agent.live().header().id.clone();
        agent.dispose().await.unwrap();
        drop(agent);
        let (live, progress) = sessions(&root).open(&id, Progress::default()).await.unwrap();
        Self { _dir, ..Self::on(&root, live, progress, Arc::new(model)) }
    }

    /// A session that begins with all of this one.
    pub(crate) async fn fork(&self, model: impl Model + 'static) -> Self {
        let seed = self.log();
        let mut progress = Progress::default();
        seed.iter().for_each(|event| progress.event(event));
        let header = Header {
            parent: Some(self.agent.live().header().id.clone()),
            seed_length: Some(seed.len() as u64),
            ..Header::new(SessionId::new("fork"), 0, None)
        };
        let live = sessions(&self.root).create(header, Some(seed.into())).await.unwrap();
        Self::on(&self.root, live, progress, Arc::new(model))
    }

    fn on(root: &Path, live: Live, progress: Progress, model: Arc<dyn Model>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let ids: MessageIds = Arc::new(|| format!("id-{}", NEXT.fetch_add(1, Ordering::Relaxed)));
        let parameters = Json::parse(r#"{"type":"object"}"#).unwrap();
        let spec = ToolSpec { name: "ls".into(), description: "Lists.".into(), parameters };
        let tool = Arc::new(Lists { spec, calls: Mutex::default() });
        let mut parts = Composition::new(model);
        parts.tools = vec![Arc::clone(&tool) as Arc<dyn Tool>];
        let agent = Agent::start(live, progress, parts, ids);
        Self { agent, tool, root: root.to_owned(), _dir: None }
    }

    /// Runs a turn, and says how it ended.
    pub(crate) async fn ask(&self, prompt: &str) -> TurnEnd {
        self.agent.followup(self.agent.prompt(prompt).unwrap()).await.unwrap();
        self.agent.when_idle().await.unwrap();
        self.agent.last_turn().unwrap().end
    }

    /// Runs a turn that must fail, and gives its code.
    pub(crate) async fn fail(&self, prompt: &str) -> String {
        match self.ask(prompt).await {
            TurnEnd::Error { error } => error.code,
            end => panic!("no failure but {end:?}"),
        }
    }

    pub(crate) fn messages(&self) -> Vec<Message> {
        self.agent.live().messages()
    }

    /// The log as it is on disk.
    pub(crate) fn log(&self) -> Vec<Event> {
        let mut events = Vec::new();
        let id = &self.agent.live().header().id;
        sessions(&self.root).store().read(id, &mut events).unwrap();
        events
    }

    /// The events of this type.
    pub(crate) fn events(&self, kind: &str) -> Vec<Event> {
        self.log().into_iter().filter(|event| &*event.kind == kind).collect()
    }
}

fn sessions(root: &Path) -> Sessions {
    Sessions::new(Store::new(root, Encoding::Raw, Arc::new(|| 0)))
}
