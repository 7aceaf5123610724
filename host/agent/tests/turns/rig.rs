//! An agent on a real log in a temporary root, and a witness of what its model got.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dsh_agent::{
    Agent, Chunk, Composition, MessageIds, Model, Progress, Request, RequestHeader, RetryPolicy,
    Route, ToolSpec,
};
use dsh_model::{Script, Scripted};
use dsh_session::{
    Encoding, Event, Fold as _, Header, Json, Live, Message, Replay, SessionId, Sessions, Store,
    Subscription,
};
use futures::stream::BoxStream;
use tempfile::TempDir;

use crate::story::story;

/// How long a test waits for something that must happen, before it fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// An agent and everything around it.
pub(crate) struct Rig {
    pub(crate) agent: Agent,
    id: SessionId,
    store: Store,
    root: Arc<PathBuf>,
    /// Kept while the root is in use.
    _dir: Option<TempDir>,
    told: Subscription,
    heard: Mutex<(Subscription, Vec<Event>)>,
    witness: Arc<Witness>,
}

/// Sees each request at its place in the log, before the model does.
struct Witness {
    live: Live,
    seen: Mutex<Vec<(u64, Request)>>,
}

struct Witnessed {
    model: Arc<dyn Model>,
    witness: Arc<Witness>,
}

impl Model for Witnessed {
    fn route(&self) -> Route {
        self.model.route()
    }

    fn retry_policy(&self) -> RetryPolicy {
        self.model.retry_policy()
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Chunk> {
        let seen = (self.witness.live.next_seq(), request.clone());
        self.witness.seen.lock().unwrap().push(seen);
        self.model.stream(request)
    }
}

impl Rig {
    /// A new session in a root of its own.
    pub(crate) async fn start(composition: Composition) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let rig = Self::in_root(dir.path(), "rig", composition).await;
        Self { _dir: Some(dir), ..rig }
    }

    /// A new session in this root.
    pub(crate) async fn in_root(root: &Path, id: &str, composition: Composition) -> Self {
        let id = SessionId::new(id);
        let header = Header::new(id.clone(), 0, Some("/home/dev/app".into()));
        let live = sessions(root).create(header, None).await.unwrap();
        Self::on(root, id, live, Progress::default(), composition)
    }

    /// A fork of this session, with all of its log on disk as the seed.
    pub(crate) async fn fork(&self, composition: Composition) -> Self {
        let seed = self.disk().await;
        let mut progress = Progress::default();
        seed.iter().for_each(|event| progress.event(event));
        let id = SessionId::new("fork");
        let header = Header {
            parent: Some(self.id.clone()),
            seed_length: Some(seed.len() as u64),
            ..Header::new(id.clone(), 0, Some("/home/dev/app".into()))
        };
        let live = sessions(&self.root).create(header, Some(seed.into())).await.unwrap();
        Self::on(&self.root, id, live, progress, composition)
    }

    /// The same session, opened again as after a restart.
    pub(crate) async fn resume(self, composition: Composition) -> Self {
        let Self { agent, id, root, _dir, told, heard, witness, .. } = self;
        agent.when_idle().await.unwrap();
        drop((agent, told, heard, witness));
        let (live, progress) = sessions(&root).open(&id, Progress::default()).await.unwrap();
        let rig = Self::on(&root, id, live, progress, composition);
        Self { _dir, ..rig }
    }

