//! The system prompt that a session was born with, where it is not the one that every session has.
//!
//! Nothing else in a log says it before the first request, and a session that is opened again must not get another one.

use dsh_plugin_host::Failure;
use dsh_session::{Event, Fold, Header, Json, Live, Message, Source};

use crate::harness::SYSTEM;

/// The member of a source that keeps it.
const MEMBER: &str = "system";

/// The first message of a session, with the system prompt beside its source where that is a prompt of its own.
///
/// # Errors
/// Never for a message; the type is that of writing JSON.
pub(crate) fn kept(first: &Message, system: Option<&str>) -> Result<Message, Failure> {
    let Some(system) = system.filter(|system| *system != SYSTEM) else { return Ok(first.clone()) };
    let broken = |reason: String| Failure::new("unavailable", reason);
    let json = |error: serde_json::Error| broken(error.to_string());
    let text = Json::of(system).map_err(json)?;
    let source = first.source().facts.object().map_err(json)?.with(MEMBER, &text);
    let message = first.json().object().map_err(json)?.with("source", &source);
    Message::parse(message).map_err(|error| broken(error.to_string()))
}

/// The system prompt that this session was born with; none where it is that of every session.
pub(crate) fn of(live: &Live) -> Option<String> {
    // The first of its own events ends the seed.
    let first = live.header().seed_length? + 1;
    let note = live.notes().into_iter().find(|note| note.seq == Some(first))?;
    said(&note.source)
}

/// The system prompt that a session was born with, told by its log.
pub(crate) struct Born {
    first: Option<u64>,
    system: Option<String>,
}

impl Born {
    /// For the session with this header; fold its whole log.
    pub(crate) fn new(header: &Header) -> Self {
        Self { first: header.seed_length.map(|length| length + 1), system: None }
    }

    /// As [`of`].
    pub(crate) fn system(self) -> Option<String> {
        self.system
    }
}

impl Fold for Born {
    fn event(&mut self, event: &Event) {
        if Some(event.seq) == self.first {
            let message = Message::parse(event.data.clone()).ok();
            self.system = message.and_then(|message| said(message.source()));
        }
    }

    fn wants_chunks(&self) -> bool {
        false
    }
}

fn said(source: &Source) -> Option<String> {
    if &*source.kind != "plugin" {
        return None;
    }
    source.facts.object().ok()?.read(MEMBER)
}
