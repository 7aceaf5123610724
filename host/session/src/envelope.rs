//! One row of a log as its members, borrowed from the line (contracts §1.2).

use std::borrow::Cow;

use thiserror::Error;

use crate::cursor::Cursor;
use crate::fit::SurfaceError;
use crate::legacy::LegacyError;
use crate::number::{safe_count, safe_integer};
use crate::parts::Parts;
use crate::{MessageError, Raw, SurfaceOp};

/// Why an event cannot be in a log.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventError {
    /// Its envelope has another shape.
    #[error("its {0}")]
    Envelope(&'static str),
    /// Its envelope has a member that no version of the format has.
    #[error("its envelope has the unknown member `{0}`")]
    Member(Box<str>),
    /// A newer harness wrote it, and did not mark it as one to pass over.
    #[error("its type `{0}` is unknown here and not marked ignorable")]
    Unknown(Box<str>),
    /// Logs once held the type; no reader upgrades it.
    #[error("its type `{0}` was retired")]
    Retired(Box<str>),
    /// It has an older shape than can be upgraded.
    #[error(transparent)]
    Legacy(#[from] LegacyError),
    /// A `request/header` that no request can be made from.
    #[error("its header {0}")]
    RequestHeader(&'static str),
    /// Its message has not the shape of its type.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// It does not fit the surface.
    #[error(transparent)]
    Surface(#[from] SurfaceError),
}

/// A row's members as they stand in the line; of a repeated one the last, as in JavaScript.
#[derive(Debug, Default)]
pub(crate) struct Envelope<'a> {
    pub(crate) kind: Option<Raw<'a>>,
    pub(crate) seq: Option<Raw<'a>>,
    pub(crate) time: Option<Raw<'a>>,
    pub(crate) data: Option<Raw<'a>>,
    ignorable: Option<Raw<'a>>,
    surface_op: Option<Raw<'a>>,
    sources: Option<Sources<'a>>,
    /// The place and time of a packed row's first event.
    pub(crate) seq0: Option<Raw<'a>>,
    pub(crate) time0: Option<Raw<'a>>,
    other: Option<Cow<'a, str>>,
}

/// What a row says of the events that it was made from.
#[derive(Debug)]
enum Sources<'a> {
    /// A list of places, read already.
    Places(Vec<u64>),
    /// Anything else.
    Other(Raw<'a>),
}

impl<'a> Envelope<'a> {
    /// Reads a row; none where the text is no JSON object. Where the parts of its values stand goes into `parts`.
    pub(crate) fn parse(text: &'a str, parts: &'a mut Parts) -> Option<Self> {
        let mut row = Self::default();
        let mut of_data = 0..0;
        let mut cursor = Cursor::new(text);
        parts.clear();
        cursor.space();
        cursor.object(|name, cursor| {
            let name = name.text().unwrap_or_default();
            if name == "sourceEventSeqs" {
                row.sources = Some(match cursor.places() {
                    Some(places) => Sources::Places(places),
                    None => Sources::Other(cursor.value(parts)?),
                });
                return Some(());
            }
            let from = parts.len();
            let value = cursor.value(parts)?;
            if name == "data" {
                of_data = from..parts.len();
            }
            row.take(name, value);
            Some(())
        })?;
        cursor.space();
        row.data = row.data.map(|data| data.with_parts(parts.between(of_data)));
        cursor.is_at_end().then_some(row)
    }

    fn take(&mut self, name: Cow<'a, str>, value: Raw<'a>) {
        let member = match &*name {
            "type" => &mut self.kind,
            "seq" => &mut self.seq,
            "time" => &mut self.time,
            "data" => &mut self.data,
            "ignorable" => &mut self.ignorable,
            "surfaceOp" => &mut self.surface_op,
            "seq0" => &mut self.seq0,
            "time0" => &mut self.time0,
            _ => {
                self.other = Some(name);
                return;
            }
        };
        *member = Some(value);
    }

    /// The type; none where it is no string.
    pub(crate) fn kind(&self) -> Option<Cow<'a, str>> {
        self.kind.and_then(Raw::text)
    }

    /// The place, where it is one.
    pub(crate) fn seq(&self) -> Option<u64> {
        safe_count(self.seq?.get())
    }

    /// Whether it is one of the model's deltas.
    pub(crate) fn is_chunk(&self) -> bool {
        self.kind.is_some_and(|kind| kind.get() == "\"assistant/chunk\"")
    }

    /// Whether it is an object of exactly `type`, `seq0`, `time0` and `data`.
    pub(crate) fn is_packed(&self) -> bool {
        self.kind.is_some()
            && self.seq0.is_some()
            && self.time0.is_some()
            && self.data.is_some()
            && self.seq.or(self.time).or(self.ignorable).or(self.surface_op).is_none()
            && self.sources.is_none()
            && self.other.is_none()
    }

    /// Checks the closed envelope; gives type, time, data and whether the event is ignorable.
    pub(crate) fn check(&self) -> Result<(Cow<'a, str>, i64, Raw<'a>, bool), EventError> {
        if let Some(other) = &self.other {
            return Err(EventError::Member(other.as_ref().into()));
        }
        if self.seq0.or(self.time0).is_some() {
            return Err(EventError::Member("seq0".into()));
        }
        let kind = self.kind().ok_or(EventError::Envelope("type is no string"))?;
        let time = self.time.and_then(|time| safe_integer(time.get()));
        let time = time.ok_or(EventError::Envelope("time is no integer within 2^53 - 1"))?;
        let data = self.data.ok_or(EventError::Envelope("data is missing"))?;
        match self.ignorable.map(Raw::get) {
            None => Ok((kind, time, data, false)),
            Some("true") => Ok((kind, time, data, true)),
            Some(_) => Err(EventError::Envelope("ignorable is other than `true`")),
        }
    }

    /// Whether it says anything about the surface.
    pub(crate) fn touches_surface(&self) -> Result<(), SurfaceError> {
        match (self.surface_op, &self.sources) {
            (None, None) => Ok(()),
            (Some(_), _) => Err(SurfaceError::OpOnLogEvent),
            (None, Some(_)) => Err(SurfaceError::SourcesOnLogEvent),
        }
    }

    /// How it changes the surface.
    pub(crate) fn surface_op(&self) -> Result<SurfaceOp, SurfaceError> {
        let op = self.surface_op.ok_or(SurfaceError::OpMissing)?;
        if let Some(name) = op.text() {
            return if name == "append" { Ok(SurfaceOp::Append) } else { Err(SurfaceError::Op) };
        }
        let op = op.object().ok_or(SurfaceError::Op)?;
        let end = |name| op.get(name).and_then(|seq| safe_count(seq.get()));
        match (op.str("op").as_deref(), end("start"), end("end")) {
            (Some("replace"), Some(start), Some(end))
                if op.has_only(&["op", "start", "end"], &[]) =>
            {
                Ok(SurfaceOp::Replace { start, end })
            }
            _ => Err(SurfaceError::Replace),
        }
    }

    /// The place where its replacement starts, where it is one.
    pub(crate) fn replaces(&self) -> Option<u64> {
        match self.surface_op() {
            Ok(SurfaceOp::Replace { start, .. }) => Some(start),
            _ => None,
        }
    }

    /// The events that it was made from.
    pub(crate) fn sources(self) -> Result<Option<Vec<u64>>, SurfaceError> {
        let words = match self.sources {
            None => return Ok(None),
            Some(Sources::Places(places)) => return Ok(Some(places)),
            Some(Sources::Other(other)) => other.words().ok_or(SurfaceError::SourcesNoList)?,
        };
        words.map(safe_count).collect::<Option<_>>().map(Some).ok_or(SurfaceError::SourcesNoSeq)
    }
}
