//! One line of a log's body: an event, or a packed run of them.

use std::borrow::Cow;

use thiserror::Error;

use crate::envelope::{Envelope, EventError};
use crate::packed::is_packed;
use crate::parts::Parts;
use crate::{Packed, Raw};

/// Why a line is no row that can stand where it stands.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum RowError {
    /// The line is not JSON.
    #[error("the line is not JSON")]
    Json,
    /// The line is `null`, which no reader takes for a line that was cut short.
    #[error("the line is `null`")]
    Null,
    /// The line has the type of a packed row and not its shape.
    #[error("{0}")]
    Packed(&'static str),
    /// Its place is not the next one.
    #[error(
        "event {expected} is missing: the line holds {found}",
        found = .found.map_or("no place".into(), |found| format!("event {found}"))
    )]
    Gap {
        /// The next place.
        expected: u64,
        /// The line's first.
        found: Option<u64>,
    },
    /// The event cannot be in a log.
    #[error("event {seq}: {why}")]
    Event {
        /// Its place.
        seq: u64,
        /// Why.
        why: EventError,
    },
}

/// A line as far as it can be read without knowing the lines before it.
pub(crate) enum Row<'a> {
    Event(Envelope<'a>),
    Packed(Packed<'a>),
}

impl<'a> Row<'a> {
    /// Reads a line without its newline. Where the parts of its values stand goes into `parts`.
    pub(crate) fn parse(line: &'a str, parts: &'a mut Parts) -> Result<Self, RowError> {
        let text = line.trim_matches([' ', '\t', '\r', '\n']);
        if !text.starts_with('{') {
            // JSON that is no object has no place either: what reads it finds a gap.
            return match Raw::parse(text).map_err(|_| RowError::Json)?.get() {
                "null" => Err(RowError::Null),
                _ => Ok(Self::Event(Envelope::default())),
            };
        }
        if let Some(row) = Packed::of_line(text) {
            return Ok(Self::Packed(row));
        }
        let row = Envelope::parse(text, parts).ok_or(RowError::Json)?;
        match row.kind().as_deref().is_some_and(is_packed) {
            true => Packed::read(&row).map(Self::Packed).map_err(RowError::Packed),
            false => Ok(Self::Event(row)),
        }
    }

    /// The place of its first event; none where it names none.
    pub(crate) fn seq(&self) -> Option<u64> {
        match self {
            Self::Event(row) => row.seq(),
            Self::Packed(row) => Some(row.seq0()),
        }
    }

    /// Whether it ends a turn.
    pub(crate) fn ends_turn(&self) -> bool {
        match self {
            Self::Event(row) => row.kind() == Some(Cow::Borrowed("turn/end")),
            Self::Packed(_) => false,
        }
    }
}
