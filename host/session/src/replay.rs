//! A log as it is read or grows: every event checked, and folded into what a session must know.

use std::sync::Arc;

use crate::checked::Checked;
use crate::envelope::{Envelope, EventError};
use crate::fit::SurfaceError;
use crate::legacy::{Origin, upgrade};
use crate::packed::Packed;
use crate::parts::Parts;
use crate::repair::TurnFold;
use crate::surface::{Replacement, Surface, SurfaceFold};
use crate::title::{Title, TitleError, TitleFold};
use crate::vocabulary::{is_retired, is_surface};
use crate::{Draft, Event, Fold, Json, Kind, Node, Raw, SessionId, shape};

/// Everything that a session needs to know of its log, without the log.
///
/// Its memory grows with the surface.
#[derive(Debug)]
pub struct Replay {
    session: SessionId,
    surface: SurfaceFold,
    title: TitleFold,
    turn: TurnFold,
    /// The type of the last event is `session/end-seed`.
    seed_ended: bool,
}

impl Replay {
    /// The empty log of `session`.
    pub fn new(session: SessionId) -> Self {
        Self {
            session,
            surface: SurfaceFold::default(),
            title: TitleFold::default(),
            turn: TurnFold::default(),
            seed_ended: false,
        }
    }

    /// Takes the next event as it stands in a log, in its current shape or an older one.
    ///
    /// # Errors
    /// When `row` is no event, or one that cannot follow; nothing has changed then.
    pub fn row(&mut self, row: &str) -> Result<(Event, Option<Replacement>), EventError> {
        let mut parts = Parts::default();
        let row = Envelope::parse(row, &mut parts)
            .ok_or(EventError::Envelope("text is no JSON object"))?;
        self.expect(row.seq())?;
        self.envelope(row)
    }

    /// Takes a row whose place has been found to be the next one.
    pub(crate) fn envelope(
        &mut self,
        row: Envelope<'_>,
    ) -> Result<(Event, Option<Replacement>), EventError> {
        let (kind, time, data, ignorable) = row.check()?;
        let kind = Kind::from(&*kind);
        let seq = self.next_seq();
        let replaced = || Some(self.surface.node(row.replaces()?)?.message.id().to_owned());
        let origin = Origin { session: &self.session, seq, replaces: &replaced };
        let upgraded = upgrade(&kind, data, &origin)?;
        let read = if upgraded.is_some() { None } else { Some(data) };
        let (kind, data) = match upgraded {
            Some(upgraded) => (upgraded.kind.into(), upgraded.data),
            None => (kind, Json::from(data)),
        };
        let mut event = Event {
            kind,
            seq,
            time,
            data,
            ignorable,
            surface_op: None,
            sources: None,
            checked: Checked::default(),
        };
        let data = read.map_or_else(|| Raw::from(&event.data), |data| data.copied(&event.data));
        check_kind(&event, data)?;
        let node = node(&event, data)?;
        if is_surface(&event.kind) {
            event.surface_op = Some(row.surface_op()?);
            event.sources = row.sources()?;
        } else {
            row.touches_surface()?;
        }
        let replacement = self.push(&event, node.as_ref())?;
        event.checked = Checked::new(&event, node);
        Ok((event, replacement))
    }

    /// Takes a packed row whose place has been found to be the next one.
    pub(crate) fn packed(&mut self, row: &Packed<'_>) {
        self.skip(row.len() as u64, row.last_time());
    }

    /// Takes a delta that nobody wants to see, whose place has been found to be the next one.
    pub(crate) fn pass_chunk(&mut self, row: &Envelope<'_>) -> Result<(), EventError> {
        let (_, time, _, _) = row.check()?;
        row.touches_surface()?;
        self.skip(1, time);
        Ok(())
    }

    /// Takes `count` deltas, the last of them at `time`: nothing but places and times of them matters here.
    fn skip(&mut self, count: u64, time: i64) {
        self.surface.skip(count);
        self.turn.skip(self.next_seq() - 1, time);
        self.seed_ended = false;
    }

