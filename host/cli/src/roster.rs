//! The agents that live in one process, side by side.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dsh_agent::{Agent, WeakAgent};
use dsh_session::SessionId;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

/// Who lives. An agent is not kept alive by standing here.
#[derive(Clone, Default)]
pub(crate) struct Roster(Arc<Mutex<Members>>);

#[derive(Default)]
struct Members {
    agents: HashMap<SessionId, WeakAgent>,
    /// What is done one at a time on a session.
    busy: HashMap<SessionId, Arc<AsyncMutex<()>>>,
}

impl Roster {
    pub(crate) fn add(&self, agent: &Agent) {
        let mut members = self.members();
        members.agents.retain(|_, agent| agent.upgrade().is_some());
        members.busy.retain(|_, busy| Arc::strong_count(busy) > 1);
        members.agents.insert(agent.live().header().id.clone(), agent.downgrade());
    }

    pub(crate) fn get(&self, id: &SessionId) -> Option<Agent> {
        self.members().agents.get(id).and_then(WeakAgent::upgrade)
    }

    /// Waits until nothing else that must be alone is done on this session.
    pub(crate) async fn alone(&self, id: &SessionId) -> OwnedMutexGuard<()> {
        let busy = self.members().busy.entry(id.clone()).or_default().clone();
        busy.lock_owned().await
    }

    fn members(&self) -> MutexGuard<'_, Members> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