    /// The session as it is on disk, opened where another process would, while this one is still at it.
    pub(crate) async fn crash(self, composition: Composition) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = self.path();
        let copy = dir.path().join(path.strip_prefix(&*self.root).unwrap());
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        std::fs::copy(&path, &copy).unwrap();
        let (live, progress) =
            sessions(dir.path()).open(&self.id, Progress::default()).await.unwrap();
        let rig = Self::on(dir.path(), self.id.clone(), live, progress, composition);
        Self { _dir: Some(dir), ..rig }
    }

    fn on(root: &Path, id: SessionId, live: Live, progress: Progress, parts: Composition) -> Self {
        let witness = Arc::new(Witness { live: live.clone(), seen: Mutex::default() });
        let told = live.subscribe();
        let heard = Mutex::new((live.subscribe(), Vec::new()));
        let parts = witnessed(parts, &witness);
        // Unique over all rigs of a test, as ids are over a session's restarts.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let ids: MessageIds =
            Arc::new(|| format!("message-{}", NEXT.fetch_add(1, Ordering::Relaxed)));
        Self {
            agent: Agent::start(live, progress, parts, ids),
            id,
            store: store(root),
            root: Arc::new(root.to_owned()),
            _dir: None,
            told,
            heard,
            witness,
        }
    }

    pub(crate) fn prompt(&self, text: &str) -> Message {
        self.agent.prompt(text).unwrap()
    }

    /// Waits until nothing runs.
    pub(crate) async fn idle(&self) {
        let idle = tokio::time::timeout(PATIENCE, self.agent.when_idle()).await;
        idle.expect("the agent comes to rest").unwrap();
    }

    /// Sends a prompt and waits until nothing runs.
    pub(crate) async fn ask(&self, text: &str) {
        self.agent.followup(self.prompt(text)).await.unwrap();
        self.idle().await;
    }

    /// The next event that is told.
    pub(crate) async fn next(&mut self) -> Event {
        let next = tokio::time::timeout(PATIENCE, self.told.next()).await;
        next.expect("something more happens").unwrap()
    }

    /// Waits for an event of this type, past others.
    pub(crate) async fn until(&mut self, kind: &str) -> Event {
        loop {
            let event = self.next().await;
            if &*event.kind == kind {
                return event;
            }
        }
    }

    /// Every event that was told so far.
    pub(crate) fn heard(&self) -> Vec<Event> {
        let (told, events) = &mut *self.heard.lock().unwrap();
        events.extend(std::iter::from_fn(|| told.try_next()));
        events.clone()
    }

    /// The log as it is on disk.
    pub(crate) async fn disk(&self) -> Vec<Event> {
        read(&self.store, &self.id)
    }

    /// Where the log lies.
    pub(crate) fn path(&self) -> PathBuf {
        dsh_session::log_path(&self.root, self.agent.live().header(), Encoding::Zstd).unwrap()
    }

    /// What the log on disk tells, after it was compared with what the model got.
    pub(crate) async fn story(&self) -> Vec<String> {
        let events = self.disk().await;
        for (place, request) in self.witness.seen.lock().unwrap().iter() {
            let before = &events[..usize::try_from(*place).unwrap()];
            let logged = from_log(&self.id, before);
            match request.messages.last() {
                Some(last) if last.source().is_checkpoint() => check_summary(request, logged),
                _ => assert_eq!(request, &logged, "visible if and only if logged"),
            }
        }
        story(&events)
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        let seen = self.witness.seen.lock().unwrap();
        seen.iter().map(|(_, request)| request.clone()).collect()
    }

    pub(crate) fn composition(&self) -> Composition {
        (*self.agent.composition()).clone()
    }

    pub(crate) fn compose(&self, composition: Composition) {
        self.agent.compose(witnessed(composition, &self.witness));
    }
}

/// The parts with a witness before the model, unless there is one.
fn witnessed(parts: Composition, witness: &Arc<Witness>) -> Composition {
    let (model, witness) = (Arc::clone(&parts.model), Arc::clone(witness));
    Composition { model: Arc::new(Witnessed { model, witness }), ..parts }
}

/// What a log says that its next request is.
fn from_log(id: &SessionId, events: &[Event]) -> Request {
    let mut replay = Replay::new(id.clone());
    let mut header = None;
    for event in events {
        replay.event(event).unwrap();
        if &*event.kind == "request/header" {
            header = event.data.object().unwrap().read::<Json>("header");
        }
    }
    let header: RequestHeader = header.unwrap().read().unwrap();
    Request { session: id.clone(), header, messages: replay.surface().messages() }
}

/// A request for a summary begins like the one of a turn, and ends with an instruction.
fn check_summary(request: &Request, logged: Request) {
    let mut config = logged.header.config;
    config.max_tokens = request.header.config.max_tokens;
    assert_eq!(request.header, RequestHeader { config, ..logged.header });
    let (instruction, older) = request.messages.split_last().unwrap();
    assert!(logged.messages.starts_with(older), "a summary is asked of what is logged");
    assert!(instruction.source().is_checkpoint());
}

fn store(root: &Path) -> Store {
    Store::new(root, Encoding::Zstd, Arc::new(|| 1_700_000_000_000))
}

fn sessions(root: &Path) -> Sessions {
    Sessions::new(store(root))
}

fn read(store: &Store, id: &SessionId) -> Vec<Event> {
    let mut events = Vec::new();
    store.read(id, &mut events).unwrap();
    events
}

/// A model that replays this script, and nothing else.
pub(crate) fn scripted(script: &str) -> Composition {
    Composition::new(Arc::new(Scripted::new(Script::parse(script).unwrap())))
}

pub(crate) fn text_message(id: &str, source: &str, text: &str) -> Message {
    let block = Json::of(&serde_json::json!({ "type": "text", "text": text })).unwrap();
    Message::user(id, &Json::parse(source).unwrap(), &[block]).unwrap()
}

pub(crate) fn tool_spec(name: &str) -> ToolSpec {
    let parameters = Json::parse(r#"{"type":"object"}"#).unwrap();
    ToolSpec { name: name.into(), description: "For tests.".into(), parameters }
}

/// The events of a recorded session; none, and a note, where there are no corpora.
#[expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a variable names the corpora, and a skipped test says so"
)]
pub(crate) fn recorded(id: &str) -> Option<Vec<Event>> {
    let Ok(corpora) = std::env::var("DSH_CORPORA") else {
        eprintln!("skipped: DSH_CORPORA is not set");
        return None;
    };
    let root = Path::new(&corpora).join("fixtures/recorded/raw");
    Some(read(&store(&root), &SessionId::new(id)))
}
