//! Why a message with references was refused.

/// A refusal. [`code`](Self::code) is stable; the text is for people.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Error {
    /// The settings are outside their bounds.
    #[error("the settings of session-reference are invalid: {0}")]
    Settings(String),
    /// A mention whose URI names no session.
    #[error("`{uri}` names no session; pick the session again or remove the mention")]
    Mention {
        /// The URI as it was written.
        uri: String,
    },
    /// A limit for candidates that is none.
    #[error("a limit must be at least 1")]
    Limit,
    /// A session that cites itself.
    #[error("a session cannot reference itself; remove the mention of this session")]
    Itself,
    /// More sessions in one message than allowed.
    #[error(
        "a message can reference at most {most} sessions, and this one references {found}; remove some of the mentions"
    )]
    TooMany {
        /// Distinct sessions in the message.
        found: usize,
        /// How many are allowed.
        most: u64,
    },
    /// A session that could not be read.
    #[error(
        "failed to read referenced session `{label}`: {cause}; pick the session again or remove the mention"
    )]
    Read {
        /// What the message calls it.
        label: String,
        /// What the host said.
        cause: String,
    },
    /// A snapshot that does not fit, however short.
    #[error(
        "session `{label}` does not fit into {budget} bytes; raise maxReferenceBytes or remove the mention"
    )]
    Budget {
        /// What the message calls it.
        label: String,
        /// The budget in bytes of JSON.
        budget: u64,
    },
}

impl Error {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Settings(_) => "SESSION_REFERENCE_INVALID_CONFIG",
            Self::Mention { .. } | Self::Limit => "SESSION_REFERENCE_INVALID_REFERENCE",
            Self::Itself => "SESSION_REFERENCE_SELF_REFERENCE",
            Self::TooMany { .. } => "SESSION_REFERENCE_TOO_MANY",
            Self::Read { .. } => "SESSION_REFERENCE_READ_FAILED",
            Self::Budget { .. } => "SESSION_REFERENCE_BUDGET_EXCEEDED",
        }
    }
}
