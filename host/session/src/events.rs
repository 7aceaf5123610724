//! Events of a log in memory.

use crate::batch::write_row;
use crate::checked::Facts;
use crate::envelope::Envelope;
use crate::fit::check_sources;
use crate::fold::feed;
use crate::parts::Parts;
use crate::prefix::marks_turn;
use crate::{Draft, Event, Fold, MAX_SAFE_INTEGER, Packed};

/// Events of a log in memory, in order.
///
/// Most of a log's events are the model's deltas. They are held as the rows that they are in the file, which takes
/// about as much memory as the file, and made into events for who wants to see them.
#[derive(Clone, Debug, Default)]
pub struct Events {
    held: Vec<Held>,
    len: usize,
}

#[derive(Clone, Debug)]
pub(crate) enum Held {
    One(One),
    Rows(Rows),
}

/// An event that is held by itself, and never changed.
#[derive(Clone, Debug)]
pub(crate) struct One {
    pub(crate) event: Event,
    /// What is known of it, where it can be in a log; its time and sources are sound then.
    pub(crate) known: Option<Facts>,
}

/// Deltas as rows of a log, packed or not, each with its newline.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    pub(crate) seq0: u64,
    pub(crate) len: usize,
    pub(crate) last_time: i64,
    pub(crate) text: String,
}

impl Events {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds an event at the end.
    pub fn push(&mut self, event: Event) {
        let sound =
            check_sources(&event, &[]).is_ok() && event.time.unsigned_abs() <= MAX_SAFE_INTEGER;
        let known = event.checked.facts(&event).filter(|_| sound).cloned();
        self.held.push(Held::One(One { event, known }));
        self.len += 1;
    }

    /// Leaves the first `len` events.
    pub fn truncate(&mut self, len: usize) {
        while self.len > len {
            let Some(last) = self.held.pop() else { return };
            self.len -= last.len();
            if let Held::Rows(rows) = last
                && self.len < len
            {
                let mut kept = Vec::new();
                rows.each(&mut kept);
                self.extend(kept);
            }
        }
    }

    /// Has a row of `len` deltas, of which the first is the event at `seq0`, written to the rows at the end.
    fn add_row(&mut self, seq0: u64, len: usize, last_time: i64, write: impl FnOnce(&mut String)) {
        let next = match self.held.last() {
            Some(Held::Rows(rows)) => Some(rows.seq0 + rows.len as u64),
            _ => None,
        };
        if next != Some(seq0) {
            let text = String::with_capacity(1 << 10);
            self.held.push(Held::Rows(Rows { seq0, len: 0, last_time, text }));
        }
        if let Some(Held::Rows(rows)) = self.held.last_mut() {
            rows.len += len;
            rows.last_time = last_time;
            write(&mut rows.text);
            self.len += len;
        }
    }

    /// Gives `fold` every event, or every one that it wants.
    pub fn each(&self, fold: &mut dyn Fold) {
        let wants_chunks = fold.wants_chunks();
        for held in &self.held {
            match held {
                Held::One(one) => feed(fold, &one.event),
                Held::Rows(rows) if wants_chunks => rows.each(fold),
                Held::Rows(_) => {}
            }
        }
    }

    /// Every event by itself.
    pub fn to_vec(&self) -> Vec<Event> {
        let mut events = Vec::with_capacity(self.len);
        self.each(&mut events);
        events
    }

    /// Those that are held by themselves, each with its index. Whatever is no delta is among them.
    pub(crate) fn single(&self) -> impl Iterator<Item = (usize, &Event)> {
        let mut next = 0;
        self.held.iter().filter_map(move |held| {
            let index = next;
            next += held.len();
            match held {
                Held::One(one) => Some((index, &one.event)),
                Held::Rows(_) => None,
            }
        })
    }

    /// The last event, where it is held by itself.
    pub(crate) fn last(&self) -> Option<&Event> {
        match self.held.last()? {
            Held::One(one) => Some(&one.event),
            Held::Rows(_) => None,
        }
    }

