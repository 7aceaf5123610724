//! Why a file cannot be read or changed.

use std::io;

use dsh_agent::ToolError;
use thiserror::Error;

/// Why a file cannot be read or changed, in words that tell the model what to do instead.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// It lies outside of every folder that tools may reach.
    #[error(
        "{path} lies outside of the working directory; the user can allow its folder with --add-dir"
    )]
    Outside {
        /// As it was said.
        path: String,
    },
    /// There is nothing.
    #[error("{path} does not exist")]
    Missing {
        /// As it was said.
        path: String,
    },
    /// A path goes through something that is no folder.
    #[error("{path} is no path: {at} is not a folder")]
    NotFolder {
        /// As it was said.
        path: String,
        /// The part that is no folder.
        at: String,
    },
    /// It is a folder.
    #[error("{path} is a folder")]
    Folder {
        /// As it was said.
        path: String,
    },
    /// It is a device, a pipe or a socket.
    #[error("{path} is not a regular file")]
    Special {
        /// As it was said.
        path: String,
    },
    /// Links lead to links without an end.
    #[error("{path} leads through too many symbolic links")]
    Links {
        /// As it was said.
        path: String,
    },
    /// The path itself is none.
    #[error("{path:?} is no path: {why}")]
    Path {
        /// As it was said.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// It holds bytes that no text has.
    #[error("{path} is a binary file ({bytes} bytes)")]
    Binary {
        /// As it was said.
        path: String,
        /// Its size.
        bytes: u64,
    },
    /// It is text in another encoding.
    #[error(
        "{path} is not UTF-8 (byte {at} is none), so it would not survive an edit; change it with a command that knows its encoding"
    )]
    Encoding {
        /// As it was said.
        path: String,
        /// Where, from 0.
        at: usize,
    },
    /// It is larger than what is changed whole.
    #[error("{path} has {bytes} bytes, and files beyond {most} are not changed by this tool")]
    Large {
        /// As it was said.
        path: String,
        /// Its size.
        bytes: u64,
        /// The bound.
        most: u64,
    },
    /// It is not as it was when it was looked at.
    #[error("{path} has changed since {since}; read it again")]
    Changed {
        /// As it was said.
        path: String,
        /// Since when: it was read, or the person was shown the change.
        since: &'static str,
    },
    /// It would be overwritten by one who has not seen it.
    #[error(
        "{path} exists and has not been read in this session; read it before replacing it, or use edit"
    )]
    Unread {
        /// As it was said.
        path: String,
    },
    /// The system refused.
    #[error("{path}: {source}")]
    Io {
        /// As it was said.
        path: String,
        /// What the system says.
        source: io::Error,
    },
}

impl FileError {
    /// What the system said about `path`, as the error that fits.
    pub(crate) fn io(path: &str, source: impl Into<io::Error>) -> Self {
        let (path, source) = (path.to_owned(), source.into());
        match source.kind() {
            io::ErrorKind::NotFound => Self::Missing { path },
            _ => Self::Io { path, source },
        }
    }

    /// The code that the log keeps.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Outside { .. } => "FS_OUTSIDE",
            Self::Missing { .. } => "FS_NOT_FOUND",
            Self::NotFolder { .. } => "FS_NOT_DIRECTORY",
            Self::Folder { .. } => "FS_IS_DIRECTORY",
            Self::Special { .. } => "FS_NOT_REGULAR",
            Self::Links { .. } => "FS_LINKS",
            Self::Path { .. } => "FS_PATH",
            Self::Binary { .. } => "FS_BINARY",
            Self::Encoding { .. } => "FS_ENCODING",
            Self::Large { .. } => "FS_TOO_LARGE",
            Self::Changed { .. } => "FS_CHANGED",
            Self::Unread { .. } => "FS_UNREAD",
            Self::Io { .. } => "FS_IO",
        }
    }
}

impl From<FileError> for ToolError {
    fn from(error: FileError) -> Self {
        Self::new("FsError", error.code(), &error.to_string())
    }
}
