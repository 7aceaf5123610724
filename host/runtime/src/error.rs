//! Why a call did not return what was asked for, in both directions across the boundary.

use std::fmt;

use crate::health::Quarantine;
use crate::limits::{Breach, Limit};
use crate::state::State;

/// A failure with a code, as it crosses the boundary in both directions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Failure {
    /// Stable; documented by the plugin or host that returns it.
    pub code: String,
    /// For people.
    pub message: String,
    /// A JSON object for programs.
    pub details: Option<String>,
}

impl Failure {
    /// A failure without details.
    #[must_use]
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Failure {
        Failure { code: code.into(), message: message.into(), details: None }
    }
}

/// A call of a plugin did not return what was asked for. Its instance is gone; the next call works.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{plugin}: `{export}` {cause}")]
pub struct CallError {
    /// The plugin's id. In a chain, the link that failed first.
    pub plugin: String,
    /// The exported function.
    pub export: &'static str,
    /// What happened.
    pub cause: Cause,
}

/// Why a call did not return what was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The plugin said no, with a code of its own. A person's bad input, most often.
    #[error("failed with {0}")]
    Failed(Failure),
    /// The guest died.
    #[error("trapped: {0}")]
    Trap(Trap),
    /// The guest ran into a limit.
    #[error("was stopped: {0}")]
    Limit(Breach),
    /// The guest broke the contract, and what it returned was refused.
    #[error("was refused: {0}")]
    Refused(Refusal),
    /// It was not called, after faults in a row.
    #[error("was not called: it {0}")]
    Quarantined(Quarantine),
    /// The plugin has no such export.
    #[error("is not exported by it")]
    NotExported,
}

/// How a guest died.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trap {
    /// What the engine said.
    pub reason: String,
    /// The guest's last log entry of level error in this call: a Rust plugin's panic.
    pub last_words: Option<String>,
    /// The guest's frames, innermost first, where the component still has names.
    pub backtrace: Option<String>,
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)?;
        match &self.last_words {
            Some(words) => write!(f, " (its last words: {words})"),
            None => Ok(()),
        }
    }
}

/// Which sentence of the contract a guest broke.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A user message came twice.
    #[error("the user message {id:?} is there twice")]
    Duplicated {
        /// The message's id.
        id: String,
    },
    /// A user message that is not one of its batch.
    #[error("the user message {id:?} is not one of its batch")]
    Foreign {
        /// The message's id.
        id: String,
    },
    /// A user message was left out without the grant `rewrite-user`.
    #[error("the user message {id:?} is left out (that takes the grant `rewrite-user`)")]
    LeftOut {
        /// The message's id.
        id: String,
    },
    /// A user message is not as the rest of the chain returned it, without the grant `rewrite-user`.
    #[error(
        "the user message {id:?} is not as `next` returned it (that takes the grant `rewrite-user`)"
    )]
    PutBack {
        /// The message's id.
        id: String,
    },
    /// The rest of the chain was called outside a call of `pre-step`.
    #[error("`next` was called where there is no step")]
    NoStep,
    /// An index at or past a surface's length.
    #[error("asked for node {index} of a surface of {length}")]
    NoSuchNode {
        /// The index.
        index: u32,
        /// The surface's length.
        length: u32,
    },
    /// A command opens a session whose agent it never held.
    #[error("it opens the session \"{session}\", whose agent it has not held")]
    NotHeld {
        /// The session's id.
        session: String,
    },
    /// A command sends what the person has not typed.
    #[error("it sends as the person's own what they have not typed")]
    NotTyped,
    /// A command's name that cannot be typed.
    #[error("{name:?} cannot be a command's name (letters, digits and hyphens can)")]
    CommandName {
        /// The name as given.
        name: String,
    },
    /// The facts of a snapshot are not ones that the plugin's context may carry.
    #[error("the snapshot's `facts`: {reason}")]
    Facts {
        /// What is wrong with them.
        reason: String,
    },
    /// A block that is no text is not a JSON object.
    #[error("a block is not a JSON object: {reason}")]
    Block {
        /// What is wrong with it.
        reason: String,
    },
    /// `details` of a failure or a rejection is not a JSON object.
    #[error("`details` is not a JSON object: {reason}")]
    Details {
        /// What is wrong with it.
        reason: String,
    },
}

impl Cause {
    /// Whether the guest did what no guest may: it died, ran into a limit or broke the contract.
    ///
    /// A failure of its own is none, and neither is that it could not be called.
    #[must_use]
    pub fn is_fault(&self) -> bool {
        match self {
            Cause::Trap(_) | Cause::Refused(_) => true,
            Cause::Limit(breach) => !matches!(breach.limit, Limit::ConcurrentCalls | Limit::Slots),
            Cause::Failed(_) | Cause::Quarantined(_) | Cause::NotExported => false,
        }
    }

    /// Whether a link that ended so is passed over where the operator wants that.
    pub(crate) fn can_be_skipped(&self) -> bool {
        !matches!(self, Cause::Failed(_) | Cause::NotExported)
    }

    /// What stopped the guest in `state`, from what the engine reports.
    pub(crate) fn of(err: &wasmtime::Error, state: &State) -> Cause {
        if let Some(breach) = err.downcast_ref::<Breach>() {
            return Cause::Limit(breach.clone());
        }
        if let Some(refusal) = err.downcast_ref::<Refusal>() {
            return Cause::Refused(refusal.clone());
        }
        if err.is::<wasmtime::PoolConcurrencyLimitError>() {
            let allowed = u64::from(state.bounds.calls);
            return Cause::Limit(Breach { limit: Limit::Slots, figure: None, allowed });
        }
        let trap = err.downcast_ref::<wasmtime::Trap>();
        let reason = trap.map_or_else(|| err.root_cause().to_string(), ToString::to_string);
        if trap == Some(&wasmtime::Trap::StackOverflow) {
            let allowed = state.bounds.stack_bytes as u64;
            return Cause::Limit(Breach { limit: Limit::Stack, figure: None, allowed });
        }
        // The engine has no type for it: the wording is held by the test `output_flood`.
        if reason.contains("fuel allocated for hostcalls has been exhausted") {
            let allowed = state.limits.output_bytes;
            return Cause::Limit(Breach { limit: Limit::Output, figure: None, allowed });
        }
        let backtrace = err.downcast_ref::<wasmtime::WasmBacktrace>().map(ToString::to_string);
        Cause::Trap(Trap { reason, last_words: state.last_words.clone(), backtrace })
    }
}

impl CallError {
    /// As the link above sees it. A plugin's own failure keeps its code.
    pub(crate) fn to_failure(&self) -> Failure {
        match &self.cause {
            Cause::Failed(failure) => failure.clone(),
            Cause::Limit(_) => Failure::new("limit", self.to_string()),
            Cause::Trap(_) | Cause::Refused(_) | Cause::Quarantined(_) | Cause::NotExported => {
                Failure::new("trap", self.to_string())
            }
        }
    }
}
