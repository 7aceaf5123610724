//! Why a command did nothing.

/// A refusal. [`code`](Self::code) is stable; the text is for people.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Error {
    /// The settings are not what the manifest says.
    #[error("the settings of sidechat are invalid: {0}")]
    Settings(String),
    /// A command that there is none of.
    #[error("sidechat has no command /{0}; it has /side, /merge, /promote and /sides")]
    Unknown(String),
    /// Arguments that the command does not take.
    #[error("/{command} does not take {argument:?}; it takes {takes}")]
    Arguments {
        /// The command, without the slash.
        command: &'static str,
        /// What was typed.
        argument: String,
        /// What can be typed.
        takes: &'static str,
    },
    /// A session without a completed turn, where the settings want one.
    #[error(
        "no turn was completed here, so there is nothing to open a side session on (the setting refuseWithoutTurn)"
    )]
    NoTurn,
    /// A command for side sessions, given elsewhere.
    #[error("this is no side session; /{0} is for one, which /side opens")]
    NotSide(&'static str),
    /// Nothing to hand back.
    #[error("nothing was said in this side session since it was opened; nothing was added")]
    NothingSaid,
    /// A draft that was never made.
    #[error(
        "there is no draft of a note up to event {through} of this side session, in which something was said up to event {said}; nothing was added (/merge --preview makes a draft)"
    )]
    NoDraft {
        /// What was asked for.
        through: u64,
        /// The last event that there can be a note about.
        said: u64,
    },
    /// A handback without text.
    #[error("the note is empty; nothing was added")]
    Empty,
    /// A side session whose parent does not exist any more.
    #[error("the session that this one was opened on is gone; nothing was added")]
    ParentGone,
    /// There is no note to withdraw, or to fork from before.
    #[error("no note of this side session stands in the session that it was opened on")]
    NothingMerged,
    /// A note that a model has read.
    #[error(
        "the note was sent to the model already, so it stays; /merge --fork opens a session from before it"
    )]
    Sent,
}

impl Error {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Settings(_) => "SIDECHAT_INVALID_CONFIG",
            Self::Unknown(_) => "SIDECHAT_UNKNOWN_COMMAND",
            Self::Arguments { .. } => "SIDECHAT_INVALID_ARGUMENTS",
            Self::NoTurn => "SIDECHAT_NO_TURN",
            Self::NotSide(_) => "SIDECHAT_NOT_A_SIDE_SESSION",
            Self::NothingSaid => "SIDECHAT_NOTHING_SAID",
            Self::NoDraft { .. } => "SIDECHAT_NO_DRAFT",
            Self::Empty => "SIDECHAT_EMPTY_NOTE",
            Self::ParentGone => "SIDECHAT_PARENT_GONE",
            Self::NothingMerged => "SIDECHAT_NOTHING_MERGED",
            Self::Sent => "SIDECHAT_NOTE_SENT",
        }
    }
}