    pub(crate) fn held(&self) -> &[Held] {
        &self.held
    }

    /// Adds those of `other`.
    pub(crate) fn append(&mut self, other: Self) {
        self.held.extend(other.held);
        self.len += other.len;
    }
}

/// Keeps every event.
impl Fold for Events {
    fn event(&mut self, event: &Event) {
        if is_row(event) {
            self.add_row(event.seq, 1, event.time, |rows| write_row(event, rows));
        } else {
            self.push(event.clone());
        }
    }

    fn packed(&mut self, row: &Packed<'_>) {
        if !row.reads_back() {
            return row.each(|event| self.push(event.clone()));
        }
        self.add_row(row.seq0(), row.len(), row.last_time(), |rows| {
            rows.extend([&*row.spelled(), "\n"]);
        });
    }
}

/// Whether an event is a delta that a row of its own gives back exactly, and no packed row could hold.
fn is_row(event: &Event) -> bool {
    let data = event.data.as_str();
    event.is_plain_delta()
        && event.checked.facts(event).is_some()
        && !data.contains("-delta\"")
        && !data.contains('\n')
}

impl Rows {
    fn each(&self, fold: &mut dyn Fold) {
        for row in self.text.split_terminator('\n') {
            match Packed::of_line(row) {
                Some(row) => fold.packed(&row),
                None => drop(delta(row).map(|event| fold.event(&event))),
            }
        }
    }
}

/// The delta of a row of its own.
fn delta(row: &str) -> Option<Event> {
    let mut parts = Parts::default();
    let row = Envelope::parse(row, &mut parts)?;
    let seq = row.seq()?;
    let (kind, time, data, ..) = row.check().ok()?;
    Some(Draft::new(&kind, data.into()).at(seq, time))
}

impl Held {
    /// Whether it is known to start or end a turn.
    pub(crate) fn settles_turn(&self) -> bool {
        matches!(self, Self::One(One { event, known: Some(_) }) if marks_turn(event))
    }

    fn len(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Rows(rows) => rows.len,
        }
    }
}

impl Extend<Event> for Events {
    fn extend<I: IntoIterator<Item = Event>>(&mut self, events: I) {
        events.into_iter().for_each(|event| self.push(event));
    }
}

impl FromIterator<Event> for Events {
    fn from_iter<I: IntoIterator<Item = Event>>(events: I) -> Self {
        let mut all = Self::default();
        all.extend(events);
        all
    }
}

