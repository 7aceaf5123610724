//! One event of a log: its envelope, and its data as text.

use crate::batch::write_row;
use crate::checked::Checked;
use crate::{Json, Kind};

/// An event at its place in a log (contracts §1.2).
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The type, such as `turn/start`.
    pub kind: Kind,
    /// Its place, from zero, without gaps.
    pub seq: u64,
    /// Milliseconds since the Unix epoch; may run backwards.
    pub time: i64,
    /// The payload.
    pub data: Json,
    /// Whether a reader that does not know the type may pass over it.
    pub ignorable: bool,
    /// How it changes the surface; only on the three surface types.
    pub surface_op: Option<SurfaceOp>,
    /// The earlier events that it was made from; only on the three surface types.
    pub sources: Option<Vec<u64>>,
    /// What was found out about it when it was read.
    pub(crate) checked: Checked,
}

impl Event {
    /// Whether it is one of the model's deltas, with nothing in its envelope that a row of many could not hold.
    pub(crate) fn is_plain_delta(&self) -> bool {
        self.kind == Kind::CHUNK
            && !self.ignorable
            && self.surface_op.is_none()
            && self.sources.is_none()
    }

    /// The event as a row of a log, without its line's end.
    pub fn row(&self) -> String {
        let mut row = String::new();
        write_row(self, &mut row);
        row.truncate(row.trim_end().len());
        row
    }
}

/// How an event changes the surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SurfaceOp {
    /// A new node at the end.
    Append,
    /// One node in place of those from `start` to `end`, both included, as they stand on the surface.
    Replace {
        /// The first node's event.
        start: u64,
        /// The last node's event.
        end: u64,
    },
}

/// An event that is about to be appended: the log gives it its place and time.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// See [`Event::kind`].
    pub kind: Kind,
    /// See [`Event::data`].
    pub data: Json,
    /// See [`Event::ignorable`].
    pub ignorable: bool,
    /// See [`Event::surface_op`].
    pub surface_op: Option<SurfaceOp>,
    /// See [`Event::sources`].
    pub sources: Option<Vec<u64>>,
}

/// The event as it would be appended anew, wherever and whenever it was.
impl From<Event> for Draft {
    fn from(event: Event) -> Self {
        let Event { kind, data, ignorable, surface_op, sources, .. } = event;
        Self { kind, data, ignorable, surface_op, sources }
    }
}

impl Draft {
    /// An event that only the log keeps.
    pub fn new(kind: &str, data: Json) -> Self {
        Self { kind: kind.into(), data, ignorable: false, surface_op: None, sources: None }
    }

    /// An event that appends a node to the surface.
    pub fn node(kind: &str, data: Json, sources: Option<Vec<u64>>) -> Self {
        Self { surface_op: Some(SurfaceOp::Append), sources, ..Self::new(kind, data) }
    }

    /// The event at its place.
    pub fn at(self, seq: u64, time: i64) -> Event {
        let Self { kind, data, ignorable, surface_op, sources } = self;
        Event { kind, seq, time, data, ignorable, surface_op, sources, checked: Checked::default() }
    }
}
