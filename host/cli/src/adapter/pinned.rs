//! The plugins of a turn: those that were current when it began.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use dsh_agent::{Decision, Failure, PreStep, StepInfo};
use dsh_plugin_host::{Generation, Services};
use dsh_session::Message;

use super::Sandbox;
use crate::live::Plugins;

/// Passes each step through the chain that was current when its turn began.
pub(crate) struct Pinned {
    live: Arc<Plugins>,
    services: Services,
    cwd: Option<String>,
    turn: Mutex<Option<(u64, Arc<Generation>)>>,
}

impl Pinned {
    /// For a session with this working directory.
    pub(crate) fn new(live: Arc<Plugins>, services: Services, cwd: Option<String>) -> Self {
        Self { live, services, cwd, turn: Mutex::default() }
    }

    /// The plugins of this turn.
    fn generation(&self, turn: u64) -> Arc<Generation> {
        let mut pinned = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        match &*pinned {
            Some((of, generation)) if *of == turn => generation.clone(),
            _ => {
                let generation = self.live.current();
                *pinned = Some((turn, generation.clone()));
                generation
            }
        }
    }
}

#[async_trait]
impl PreStep for Pinned {
    async fn pre_step(&self, step: StepInfo, batch: Vec<Message>) -> Result<Decision, Failure> {
        let chain = self.generation(step.turn).chain().clone();
        let sandbox = Sandbox { chain, services: self.services.clone(), cwd: self.cwd.clone() };
        sandbox.pre_step(step, batch).await
    }
}
