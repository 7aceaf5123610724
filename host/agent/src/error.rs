//! What can go wrong around a turn. What goes wrong in it is its end.

use thiserror::Error;

use dsh_session::{EventError, MessageError, WriteError};

use crate::InboxError;

/// Why the log did not take an event.
#[derive(Debug, Error)]
pub enum LogError {
    /// It has no JSON form.
    #[error("an event cannot be written as JSON")]
    Json(#[from] serde_json::Error),
    /// It holds a message that is none.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// The log refuses it.
    #[error("the log refuses an event")]
    Append(#[from] EventError),
    /// It is kept in memory, and not on disk yet; the next commit tries again.
    #[error("the log cannot be written")]
    Commit(#[from] WriteError),
}

/// Why an agent did not take what it was given.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AgentError {
    /// It was closed.
    #[error("the agent was closed")]
    Disposed,
    /// A message that is to be recorded once does not say under which key.
    #[error("the source of the message {0:?} names no plugin, or no key")]
    Keyless(String),
    /// See [`InboxError`]; nothing changed.
    #[error(transparent)]
    Inbox(#[from] InboxError),
    /// It has not the shape of a message.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// The change stands in memory, where it was taken at all; it may not be on disk.
    #[error(transparent)]
    Log(#[from] LogError),
}
