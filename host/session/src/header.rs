//! The first line of a log: what never changes about a session.

use crate::{Json, SessionId};

/// A session's immutable facts (contracts §1.1).
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// Who it is.
    pub id: SessionId,
    /// Milliseconds since the Unix epoch.
    pub created_at: u64,
    /// Absolute working directory.
    pub cwd: Option<String>,
    /// The session it was forked or delegated from.
    pub parent: Option<SessionId>,
    /// How many leading events were inherited by seeding.
    pub seed_length: Option<u64>,
    /// Whether a subagent runs it (`origin: "subagent"`); a navigation hint only.
    pub subagent: bool,
    /// How deep it lies in a tree of delegations.
    pub delegation_depth: u64,
    /// The composition that its agent was created with.
    pub agent_preset: Option<String>,
    /// Members that this version does not know, kept for whoever asks.
    pub extra: Option<Json>,
}

impl Header {
    /// A session of its own, without lineage.
    pub fn new(id: SessionId, created_at: u64, cwd: Option<String>) -> Self {
        Self {
            id,
            created_at,
            cwd,
            parent: None,
            seed_length: None,
            subagent: false,
            delegation_depth: 0,
            agent_preset: None,
            extra: None,
        }
    }
}
