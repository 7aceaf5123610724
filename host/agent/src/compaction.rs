//! Compaction: the older part of a session gives way to a summary of it (contracts §3).
//!
//! The model itself writes the summary, asked with the same beginning as the turns before, so that a provider's cache
//! still fits. One `user/message`, the checkpoint, then stands on the surface where the older nodes stood; the log
//! keeps them all. A [span](span) never cuts a tool call from its result.
//!
//! It happens when a person asks ([`Agent::compact`](crate::Agent::compact)), before a step whose request would come
//! near the context window, and once in a step whose request the provider found too long. An attempt that fails
//! changes nothing but the log, which says why.

mod attempt;
mod automatic;
mod events;
mod gauge;
mod manual;
mod span;
mod summary;

use thiserror::Error;

use crate::{Cause, LogError};

pub(crate) use automatic::is_too_long;
pub(crate) use gauge::{Gauge, Reading};

/// When a session is compacted by itself, and what stays of it word for word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compaction {
    automatic: bool,
    threshold: f64,
    retain: f64,
    max_tokens: u64,
}

/// Why compaction cannot be set so.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum CompactionError {
    /// A share of the window lies outside of it.
    #[error("{0} is no share of the context window: it must be 0 at least, and 1 at most")]
    Share(f64),
    /// What stays would be as much as what is too much, so that one compaction would follow the other for ever.
    #[error("the share that stays, {retain}, must be smaller than the threshold, {threshold}")]
    Retain {
        /// The share that stays.
        retain: f64,
        /// The share that is too much.
        threshold: f64,
    },
    /// A summary needs room.
    #[error("a summary must be allowed at least 1 token")]
    MaxTokens,
}

impl Compaction {
    /// Compacts before a request that would fill the share `threshold` of the context window, and keeps the newest
    /// nodes that fit into the share `retain`; a summary has `max_tokens` tokens at most.
    ///
    /// # Errors
    /// When a share is not from 0 to 1, what stays is not less than the threshold, or there is no room for a summary.
    pub fn new(threshold: f64, retain: f64, max_tokens: u64) -> Result<Self, CompactionError> {
        for share in [threshold, retain] {
            if !(0.0..=1.0).contains(&share) {
                return Err(CompactionError::Share(share));
            }
        }
        if retain >= threshold {
            return Err(CompactionError::Retain { retain, threshold });
        }
        if max_tokens == 0 {
            return Err(CompactionError::MaxTokens);
        }
        Ok(Self { automatic: true, threshold, retain, max_tokens })
    }

    /// The same, and nothing happens by itself.
    #[must_use]
    pub fn only_when_asked(self) -> Self {
        Self { automatic: false, ..self }
    }

    /// Whether a request of this many tokens is too near to the window.
    fn is_pressed(&self, tokens: u64, window: u64) -> bool {
        tokens >= share(window, self.threshold)
    }

    /// How many tokens stay word for word.
    fn retained(&self, window: u64) -> u64 {
        share(window, self.retain)
    }
}

/// Those of the real client's standard composition (contracts §3).
impl Default for Compaction {
    fn default() -> Self {
        Self { automatic: true, threshold: 0.8, retain: 0.16, max_tokens: 8192 }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a share of a count of tokens is that count at most, and needs no more digits than an f64 has"
)]
fn share(window: u64, share: f64) -> u64 {
    (window as f64 * share) as u64
}

/// What a compaction did. Tokens are estimates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// How many nodes of the surface gave way.
    pub nodes: usize,
    /// How many tokens they had.
    pub shadowed: u64,
    /// How many tokens all messages had before.
    pub before: u64,
    /// How many they have now, the summary included.
    pub after: u64,
}

/// Why a compaction did not happen. The surface is as it was, unless the log is to blame.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CompactError {
    /// Turns or another compaction run; nothing was logged.
    #[error("the session is busy: wait until its turn is over")]
    Busy,
    /// The agent was closed.
    #[error("the agent was closed")]
    Disposed,
    /// The surface holds a tool's result without its call, so that nobody knows where it may be cut; nothing was
    /// logged.
    #[error("the session holds a tool's result without its call, and cannot be cut safely")]
    Unpaired,
    /// Somebody cancelled it.
    #[error("the compaction was cancelled")]
    Cancelled(Cause),
    /// The model gave no summary that could be used.
    #[error("the model gave no summary: {0}")]
    Summary(String),
    /// What was to be replaced changed while the model wrote.
    #[error("the session changed while the summary was written")]
    Changed,
    /// The log does not take it; what it took before stands, in memory at least.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The task that did it is gone, because its runtime is, or because the loop itself panicked.
    #[error("the compaction was given up")]
    GivenUp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_is_less_than_what_is_too_much() {
        let error = Compaction::new(0.5, 0.5, 1).unwrap_err();
        assert_eq!(error, CompactionError::Retain { retain: 0.5, threshold: 0.5 });
        for share in [-0.1, 1.1, f64::NAN] {
            assert!(matches!(Compaction::new(share, 0.1, 1), Err(CompactionError::Share(_))));
            assert!(matches!(Compaction::new(0.9, share, 1), Err(CompactionError::Share(_))));
        }
        assert!(Compaction::new(0.9, 0.0, 1).is_ok());
        assert_eq!(Compaction::new(0.9, 0.1, 0), Err(CompactionError::MaxTokens));
    }

    #[test]
    fn pressure_begins_at_the_threshold() {
        let compaction = Compaction::default();
        assert!(!compaction.is_pressed(799, 1000));
        assert!(compaction.is_pressed(800, 1000));
        assert_eq!(compaction.retained(1000), 160);
    }
}
