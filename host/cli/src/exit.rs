//! Exit codes, as `--help` lists them.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done; of a turn: completed.
    Done,
    /// It could not be done.
    Failed,
    /// The turn failed: a plugin refused the message, or the model failed.
    TurnFailed,
    /// The turn was blocked: a plugin let no step begin.
    TurnBlocked,
    /// The turn ended at the model's token limit.
    MaxTokens,
    /// The turn completed without a call that needed an answer, which nobody could give.
    Unanswered,
    /// The turn was cancelled.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::TurnFailed => 3,
            Exit::TurnBlocked => 4,
            Exit::MaxTokens => 5,
            Exit::Unanswered => 6,
            Exit::Interrupted => 130,
        })
    }
}
