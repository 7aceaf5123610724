//! Why a log cannot be read, and where it breaks. Whoever says it names the file first.

use std::fmt;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::frames::FrameError;
use crate::row::RowError;
use crate::{EventError, HeaderError, SessionId};

/// Why a log cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LogError {
    /// The file could not be opened or read.
    #[error("{why}")]
    Io {
        /// Which file or directory.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
    /// It is a symbolic link, which could lead anywhere.
    #[error("it is a symbolic link, which is not followed")]
    Link(PathBuf),
    /// It is a directory, or anything else but a file.
    #[error("it is no file")]
    NoFile(PathBuf),
    /// It lies where only an older, flat layout put logs.
    #[error("it lies directly in a project directory, where no session has its log")]
    Flat(PathBuf),
    /// Its header belongs to another place.
    #[error("its header names session {id:?}, whose log does not lie here")]
    Place {
        /// Whom the header names.
        id: SessionId,
        /// Where the log lies.
        path: PathBuf,
    },
    /// The session has two logs, and nothing tells which one is right.
    #[error("the session has another log at {path}", path = .0.display())]
    Twice(PathBuf),
    /// It has no whole first line, or no whole first frame.
    #[error("the log holds no whole header")]
    NoHeader,
    /// Its first frame is not exactly the header line.
    #[error("the first frame is not exactly the header line")]
    HeaderFrame,
    /// Its header cannot be worked with.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// A frame is damaged, or something else stands where a frame should.
    #[error("at byte {byte}: {why}")]
    Frame {
        /// Where the frame begins.
        byte: u64,
        /// Why.
        why: FrameError,
    },
    /// A line is damaged.
    #[error("{place}: {why}")]
    Row {
        /// Where.
        place: Place,
        /// Why.
        why: RowError,
    },
    /// An interrupted turn cannot be closed.
    #[error("the interrupted turn cannot be closed: event {seq}: {why}")]
    Closer {
        /// The place of the closing event.
        seq: u64,
        /// Why it cannot be in the log.
        why: EventError,
    },
    /// A line is longer than any reader holds.
    #[error("{0}: the line is longer than 256 MiB")]
    LongLine(Place),
    /// The last whole frame ends within a line.
    #[error("{0}: the last whole frame ends within the line")]
    TornLine(Place),
}

impl LogError {
    /// Whether a newer harness wrote the log: nothing is damaged, and a newer version of this program reads it.
    pub fn is_newer(&self) -> bool {
        match self {
            Self::Header(HeaderError::Version(version)) => !version.starts_with('-'),
            Self::Row { why: RowError::Event { why: EventError::Unknown(_), .. }, .. } => true,
            _ => false,
        }
    }
}

/// A place in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line, from one; the header is line one.
    pub line: u64,
    /// Where in the file the line begins; of a log in frames, where its frame does.
    pub byte: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} at byte {}", self.line, self.byte)
    }
}
