//! What whole-turn tests share: a harness on a root of sessions, and what a model was asked there.

mod command;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dsh_agent::{Agent, Request, TurnEnd};
use dsh_model::{Script, Scripted};
use dsh_session::{Encoding, Message, SessionId, Store};
use dsh_wasm::{Harness, Options};
use serde_json::json;
use tempfile::TempDir;

pub use command::{Ran, dsh_wasm, execute};

/// A harness with the standard plugins on a root of its own.
pub struct Rig {
    /// What goes with the rig: the root, and the index beside it.
    dir: TempDir,
    root: PathBuf,
    /// What is tested.
    pub harness: Harness,
}

impl Rig {
    /// An empty root.
    ///
    /// # Panics
    /// If the harness cannot be opened, which fails the test.
    pub async fn empty() -> Self {
        Self::with(Options::standard()).await
    }

    /// An empty root, and a harness put together so.
    ///
    /// # Panics
    /// If the harness cannot be opened, which fails the test.
    pub async fn with(options: Options) -> Self {
        Self::on(tempfile::tempdir().expect("a temporary folder"), options).await
    }

    /// A copy of a root that the real client recorded; none where the corpora are not here.
    ///
    /// # Panics
    /// If the corpora are here and the root is not.
    pub async fn recorded(encoding: Encoding) -> Option<Self> {
        let folder = match encoding {
            Encoding::Zstd => "zstd",
            Encoding::Raw => "raw",
        };
        let dir = tempfile::tempdir().expect("a temporary folder");
        copy(&corpora()?.join("fixtures/recorded").join(folder), &dir.path().join("sessions"));
        Some(Self::on(dir, Options::standard()).await)
    }

    async fn on(dir: TempDir, options: Options) -> Self {
        let root = dir.path().join("sessions");
        // Compiled once for all tests; never in the folder of the person who runs them.
        let compiled = Some(std::env::temp_dir().join("dsh-wasm-tests"));
        let options = Options { compiled, ..options };
        let harness = Harness::open(&root, options).await.expect("the plugins load");
        Self { dir, root, harness }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A folder for other files, which is not the root.
    pub fn beside(&self) -> &Path {
        self.dir.path()
    }

    /// A new session in which these prompts were answered with `ok`.
    ///
    /// # Panics
    /// If a turn does not complete.
    pub async fn session(&self, prompts: &[&str]) -> SessionId {
        let replies = vec![json!({ "text": "ok" }); prompts.len()];
        let agent = self.harness.create(None, model(&replies)).await.expect("a new session");
        for prompt in prompts {
            assert_eq!(turn(&agent, prompt).await, TurnEnd::Completed);
        }
        agent.dispose().await.expect("the log is written");
        agent.live().header().id.clone()
    }

    /// The messages of the next request, folded anew from the log on disk.
    ///
    /// # Panics
    /// If the log cannot be read.
    pub fn on_disk(&self, id: &SessionId) -> Vec<Message> {
        let store = Store::new(self.root(), Encoding::Raw, Arc::new(|| 0));
        store.read(id, &mut ()).expect("the log is read").surface.messages()
    }
}

/// The corpora of real logs; none where `DSH_CORPORA` does not say where they are, which is told.
#[expect(
    clippy::disallowed_methods,
    reason = "this is how the tests are told where the corpora are"
)]
#[expect(clippy::print_stderr, reason = "a test that did nothing says so")]
pub fn corpora() -> Option<PathBuf> {
    let corpora = std::env::var_os("DSH_CORPORA").map(PathBuf::from);
    if corpora.is_none() {
        eprintln!("skipped: DSH_CORPORA does not say where real logs are");
    }
    corpora
}

/// A copy of the tool that runs the real client; none where `DSH_INTEROP` does not say where it is, which is told.
#[expect(
    clippy::disallowed_methods,
    reason = "this is how the tests are told where the real client is"
)]
#[expect(clippy::print_stderr, reason = "a test that did nothing says so")]
pub fn interop() -> Option<PathBuf> {
    let tool = std::env::var_os("DSH_INTEROP").map(PathBuf::from);
    if tool.is_none() {
        eprintln!("skipped: DSH_INTEROP does not name the tool that runs the real client");
    }
    tool
}

/// A model that gives these replies.
///
/// # Panics
/// If one is no reply.
pub fn model(replies: &[serde_json::Value]) -> Arc<Scripted> {
    let lines: Vec<String> = replies.iter().map(ToString::to_string).collect();
    Arc::new(Scripted::new(Script::parse(&lines.join("\n")).expect("a script")))
}

/// Runs a turn for a prompt and says how it ended.
///
/// # Panics
/// If the log cannot be written.
pub async fn turn(agent: &Agent, prompt: &str) -> TurnEnd {
    let message = agent.prompt(prompt).expect("a prompt");
    agent.followup(message).await.expect("the prompt waits");
    ended(agent).await
}

/// Waits for the end of what the agent does, and says how the last turn ended.
///
/// # Panics
/// If the log cannot be written, or no turn ran.
pub async fn ended(agent: &Agent) -> TurnEnd {
    agent.when_idle().await.expect("the log is written");
    agent.last_turn().expect("a turn ran").end
}

/// A mention of a session.
pub fn mention(id: &SessionId) -> String {
    dsh_wasm::mention("it", id)
}

/// The texts of a request's messages, each after the kind of its source.
pub fn said(request: &Request) -> Vec<(String, String)> {
    let messages = request.messages.iter();
    messages.map(|message| (message.source().kind.to_string(), message.text())).collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).unwrap_or_else(|err| panic!("{}: {err}", from.display())) {
        let from = entry.expect("an entry").path();
        let to = to.join(from.file_name().expect("a name"));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            // The content alone: the corpora may not be written to, their copies must.
            fs::write(&to, fs::read(&from).expect("a log")).expect("a copy");
        }
    }
}