impl From<Vec<Event>> for Events {
    fn from(events: Vec<Event>) -> Self {
        events.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::write_rows;
    use crate::row::Row;
    use crate::{Json, Replay, SessionId};

    /// Two turns with deltas of every kind, one of the packed rows spelled as nobody writes it.
    const ROWS: [&str; 16] = [
        r#"{"type":"turn/start","seq":0,"time":10,"data":{"turn":1}}"#,
        r#"{"type":"user/message","seq":1,"time":10,"data":{"content":[{"type":"text","text":"hi"}],"id":"m","role":"user","source":{"kind":"user"}},"surfaceOp":"append"}"#,
        r#"{"type":"step/start","seq":2,"time":11,"data":{"turn":1,"step":1}}"#,
        r#"{"type":"assistant/chunk","seq":3,"time":12,"data":{"turn":1,"step":1,"chunk":{"type":"block-start","index":0}}}"#,
        r#"{"type":"text-chunks","seq0":4,"time0":13,"data":{"turn":1,"step":1,"index":0,"dt":[1,-2,0],"texts":["a","\ud83d","\n","会"]}}"#,
        r#"{ "type":"text-chunks","seq0":8,"time0":20,"data":{"turn":1,"step":1,"index":0,"texts":["x","y","z"],"dt":[1, 1]}}"#,
        r#"{"type":"assistant/chunk","seq":11,"time":22,"data":{"turn":1,"step":1,"chunk":{"type":"text-delta","index":0,"text":"!"}}}"#,
        r#"{"type":"assistant/chunk","seq":12,"time":22,"data":{"turn":1,"step":1,"chunk":{"type":"block-end","index":0}}}"#,
        r#"{"type":"assistant/message","seq":13,"time":23,"data":{"turn":1,"step":1,"message":{"id":"a","role":"assistant","content":[{"type":"tool-call","id":"c1","name":"t","arguments":"{}"}],"source":{"kind":"model","provider":"p","model":"m"}}},"sourceEventSeqs":[3,4],"surfaceOp":"append"}"#,
        r#"{"type":"tool/call","seq":14,"time":24,"data":{"turn":1,"step":1,"callId":"c1","name":"t","arguments":"{}"}}"#,
        r#"{"type":"turn/end","seq":15,"time":24,"data":{"turn":1,"reason":{"kind":"completed"}}}"#,
        r#"{"type":"session/title","seq":16,"time":25,"data":{"title":"T","messageSeqs":[1],"source":{"kind":"fallback"}}}"#,
        r#"{"type":"turn/start","seq":17,"time":26,"data":{"turn":2}}"#,
        r#"{"type":"step/start","seq":18,"time":26,"data":{"turn":2,"step":1}}"#,
        r#"{"type":"tool-call-chunks","seq0":19,"time0":27,"data":{"turn":2,"step":1,"index":0,"dt":[0],"id":"c2","args":["{","}"]}}"#,
        r#"{"type":"assistant/message","seq":21,"time":28,"data":{"turn":2,"step":1,"message":{"id":"b","role":"assistant","content":[{"type":"tool-call","id":"c2","name":"t","arguments":"{}"}],"source":{"kind":"model","provider":"p","model":"m"}}},"surfaceOp":"append"}"#,
    ];

    fn replay() -> Replay {
        Replay::new(SessionId::new("s"))
    }

    /// Reads rows into both ways of holding events.
    fn read<'a>(rows: impl Iterator<Item = &'a str>) -> (Events, Vec<Event>) {
        let (mut replay, mut both) = (replay(), (Events::default(), Vec::new()));
        for row in rows {
            match Row::parse(row, &mut Parts::default()).unwrap() {
                Row::Packed(row) => {
                    replay.packed(&row);
                    both.packed(&row);
                }
                Row::Event(row) => both.event(&replay.envelope(row).unwrap().0),
            }
        }
        both
    }

    /// What a replay knows.
    fn seen(replay: &mut Replay) -> String {
        let (surface, title) = (replay.surface(), replay.title());
        format!("{} {surface:?} {title:?} {:?}", replay.next_seq(), replay.closers())
    }

    #[test]
    fn they_are_held_as_rows_and_given_one_by_one() {
        let (held, all) = read(ROWS.into_iter());
        assert_eq!((held.len(), held.is_empty()), (22, false));
        assert_eq!(held.to_vec(), all);
        let rows = held.held().iter().filter(|held| matches!(held, Held::Rows(_))).count();
        assert_eq!(rows, 3);
        let kinds: Vec<_> = held.single().map(|(at, event)| (at, event.seq)).collect();
        assert!(kinds.iter().all(|(at, seq)| *at as u64 == *seq), "{kinds:?}");
        assert_eq!(kinds.len(), 11);
    }

    #[test]
    fn what_was_held_is_written_as_it_was_read() {
        let (held, all) = read(ROWS.into_iter());
        let mut written = String::new();
        write_rows(&held, &mut written);
        assert_eq!(read(written.lines()).1, all);
        // Rows that are spelled as harnesses write them stay as they are.
        for row in ROWS.iter().filter(|row| !row.starts_with("{ ")) {
            assert!(written.lines().any(|line| line == *row), "{row}");
        }
    }

