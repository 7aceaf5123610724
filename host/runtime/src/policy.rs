//! What becomes of a turn when a plugin faults, and how that is told.

use serde::{Deserialize, Serialize};

use crate::error::CallError;
use crate::health::Quarantine;

/// What the operator wants when a plugin faults, seam by seam.
///
/// The other seams have no policy: there is nothing to skip to, and whoever called gets the error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct FaultPolicy {
    /// In a chain around a step.
    pub pre_step: OnFault,
    /// In a gate before a tool call.
    pub tool_gate: OnFault,
}

/// What a fault of a link, or of a gate, does.
///
/// A fault is a trap, a limit or a breach of the contract, or that the plugin could not be called at all, as it is
/// in quarantine or has too many calls running. A failure with a code of the plugin's own is none: it is what the
/// plugin has decided, and always ends the turn or denies the call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum OnFault {
    /// Ends the turn; of a gate, denies the call.
    #[default]
    Fail,
    /// Passes the link over, with a notice. It then counts as one that only called `next`; if its `next` had
    /// returned, that decision stands. A gate that is passed over has no say.
    Skip,
}

/// What a person should see of a plugin, besides what the plugin says itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Notice {
    /// A link was passed over.
    #[error("passed over: {0}")]
    Skipped(CallError),
    /// A gate failed, and so the call was denied.
    #[error("denied: {0}")]
    Denied(CallError),
    /// The plugin is not called any more.
    #[error("{plugin} {quarantine}")]
    Quarantined {
        /// The plugin's id.
        plugin: String,
        /// Since which fault.
        quarantine: Quarantine,
    },
}

impl Notice {
    /// The id of the plugin that it is about.
    #[must_use]
    pub fn plugin(&self) -> &str {
        match self {
            Notice::Skipped(error) | Notice::Denied(error) => &error.plugin,
            Notice::Quarantined { plugin, .. } => plugin,
        }
    }
}
