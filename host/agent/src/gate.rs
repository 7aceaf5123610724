//! Gates: whether a tool call may run.

use async_trait::async_trait;

use crate::{Call, Failure};

/// Allows or denies a tool call before it runs (contracts §5.3, `tools/pre-execute`).
#[async_trait]
pub trait ToolGate: Send + Sync {
    /// Looks at `call`. Of several gates, deny beats ask and ask beats allow.
    ///
    /// # Errors
    /// A gate that fails denies.
    async fn check(&self, call: &Call) -> Result<Verdict, Failure>;
}

/// What a gate says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may run.
    Allow,
    /// It may not; the model reads why.
    Deny(String),
    /// The person decides; the text says why they are asked.
    Ask(Option<String>),
}

/// Asks the person. Where an agent has none, asking denies.
#[async_trait]
pub trait Approver: Send + Sync {
    /// Shows `call`, and why it is asked about.
    async fn approve(&self, call: &Call, reason: Option<&str>) -> Approval;
}

/// What the person says, as `approval/decided` keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approval {
    /// Run it, this once.
    AllowedOnce,
    /// Do not.
    Rejected,
    /// The question was taken back.
    Cancelled,
    /// Nobody was there.
    Unavailable,
}

impl Approval {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::AllowedOnce => "allowed-once",
            Self::Rejected => "rejected",
            Self::Cancelled => "cancelled",
            Self::Unavailable => "unavailable",
        }
    }
}