    /// Takes an event of this very log's next place.
    ///
    /// # Errors
    /// When it cannot follow, or has a shape that only old logs have; nothing has changed then.
    pub fn event(&mut self, event: &Event) -> Result<Option<Replacement>, EventError> {
        self.expect(Some(event.seq))?;
        if event.time.unsigned_abs() > crate::MAX_SAFE_INTEGER {
            return Err(EventError::Envelope("time is no integer within 2^53 - 1"));
        }
        if event.kind == Kind::CHUNK && event.surface_op.is_none() && event.sources.is_none() {
            self.skip(1, event.time);
            return Ok(None);
        }
        if let Some(node) = event.checked.node(event) {
            return self.push(event, node);
        }
        let data = Raw::from(&event.data);
        check_kind(event, data)?;
        let origin = Origin { session: &self.session, seq: event.seq, replaces: &|| None };
        if upgrade(&event.kind, data, &origin)?.is_some() {
            return Err(EventError::Envelope("shape is one that only old logs have"));
        }
        self.push(event, node(event, data)?.as_ref())
    }

    /// Gives the draft its place, and takes it.
    ///
    /// # Errors
    /// When it cannot follow; nothing has changed then.
    pub(crate) fn append(&mut self, draft: Draft, time: i64) -> Result<Event, EventError> {
        let event = draft.at(self.next_seq(), time);
        self.event(&event)?;
        Ok(event)
    }

    /// The place of the next event.
    pub fn next_seq(&self) -> u64 {
        self.surface.next_seq()
    }

    /// The surface as it is now.
    pub fn surface(&mut self) -> Surface {
        self.surface.observe()
    }

    /// The latest title.
    ///
    /// # Errors
    /// When the log holds one that nobody can read; that spoils nothing else.
    pub fn title(&self) -> Result<Option<Title>, TitleError> {
        self.title.title()
    }

    /// The latest title as it was logged.
    pub(crate) fn title_fold(&self) -> &TitleFold {
        &self.title
    }

    /// Whether a turn is open.
    pub fn turn_is_open(&self) -> bool {
        self.turn.is_open()
    }

    /// The events that close an interrupted turn; none where no turn is open.
    pub fn closers(&self) -> Vec<Event> {
        self.turn.closers()
    }

    /// Whether the last event ends a seed.
    pub(crate) fn seed_ended(&self) -> bool {
        self.seed_ended
    }

    fn expect(&self, found: Option<u64>) -> Result<(), EventError> {
        match self.next_seq() {
            expected if Some(expected) == found => Ok(()),
            expected => Err(SurfaceError::Place { expected, found }.into()),
        }
    }

    fn push(
        &mut self,
        event: &Event,
        node: Option<&Arc<Node>>,
    ) -> Result<Option<Replacement>, EventError> {
        let replacement = self.surface.push(event, node)?;
        self.title.push(event);
        self.turn.push(event, node.map(|node| &node.message));
        self.seed_ended = &*event.kind == "session/end-seed";
        Ok(replacement)
    }
}

/// Checks that a log may hold events of this type, and a request header by what it holds.
fn check_kind(event: &Event, data: Raw<'_>) -> Result<(), EventError> {
    if is_retired(&event.kind) {
        return Err(EventError::Retired((&*event.kind).into()));
    }
    if !event.ignorable && !event.kind.is_known() {
        return Err(EventError::Unknown((&*event.kind).into()));
    }
    if &*event.kind == "request/header" {
        shape::request_header(data)?;
    }
    Ok(())
}

/// The node that an event is, where its type is a surface type.
fn node(event: &Event, data: Raw<'_>) -> Result<Option<Arc<Node>>, EventError> {
    let node = shape::message(event, data)?.and_then(|message| Node::of(event, message, data));
    Ok(node.map(Arc::new))
}

/// Events into a fold, chunks only where it wants them.
pub(crate) fn feed(fold: &mut dyn Fold, event: &Event) {
    if fold.wants_chunks() || event.kind != Kind::CHUNK {
        fold.event(event);
    }
}
