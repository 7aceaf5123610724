//! `agent/pre-step`: whether the loop enters a step, and with which messages.

use async_trait::async_trait;
use thiserror::Error;

use dsh_session::{Json, Message, SessionId};

use crate::Cancel;

/// Decides about the batch that was claimed for a step (contracts §5.2).
#[async_trait]
pub trait PreStep: Send + Sync {
    /// Decides. The future is dropped when the turn is cancelled.
    ///
    /// `batch` is what the step would enter with: what waited for the next step, then, in a turn's first step, one
    /// prompt. It is empty where a step only carries tool results to the model.
    ///
    /// # Errors
    /// A failure ends the turn before any message of the batch is logged; the turn's end keeps its code.
    async fn pre_step(&self, step: StepInfo, batch: Vec<Message>) -> Result<Decision, Failure> {
        let _ = step;
        Ok(Decision::Enter(batch))
    }
}

/// Enters every step as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Accept;

impl PreStep for Accept {}

/// Which step is about to begin.
#[derive(Clone, Debug)]
pub struct StepInfo {
    /// Whose it is.
    pub session: SessionId,
    /// The turn, from 1 over the whole log.
    pub turn: u64,
    /// The step in it, from 1.
    pub step: u64,
    /// For work that outlives the future.
    pub cancel: Cancel,
}

/// What becomes of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// The turn ends `blocked`; the batch is gone and never enters history.
    Reject {
        /// For people.
        reason: Option<String>,
        /// For programs.
        details: Option<Json>,
        /// The plugin that rejected it.
        by: Option<String>,
    },
    /// The step opens with these messages, each logged in this order.
    Enter(Vec<Message>),
}

/// Why a plugin could not decide.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{message}")]
pub struct Failure {
    /// The plugin's own.
    pub code: String,
    /// For people.
    pub message: String,
    /// For programs.
    pub details: Option<Json>,
    /// The plugin.
    pub by: Option<String>,
}

impl Failure {
    /// A failure of which only this is known.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), details: None, by: None }
    }
}
