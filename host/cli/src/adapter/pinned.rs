//! The plugins of a turn: those that were current when it began.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use dsh_agent::{Decision, Failure, PreStep, StepInfo};
use dsh_plugin_host::Services;
use dsh_session::{Message, SessionId};

use super::Sandbox;
use crate::live::Plugins;

/// Passes each step through the chain that was current when its turn began.
pub(crate) struct Pinned {
    live: Arc<Plugins>,
    services: Services,
    cwd: Option<String>,
    latest: Mutex<Option<(SessionId, u64)>>,
}

impl Pinned {
    /// For a session with this working directory.
    pub(crate) fn new(live: Arc<Plugins>, services: Services, cwd: Option<String>) -> Self {
        Self { live, services, cwd, latest: Mutex::default() }
    }
}

#[async_trait]
impl PreStep for Pinned {
    async fn pre_step(&self, step: StepInfo, batch: Vec<Message>) -> Result<Decision, Failure> {
        let chain = self.live.of_turn(&step.session, step.turn).chain().clone();
        let latest = Some((step.session.clone(), step.turn));
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = latest;
        let sandbox = Sandbox { chain, services: self.services.clone(), cwd: self.cwd.clone() };
        sandbox.pre_step(step, batch).await
    }
}

impl Drop for Pinned {
    /// Its agent is gone; a later one of the session may be in another turn already.
    fn drop(&mut self) {
        if let Some((session, turn)) =
            &*self.latest.get_mut().unwrap_or_else(PoisonError::into_inner)
        {
            self.live.let_go_of(session, *turn);
        }
    }
}
