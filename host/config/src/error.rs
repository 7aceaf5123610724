//! What can be wrong with settings; every sentence begins with the place.

use std::io;
use std::path::PathBuf;

use crate::Origin;

/// Why settings cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file is there and cannot be read.
    #[error("{}: the settings cannot be read: {source}", file.display())]
    Unreadable {
        /// Which.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Something of this name is there, and it is no ordinary file of a sensible size.
    #[error("{}: no file of settings: {why}", file.display())]
    NoFile {
        /// Which.
        file: PathBuf,
        /// What it is instead.
        why: &'static str,
    },
    /// The text is not TOML.
    #[error("{origin}: not TOML: {reason}")]
    Syntax {
        /// Where the parser stopped.
        origin: Origin,
        /// What it says.
        reason: String,
    },
    /// There is no such key.
    #[error("{origin}: there is no key `{key}`{}", did_you_mean(nearest.as_deref()))]
    Unknown {
        /// Where it stands.
        origin: Origin,
        /// The key as it was written, from the top.
        key: String,
        /// The known key that looks most like it.
        nearest: Option<String>,
    },
    /// The value is none for this key.
    #[error("{origin}: `{key}` must be {expected}, not {found}")]
    Value {
        /// Where it stands.
        origin: Origin,
        /// The key.
        key: String,
        /// What it can be.
        expected: String,
        /// What is there; of a secret, only its kind.
        found: String,
    },
    /// Two keys that cannot stand together, or one that cannot stand alone.
    #[error("{origin}: {why}")]
    Unfit {
        /// Where one of them stands.
        origin: Origin,
        /// What does not fit, and what to do.
        why: String,
    },
}

fn did_you_mean(nearest: Option<&str>) -> String {
    match nearest {
        Some(nearest) => format!("; did you mean `{nearest}`?"),
        None => "; `dsh-wasm config --keys` lists those that there are".to_owned(),
    }
}
