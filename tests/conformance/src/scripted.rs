//! Sessions that answer as a vector's script says, behind the host's own traits.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use async_trait::async_trait;
use dsh_plugin_host::{Asker, Failure, Header, Node, OwnNote, Role, Sessions, Source, Surface};
use serde_json::{Map, Value};
use tokio::sync::Notify;

use crate::wtf16;

/// The code of a failure that a script asks for.
pub const SCRIPTED_FAILURE: &str = "unavailable";

/// When the caller gives up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Abort {
    /// It does not.
    #[default]
    Never,
    /// In a read that never ends.
    InEndlessRead,
    /// In a read that ends all the same.
    InRead,
}

/// What the sessions were asked, in order.
#[derive(Debug, Default)]
pub struct Asked {
    /// Whether the list was.
    pub listed: bool,
    /// The ids whose titles were.
    pub titles: Vec<String>,
    /// The ids whose surfaces were.
    pub surfaces: Vec<String>,
}

/// The answers.
#[derive(Default)]
pub struct Scripted {
    /// What the list answers; a failure where it is none.
    pub list: Option<Vec<Header>>,
    /// What a title's read answers; no title where there is none.
    pub titles: BTreeMap<String, Result<Option<String>, Failure>>,
    /// What a surface's read answers; `not-found` where there is none.
    pub surfaces: BTreeMap<String, Result<Arc<dyn Surface>, Failure>>,
    /// When the caller gives up.
    pub abort: Abort,
    /// What was asked so far.
    pub asked: Mutex<Asked>,
    gave_up: Notify,
}

impl Scripted {
    /// Ends when the caller gives up, which may be never.
    pub async fn given_up(&self) {
        self.gave_up.notified().await;
    }

    /// What was asked, under the names that vectors have for it.
    pub fn seen(&self) -> Result<Map<String, Value>> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let ids = |ids: &[String]| {
            ids.iter().map(|id| wtf16::id(id)).collect::<Result<Value, _>>().context("an id")
        };
        let mut seen = Map::new();
        seen.insert("listed".into(), asked.listed.into());
        seen.insert("titleReads".into(), ids(&asked.titles)?);
        seen.insert("reads".into(), ids(&asked.surfaces)?);
        Ok(seen)
    }

    fn ask(&self, ask: impl FnOnce(&mut Asked)) {
        ask(&mut self.asked.lock().unwrap_or_else(PoisonError::into_inner));
    }

    async fn read(&self) {
        match self.abort {
            Abort::Never => {}
            Abort::InEndlessRead => {
                self.gave_up.notify_one();
                pending().await
            }
            Abort::InRead => {
                self.gave_up.notify_one();
                tokio::task::yield_now().await;
            }
        }
    }
}

#[async_trait]
impl Sessions for Scripted {
    async fn list(&self, _: &Asker) -> Result<Vec<Header>, Failure> {
        self.ask(|asked| asked.listed = true);
        self.list.clone().ok_or_else(failure)
    }

    async fn titles(&self, _: &Asker, ids: &[String]) -> Vec<Result<Option<String>, Failure>> {
        self.ask(|asked| asked.titles.extend_from_slice(ids));
        self.read().await;
        ids.iter().map(|id| self.titles.get(id).cloned().unwrap_or(Ok(None))).collect()
    }

    async fn surfaces(&self, _: &Asker, ids: &[String]) -> Vec<Result<Arc<dyn Surface>, Failure>> {
        self.ask(|asked| asked.surfaces.extend_from_slice(ids));
        self.read().await;
        let unknown = || Err(Failure::new("not-found", "there is no such session"));
        ids.iter().map(|id| self.surfaces.get(id).cloned().unwrap_or_else(unknown)).collect()
    }

    async fn own_notes(&self, _: &Asker, _: &str) -> Result<Vec<OwnNote>, Failure> {
        Ok(Vec::new())
    }
}

