//! What the embedder lends to a call.

use std::fmt;
use std::sync::Arc;

use crate::agents::Agents;
use crate::log::Log;
use crate::session::Sessions;

/// What the embedder lends to a call. Cheap to clone; every call can have its own.
#[derive(Clone)]
#[non_exhaustive]
pub struct Services {
    /// Answers plugins that were granted `dsh:session/query`.
    pub sessions: Arc<dyn Sessions>,
    /// Lends agents to the commands of plugins that were granted `dsh:agent/agents`; none where there are none.
    pub agents: Option<Arc<dyn Agents>>,
    /// Takes what plugins log.
    pub log: Arc<dyn Log>,
    /// Makes the id of a new context message.
    pub new_message_id: Arc<dyn Fn() -> String + Send + Sync>,
}

impl Services {
    /// Lends these to a call, and no agents.
    #[must_use]
    pub fn new(
        sessions: Arc<dyn Sessions>,
        log: Arc<dyn Log>,
        new_message_id: Arc<dyn Fn() -> String + Send + Sync>,
    ) -> Services {
        Services { sessions, agents: None, log, new_message_id }
    }

    /// Lends agents too.
    #[must_use]
    pub fn with_agents(self, agents: Arc<dyn Agents>) -> Services {
        Services { agents: Some(agents), ..self }
    }
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Services").finish_non_exhaustive()
    }
}