    #[test]
    fn only_rows_that_follow_each_other_are_held_together() {
        let (_, all) = read(ROWS.into_iter());
        let (start, end) = (&all[3], &all[12]);
        let mut held = Events::default();
        [start, end].into_iter().for_each(|event| held.event(event));
        assert_eq!((held.held().len(), held.len()), (2, 2));
        assert!(replay().events(&held).is_err());
        // A row is one line.
        let row =
            ROWS[0].replace("turn/start", "assistant/chunk").replace("{\"turn\"", "{\n\"turn\"");
        let (event, _) = replay().row(&row).unwrap();
        let mut held = Events::default();
        held.event(&event);
        assert_eq!(held.to_vec(), [event]);
    }

    #[test]
    fn a_row_that_could_not_be_read_back_is_held_as_its_events() {
        for (from, to) in [
            ("\"seq0\":8", "\"seq0\":1000000000000000"),
            ("[1, 1]", "[1000000000000000,-1000000000000000]"),
            ("\"time0\":20", "\"time0\":-1000000000000000"),
        ] {
            let row = ROWS[5].replace(from, to);
            let mut parts = Parts::default();
            let Ok(Row::Packed(row)) = Row::parse(&row, &mut parts) else { panic!("{row}") };
            let (mut held, mut all): (Events, Vec<Event>) = Default::default();
            held.packed(&row);
            all.packed(&row);
            assert_eq!((held.len(), held.to_vec()), (3, all));
        }
    }

    #[test]
    fn they_are_cut_at_any_event() {
        let (held, all) = read(ROWS.into_iter());
        for len in 0..=all.len() + 1 {
            let mut cut = held.clone();
            cut.truncate(len);
            assert_eq!(cut.to_vec(), all[..len.min(all.len())]);
            assert_eq!(cut.len(), len.min(all.len()));
            assert!(cut.last().is_none_or(|last| last.seq + 1 == cut.len() as u64));
        }
        let mut twice = held.clone();
        twice.append(held);
        assert_eq!(twice.to_vec(), [&all[..], &all].concat());
    }

    #[test]
    fn a_replay_takes_them_as_it_takes_each() {
        let (held, all) = read(ROWS.into_iter());
        for len in 0..=all.len() {
            let (mut one_by_one, mut at_once) = (replay(), replay());
            all[..len].iter().for_each(|event| _ = one_by_one.event(event).unwrap());
            let mut held = held.clone();
            held.truncate(len);
            at_once.events(&held).unwrap();
            assert_eq!(seen(&mut at_once), seen(&mut one_by_one), "{len}");
            let unchecked: Events = all[..len].iter().map(unchecked).collect();
            let mut again = replay();
            again.events(&unchecked).unwrap();
            assert_eq!(seen(&mut again), seen(&mut one_by_one), "{len}");
        }
    }

    /// The event as somebody else would make it.
    fn unchecked(event: &Event) -> Event {
        Draft::from(event.clone()).at(event.seq, event.time)
    }

    #[test]
    fn where_one_cannot_follow_those_before_it_have_been_taken() {
        let (held, all) = read(ROWS.into_iter());
        let bad: [fn(&mut Event); 5] = [
            |event| event.seq += 1,
            |event| event.time = i64::MAX,
            |event| event.data = Json::parse("3").unwrap(),
            |event| event.sources = Some(vec![event.seq]),
            |event| event.kind = "of/tomorrow".into(),
        ];
        for (at, spoil) in (0..all.len()).flat_map(|at| bad.map(|spoil| (at, spoil))) {
            let mut spoilt = held.clone();
            spoilt.truncate(at);
            let mut event = all[at].clone();
            spoil(&mut event);
            spoilt.push(event.clone());
            spoilt.extend(all[at + 1..].iter().cloned());
            let (mut one_by_one, mut at_once) = (replay(), replay());
            all[..at].iter().for_each(|event| _ = one_by_one.event(event).unwrap());
            let Err(why) = one_by_one.event(&event) else { continue };
            assert_eq!(at_once.events(&spoilt), Err(why));
            assert_eq!(seen(&mut at_once), seen(&mut one_by_one), "{at}");
        }
    }
}
