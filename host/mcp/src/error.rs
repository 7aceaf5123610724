//! Why a server gives no tools.

use std::time::Duration;

use thiserror::Error;

/// Why a server could not be started, in words that say what to do.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum StartError {
    /// What is set about it cannot be.
    #[error("{what}")]
    Setting {
        /// What, and why.
        what: String,
    },
    /// Its program cannot be run.
    #[error("`{program}` cannot be started: {reason}")]
    Program {
        /// The program.
        program: String,
        /// What the system says.
        reason: String,
    },
    /// It was not ready in time.
    #[error("it did not say within {} seconds which tools it has; {last_words}", after.as_secs_f32())]
    Slow {
        /// The time it had.
        after: Duration,
        /// What it wrote to standard error.
        last_words: String,
    },
    /// It does not speak as it should, or ended.
    #[error("{reason}; {last_words}")]
    Broken {
        /// What went wrong.
        reason: String,
        /// What it wrote to standard error.
        last_words: String,
    },
    /// It died too often.
    #[error("it died {deaths} times in a row and is not started again; {last_words}")]
    Deaths {
        /// How often.
        deaths: u32,
        /// What it wrote to standard error the last time.
        last_words: String,
    },
}
