//! A request in parts: how many bytes of it came from whom.

use std::borrow::Cow;

use dsh_session::{Json, Message};
use serde::Serialize;

use crate::show;

/// The request of one step. `bytes` is the sum of the header's and of every message's.
///
/// All are bytes of the JSON that `show --request --json` writes, without the brackets and commas between the parts.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request {
    pub(super) step: u64,
    pub(super) bytes: usize,
    /// The system prompt, the tools and the model, which the host put together.
    pub(super) header_bytes: usize,
    /// The messages by whom they came from, in the order in which each first speaks.
    pub(super) shares: Vec<Share>,
    pub(super) messages: Vec<Part>,
}

/// What came from one of them.
#[derive(Serialize)]
pub(super) struct Share {
    #[serde(flatten)]
    pub(super) from: From,
    pub(super) bytes: usize,
    pub(super) messages: usize,
}

/// One message of a request.
#[derive(Serialize)]
pub(super) struct Part {
    /// The event that it is.
    pub(super) seq: u64,
    pub(super) message: String,
    #[serde(flatten)]
    pub(super) from: From,
    pub(super) bytes: usize,
    /// Whether it was there before the turn.
    pub(super) earlier: bool,
}

/// Whom a message came from, in the words of its source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct From {
    /// `user`, `model`, `tool`, `plugin`, or a kind of a plugin's own.
    pub(super) kind: String,
    /// The plugin, where the source names one.
    pub(super) plugin: Option<String>,
    /// The plugins that changed it on its way.
    pub(super) changed_by: Vec<String>,
    pub(super) checkpoint: bool,
}

impl Request {
    pub(super) fn new(step: u64, header: Option<&Json>, messages: Vec<Part>) -> Self {
        let header_bytes = header.map_or(0, |header| header.as_str().len());
        let bytes = header_bytes + messages.iter().map(|part| part.bytes).sum::<usize>();
        let mut shares: Vec<Share> = Vec::new();
        for part in &messages {
            match shares.iter_mut().find(|share| share.from == part.from) {
                Some(share) => {
                    share.bytes += part.bytes;
                    share.messages += 1;
                }
                None => {
                    shares.push(Share { from: part.from.clone(), bytes: part.bytes, messages: 1 });
                }
            }
        }
        Self { step, bytes, header_bytes, shares, messages }
    }
}

impl Part {
    pub(super) fn of(seq: u64, message: &Message, earlier: bool) -> Self {
        let source = message.source();
        let from = From {
            kind: source.kind.to_string(),
            plugin: source.plugin.as_deref().map(str::to_owned),
            changed_by: show::rewriters(message),
            checkpoint: source.is_checkpoint(),
        };
        let bytes = message.json().as_str().len();
        Self { seq, message: message.id().to_owned(), from, bytes, earlier }
    }

    /// The plugin that a message came from; of one of a plugin's own kind the kind, which is all that the log names.
    pub(super) fn plugin(message: &Message) -> Option<&str> {
        let source = message.source();
        let name = source.plugin.as_deref().unwrap_or(&source.kind);
        match &*source.kind {
            "user" | "model" | "tool" => None,
            // A name that no plugin can have is the host's own.
            _ if source.is_checkpoint() || name.starts_with("dsh-wasm:") => None,
            _ => Some(name),
        }
    }
}

impl From {
    /// For people.
    pub(super) fn words(&self) -> Cow<'_, str> {
        if self.checkpoint {
            return "a summary".into();
        }
        let who = match &*self.kind {
            "user" => "you",
            "model" => "the model",
            "tool" => "tools",
            kind => match self.plugin.as_deref().unwrap_or(kind) {
                "dsh-wasm:instructions" => "instruction files",
                name => name,
            },
        };
        if self.changed_by.is_empty() {
            return who.into();
        }
        format!("{who}, changed by {}", self.changed_by.join(", ")).into()
    }
}