/// The failure of a script that says no more than that.
pub fn failure() -> Failure {
    Failure::new(SCRIPTED_FAILURE, "the script says so")
}

/// A header as vectors write it.
///
/// # Errors
///
/// When it is none.
pub fn header(header: &Value) -> Result<Header> {
    let id = |name: &str| header.get(name).and_then(Value::as_str).map(wtf16::spelling);
    let cwd = header.get("cwd").and_then(Value::as_str).map(wtf16::text);
    Ok(Header {
        id: id("id").context("a header without an id")?,
        created_at: header.get("createdAt").and_then(Value::as_u64).context("no createdAt")?,
        cwd: cwd.transpose()?,
        parent: id("parentSession"),
        seed_length: header.get("seedLength").and_then(Value::as_u64),
        extra: None,
    })
}

/// The nodes of a surface, as a vector's snapshot has them.
pub struct ScriptedSurface {
    header: Header,
    captured_through: Option<u64>,
    nodes: Vec<(Node, String)>,
}

impl ScriptedSurface {
    /// The surface of `{session, capturedThroughSeq, events}`, whose events are the nodes.
    ///
    /// # Errors
    ///
    /// When the snapshot is none.
    pub fn of(snapshot: &Value) -> Result<Self> {
        let events = snapshot.get("events").and_then(Value::as_array).context("no events")?;
        Ok(Self {
            header: header(snapshot.get("session").context("no session")?)?,
            captured_through: snapshot.get("capturedThroughSeq").and_then(Value::as_u64),
            nodes: events.iter().map(node).collect::<Result<_>>()?,
        })
    }
}

/// One node and its text.
fn node(event: &Value) -> Result<(Node, String)> {
    let kind = event.get("type").and_then(Value::as_str).context("an event without a type")?;
    let data = event.get("data").context("an event without data")?;
    let (role, message) = match kind {
        "user/message" => (Role::User, Some(data)),
        "assistant/message" => (Role::Assistant, data.get("message")),
        "tool/result" => (Role::Tool, data.get("message")),
        other => anyhow::bail!("{other} is no node"),
    };
    let message = message.context("an event without a message")?;
    let source = message.get("source").context("a message without a source")?;
    let blocks = message.get("content").and_then(Value::as_array).context("no content")?;
    let texts = blocks
        .iter()
        .filter(|block| block.get("type").and_then(Value::as_str) == Some("text"))
        .filter_map(|block| block.get("text")?.as_str())
        .map(wtf16::text)
        .collect::<Result<Vec<_>, _>>();
    let text = texts?.join("\n");
    let node = Node {
        seq: event.get("seq").and_then(Value::as_u64).context("an event without a seq")?,
        role,
        source: self::source(source)?,
        text_bytes: text.len() as u64,
    };
    Ok((node, text))
}

/// Who a message speaks for.
///
/// # Errors
///
/// When its source has no kind.
pub fn source(source: &Value) -> Result<Source> {
    let name = |name: &str| source.get(name).and_then(Value::as_str);
    Ok(match (name("kind").context("a source without a kind")?, name("plugin")) {
        ("user", _) => Source::User,
        ("plugin", Some("compact")) => Source::Checkpoint,
        ("plugin", Some(plugin)) => Source::Plugin(plugin.to_owned()),
        (kind, _) => Source::Other(kind.to_owned()),
    })
}

impl Surface for ScriptedSurface {
    fn header(&self) -> &Header {
        &self.header
    }

    fn captured_through(&self) -> Option<u64> {
        self.captured_through
    }

    fn length(&self) -> u32 {
        u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)
    }

    fn node(&self, index: u32) -> Option<Node> {
        self.nodes.get(index as usize).map(|(node, _)| node.clone())
    }

    fn text(&self, index: u32) -> Option<Cow<'_, str>> {
        self.nodes.get(index as usize).map(|(_, text)| Cow::Borrowed(&**text))
    }
}
