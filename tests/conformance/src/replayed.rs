//! Raw logs of vectors, replayed by `dsh-session`.

use std::borrow::Cow;

use anyhow::{Context as _, Result};
use dsh_plugin_host::{Header, Node, Role, Source, Surface};
use dsh_session::{Event, EventError, NodeRole, Replacement, Replay, SessionId};
use serde_json::Value;

use crate::wtf16;

/// A log that was replayed, or why it was not.
pub fn replay(session: &SessionId, events: &[Value]) -> Result<Replayed, EventError> {
    let mut replay = Replay::new(session.clone());
    let (mut replacements, mut taken) = (Vec::new(), Vec::new());
    for event in events {
        let (event, replacement) = replay.row(&wtf16::json(event))?;
        taken.push(event);
        replacements.extend(replacement);
    }
    Ok(Replayed { replay, events: taken, replacements })
}

/// A replayed log.
#[derive(Debug)]
pub struct Replayed {
    /// What a session knows of it.
    pub replay: Replay,
    /// Every event, in order.
    pub events: Vec<Event>,
    /// Every replacement, in order.
    pub replacements: Vec<Replacement>,
}

/// The events of a vector.
///
/// # Errors
///
/// When there are none.
pub fn events(events: &Value) -> Result<&[Value]> {
    events.as_array().map(Vec::as_slice).context("no events")
}

/// A header as vectors write it: without its `type`, and without a depth of 0.
///
/// # Errors
///
/// When it is none.
pub fn header(header: &Value) -> Result<dsh_session::Header> {
    let mut header = header.clone();
    let members = header.as_object_mut().context("a header that is no object")?;
    members.insert("type".into(), "session".into());
    members.entry("delegationDepth").or_insert(0.into());
    Ok(dsh_session::Header::parse(&wtf16::json(&header))?)
}

/// A header as vectors have it.
///
/// # Errors
///
/// When its line is no JSON object.
pub fn header_value(header: &dsh_session::Header) -> Result<Value> {
    let mut value = wtf16::value(&header.line())?;
    let members = value.as_object_mut().context("a header that is no object")?;
    members.remove("type");
    if header.delegation_depth == 0 {
        members.remove("delegationDepth");
    }
    Ok(value)
}

/// The id of a vector.
///
/// # Errors
///
/// When it is none.
pub fn session_id(id: &str) -> Result<SessionId> {
    SessionId::from_escaped(&wtf16::spelling(id)).with_context(|| format!("no session's id: {id}"))
}

/// The surface of a log that was replayed, as plugins read it.
pub struct ReplayedSurface {
    /// The session's facts.
    pub header: Header,
    /// The surface.
    pub surface: dsh_session::Surface,
}

impl ReplayedSurface {
    fn at(&self, index: u32) -> Option<&dsh_session::Node> {
        self.surface.nodes().get(index as usize).map(|node| &**node)
    }
}

impl Surface for ReplayedSurface {
    fn header(&self) -> &Header {
        &self.header
    }

    fn captured_through(&self) -> Option<u64> {
        self.surface.captured_through()
    }

    fn length(&self) -> u32 {
        u32::try_from(self.surface.nodes().len()).unwrap_or(u32::MAX)
    }

    fn node(&self, index: u32) -> Option<Node> {
        let node = self.at(index)?;
        let source = node.message.source();
        let plugin = || Source::Plugin(source.plugin.as_deref().unwrap_or_default().to_owned());
        Some(Node {
            seq: node.seq,
            role: match node.role {
                NodeRole::User => Role::User,
                NodeRole::Assistant => Role::Assistant,
                NodeRole::Tool => Role::Tool,
            },
            source: match &*source.kind {
                "user" => Source::User,
                _ if source.is_checkpoint() => Source::Checkpoint,
                "plugin" => plugin(),
                kind => Source::Other(kind.to_owned()),
            },
            text_bytes: node.text_bytes as u64,
        })
    }

    fn text(&self, index: u32) -> Option<Cow<'_, str>> {
        self.at(index).map(|node| Cow::Owned(node.message.text()))
    }
}
