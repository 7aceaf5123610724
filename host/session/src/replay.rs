//! A log as it is read or grows: every event checked, and folded into what a session must know.

use std::sync::Arc;

use crate::checked::{Checked, Facts};
use crate::envelope::{Envelope, EventError};
use crate::events::{Held, One};
use crate::fit::SurfaceError;
use crate::legacy::{Origin, upgrade};
use crate::parts::Parts;
use crate::repair::TurnFold;
use crate::surface::{Replacement, Sources, Surface, SurfaceFold};
use crate::title::{Title, TitleError, TitleFold};
use crate::vocabulary::{is_retired, is_surface};
use crate::{Draft, Event, Events, Json, Kind, Node, Packed, Raw, SessionId, shape};

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
        let facts = facts(&event, data)?;
        if is_surface(&event.kind) {
            event.surface_op = Some(row.surface_op()?);
            event.sources = row.sources()?;
        } else {
            row.touches_surface()?;
        }
        let replacement = self.push(&event, &facts)?;
        event.checked = Checked::new(&event, facts);
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
        if let Some(facts) = event.checked.facts(event) {
            return self.push(event, facts);
        }
        let data = Raw::from(&event.data);
        check_kind(event, data)?;
        let origin = Origin { session: &self.session, seq: event.seq, replaces: &|| None };
        if upgrade(&event.kind, data, &origin)?.is_some() {
            return Err(EventError::Envelope("shape is one that only old logs have"));
        }
        self.push(event, &facts(event, data)?)
    }

    /// Takes the events of this very log's next places.
    ///
    /// # Errors
    /// When one of them cannot follow, as [`Replay::event`] says; those before it have been taken then.
    pub fn events(&mut self, events: &Events) -> Result<(), EventError> {
        let held = events.held();
        // Whatever an earlier turn left behind, the start or end of the last one does away with.
        let settled = held.iter().rposition(Held::settles_turn).unwrap_or(0);
        let before = self.turn.clone();
        for (index, next) in held.iter().enumerate() {
            if let Err(why) = self.held(next, index >= settled) {
                if index < settled {
                    self.turn = before;
                    held.iter().take(index).for_each(|held| self.turn_of(held));
                }
                return Err(why);
            }
        }
        Ok(())
    }

    /// Takes what `Events` hold next; into the turn only where it counts.
    fn held(&mut self, held: &Held, counts: bool) -> Result<(), EventError> {
        match held {
            Held::One(One { event, known: Some(facts) }) => {
                self.expect(Some(event.seq))?;
                self.take(event, facts, Sources::Sound)?;
                if counts {
                    self.turn.push(event, facts);
                }
            }
            Held::One(One { event, known: None }) => drop(self.event(event)?),
            Held::Rows(rows) => {
                self.expect(Some(rows.seq0))?;
                self.skip(rows.len as u64, rows.last_time);
            }
        }
        Ok(())
    }

    /// Takes into the turn what has been taken into all else.
    fn turn_of(&mut self, held: &Held) {
        match held {
            Held::One(One { event, known: Some(facts) }) => self.turn.push(event, facts),
            Held::One(One { event, known: None }) => {
                let facts = facts(event, Raw::from(&event.data)).unwrap_or_default();
                self.turn.push(event, &facts);
            }
            Held::Rows(rows) => self.turn.skip(rows.seq0 + rows.len as u64 - 1, rows.last_time),
        }
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

    fn push(&mut self, event: &Event, facts: &Facts) -> Result<Option<Replacement>, EventError> {
        let replacement = self.take(event, facts, Sources::Unchecked)?;
        self.turn.push(event, facts);
        Ok(replacement)
    }

    /// Takes an event into everything but the turn.
    fn take(
        &mut self,
        event: &Event,
        facts: &Facts,
        sources: Sources,
    ) -> Result<Option<Replacement>, EventError> {
        let replacement = self.surface.push(event, facts.node.as_ref(), sources)?;
        self.title.push(event);
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

/// What a fold asks of an event, whose data is `data`.
fn facts(event: &Event, data: Raw<'_>) -> Result<Facts, EventError> {
    let node = shape::message(event, data)?.and_then(|message| Node::of(event, message, data));
    let call = match &*event.kind {
        "tool/call" => data.object().and_then(|data| data.text("callId")),
        _ => None,
    };
    Ok(Facts { node: node.map(Arc::new), call })
}
