//! Packed rows: a run of the model's deltas as one row (contracts §1.6). The file knows them, and who holds a log.

mod read;

use std::borrow::Cow;

use crate::batch::push_list;
use crate::{Draft, Event, Json, Kind, MAX_SAFE_INTEGER, Object, Raw};

/// Shorter runs stay as they are.
const MIN_RUN: usize = 3;

/// What kind of delta a row holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delta {
    Text,
    Reasoning,
    ToolCall,
}

impl Delta {
    /// Of a packed row, by its type.
    fn of_row(kind: &str) -> Option<Self> {
        Some(match kind {
            "text-chunks" => Self::Text,
            "reasoning-chunks" => Self::Reasoning,
            "tool-call-chunks" => Self::ToolCall,
            _ => return None,
        })
    }

    fn row(self) -> &'static str {
        match self {
            Self::Text => "text-chunks",
            Self::Reasoning => "reasoning-chunks",
            Self::ToolCall => "tool-call-chunks",
        }
    }

    fn delta(self) -> &'static str {
        match self {
            Self::Text => "text-delta",
            Self::Reasoning => "reasoning-delta",
            Self::ToolCall => "tool-call-delta",
        }
    }

    /// The delta's member that holds its piece, and the row's that holds all pieces.
    fn pieces(self) -> (&'static str, &'static str) {
        match self {
            Self::ToolCall => ("argumentsDelta", "args"),
            Self::Text | Self::Reasoning => ("text", "texts"),
        }
    }
}

/// A packed row: a run of the model's deltas, checked whole.
#[derive(Debug)]
pub struct Packed<'a> {
    seq0: u64,
    times: Vec<i64>,
    run: Run<'a>,
    /// Strings of JSON.
    pieces: Vec<&'a str>,
    /// The row, where it is spelled as harnesses write it.
    line: Option<&'a str>,
}

/// What all deltas of a run have in common, as it stands in the log.
#[derive(Debug, PartialEq)]
struct Run<'a> {
    kind: Delta,
    turn: &'a str,
    step: &'a str,
    index: &'a str,
    id: Option<&'a str>,
    name: Option<&'a str>,
}

/// Whether a row of this type is a packed one.
pub(crate) fn is_packed(kind: &str) -> bool {
    Delta::of_row(kind).is_some()
}

impl<'a> Packed<'a> {
    /// The place of its first event.
    pub fn seq0(&self) -> u64 {
        self.seq0
    }

    /// How many events it holds, which is one at least.
    #[allow(clippy::len_without_is_empty, reason = "none is empty")]
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// The time of its last event.
    pub(crate) fn last_time(&self) -> i64 {
        self.times.last().copied().unwrap_or_default()
    }

    /// The longest row that the leading `events` fit into; none where they are too few.
    pub(crate) fn of_events(events: &[&'a Event]) -> Option<Self> {
        let (first, rest) = events.split_first()?;
        let (run, piece) = Run::of_event(first)?;
        let (mut times, mut pieces) = (vec![first.time], vec![piece.get()]);
        let mut before = first;
        for event in rest {
            let gap = event.time.checked_sub(before.time);
            let near = gap.is_some_and(|gap| gap.unsigned_abs() <= MAX_SAFE_INTEGER);
            let piece = Run::of_event(event)
                .filter(|(other, _)| near && before.seq + 1 == event.seq && *other == run);
            let Some((_, piece)) = piece else { break };
            times.push(event.time);
            pieces.push(piece.get());
            before = event;
        }
        let long = pieces.len() >= MIN_RUN;
        long.then_some(Self { seq0: first.seq, times, run, pieces, line: None })
    }

    /// The row as harnesses write it, without a newline.
    pub(crate) fn spelled(&self) -> Cow<'a, str> {
        match self.line {
            Some(line) => Cow::Borrowed(line),
            None => Cow::Owned(self.spell()),
        }
    }

    /// Whether [`Packed::of_line`] reads it as it is spelled: not where a place or a time has more digits than any log
    /// has yet.
    pub(crate) fn reads_back(&self) -> bool {
        self.line.is_some() || Packed::of_line(&self.spell()).is_some()
    }

    fn spell(&self) -> String {
        let Self { seq0, times, run, pieces, .. } = self;
        let time0 = times.first().copied().unwrap_or_default();
        let gaps = times.windows(2).map(|pair| match pair {
            [before, time] => (time - before).to_string(),
            _ => String::new(),
        });
        let mut out = String::new();
        out.extend(["{\"type\":\"", run.kind.row(), "\",\"seq0\":", &seq0.to_string()]);
        out.extend([",\"time0\":", &time0.to_string(), ",\"data\":{\"turn\":", run.turn]);
        out.extend([",\"step\":", run.step, ",\"index\":", run.index, ",\"dt\":"]);
        push_list(&mut out, gaps);
        run.push_call(&mut out);
        out.extend([",\"", run.kind.pieces().1, "\":"]);
        push_list(&mut out, pieces.iter());
        out.push_str("}}");
        out
    }

    /// Its events in order. Those that stand near each other share their text.
    pub fn each(&self, mut take: impl FnMut(&Event)) {
        // What stands between two pieces: the end of one delta and the beginning of the next.
        let between = ["}}", &self.run.data()].concat();
        let (end, head) = between.split_at(2);
        let mut text = String::with_capacity(SHARED + SHARED / 4);
        let mut ends = Vec::with_capacity(self.len().min(SHARED / head.len() + 1));
        let mut event = Draft::new(&Kind::CHUNK, Json::from_trusted("{}")).at(0, 0);
        let mut places = self.times.iter().zip(self.seq0..);
        let mut pieces = self.pieces.iter().peekable();
        while let Some(piece) = pieces.next() {
            if text.is_empty() {
                text.push_str(head);
            }
            text.push_str(piece);
            ends.push(text.len() + end.len());
            if text.len() < SHARED && pieces.peek().is_some() {
                text.push_str(&between);
                continue;
            }
            text.push_str(end);
            for (data, (time, seq)) in Json::each_of(&text, &ends).zip(&mut places) {
                (event.seq, event.time, event.data) = (seq, *time, data);
                take(&event);
            }
            text.clear();
            ends.clear();
        }
    }
}

/// Bytes of text after which the next deltas of a run get another one to share: one that is kept keeps it all.
const SHARED: usize = 1 << 12;

impl<'a> Run<'a> {
    /// A logged delta and its piece, where the event is one that a packed row can give back exactly.
    fn of_event(event: &'a Event) -> Option<(Self, Raw<'a>)> {
        if !event.is_plain_delta() {
            return None;
        }
        let data = event.data.object().ok()?;
        if !data.has_only(&["turn", "step", "chunk"], &[]) {
            return None;
        }
        let chunk = data.object("chunk")?;
        let kind = match &*chunk.str("type")? {
            "text-delta" => Delta::Text,
            "reasoning-delta" => Delta::Reasoning,
            "tool-call-delta" => Delta::ToolCall,
            _ => return None,
        };
        let (piece, _) = kind.pieces();
        let exact = match kind {
            Delta::ToolCall => chunk.has_only(&["type", "index", "id", piece], &["name"]),
            Delta::Text | Delta::Reasoning => chunk.has_only(&["type", "index", piece], &[]),
        };
        let run = Self {
            kind,
            turn: number(&data, "turn")?,
            step: number(&data, "step")?,
            index: number(&chunk, "index")?,
            id: string(&chunk, "id").ok()?,
            name: string(&chunk, "name").ok()?,
        };
        let piece = chunk.get(piece).filter(|piece| piece.is_string())?;
        exact.then_some((run, piece))
    }

    /// The data of its deltas up to their pieces, which stand last.
    fn data(&self) -> String {
        let Self { kind, turn, step, index, .. } = self;
        let mut data = String::with_capacity(128);
        data.extend(["{\"turn\":", turn, ",\"step\":", step, ",\"chunk\":{\"type\":\""]);
        data.extend([kind.delta(), "\",\"index\":", index]);
        self.push_call(&mut data);
        data.extend([",\"", kind.pieces().0, "\":"]);
        data
    }

    fn push_call(&self, out: &mut String) {
        for (member, value) in [(",\"id\":", self.id), (",\"name\":", self.name)] {
            if let Some(value) = value {
                out.extend([member, value]);
            }
        }
    }
}

fn number<'a>(object: &Object<'a>, name: &str) -> Option<&'a str> {
    object.get(name).filter(|raw| raw.is_number()).map(Raw::get)
}

fn string<'a>(object: &Object<'a>, name: &str) -> Result<Option<&'a str>, &'static str> {
    match object.get(name) {
        Some(raw) if !raw.is_string() => Err("the packed row's id or name is no string"),
        raw => Ok(raw.map(Raw::get)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::write_rows;
    use crate::envelope::Envelope;
    use crate::parts::Parts;

    /// The events of a packed row.
    fn unpacked(row: &str) -> Vec<Event> {
        let mut parts = Parts::default();
        let row = Envelope::parse(row, &mut parts).unwrap();
        let mut events = Vec::new();
        Packed::read(&row).unwrap().each(|event| events.push(event.clone()));
        events
    }

    #[track_caller]
    fn round_trip(row: &str, members: usize) {
        let events = unpacked(row);
        assert_eq!(events.len(), members);
        let mut written = String::new();
        write_rows(&events.into(), &mut written);
        assert_eq!(written.trim_end(), row);
    }

    pub(super) const TEXT: &str = r#"{"type":"text-chunks","seq0":5,"time0":100,"data":{"turn":1,"step":1,"index":0,"dt":[3,-2],"texts":["a","\ud83d","c"]}}"#;
    pub(super) const CALL: &str = r#"{"type":"tool-call-chunks","seq0":5,"time0":100,"data":{"turn":1,"step":1,"index":0,"dt":[0,0],"id":"c1","name":"bash","args":["{","\"a\"","}"]}}"#;

    #[test]
    fn a_row_that_is_unpacked_packs_again() {
        round_trip(TEXT, 3);
        round_trip(&TEXT.replace("text-", "reasoning-"), 3);
        round_trip(CALL, 3);
        round_trip(&CALL.replace(r#""name":"bash","#, ""), 3);
    }

    #[test]
    fn a_delta_is_an_event_like_any_other() {
        let events = unpacked(CALL);
        let data = r#"{"turn":1,"step":1,"chunk":{"type":"tool-call-delta","index":0,"id":"c1","name":"bash","argumentsDelta":"\"a\""}}"#;
        assert_eq!(events[1].data.as_str(), data);
        let text = unpacked(TEXT);
        assert_eq!(
            text.iter().map(|event| (event.seq, event.time)).collect::<Vec<_>>(),
            [(5, 100), (6, 103), (7, 101)]
        );
    }

    #[test]
    fn a_run_ends_where_its_deltas_differ() {
        let rows = |events: &[Event]| {
            let mut rows = String::new();
            write_rows(&events.to_vec().into(), &mut rows);
            rows.lines().count()
        };
        let five = || {
            let row = TEXT
                .replace("[3,-2]", "[1,1,1,1]")
                .replace(r#"["a","\ud83d","c"]"#, r#"["1","2","3","4","5"]"#);
            unpacked(&row)
        };
        assert_eq!(rows(&five()), 1);
        assert_eq!(rows(&five()[..2]), 2);
        let mut other_index = five();
        other_index[3].data =
            Json::parse(&other_index[3].data.as_str().replace("\"index\":0", "\"index\":1"))
                .unwrap();
        assert_eq!(rows(&other_index), 3);
        let mut another_member = five();
        another_member[1].data = Json::parse(
            &another_member[1].data.as_str().replace("\"index\":0", "\"index\":0,\"x\":1"),
        )
        .unwrap();
        assert_eq!(rows(&another_member), 3);
        let mut far_apart = five();
        far_apart[2].time = i64::MAX;
        assert_eq!(rows(&far_apart), 5);
    }

    #[test]
    fn a_long_run_gives_each_of_its_deltas() {
        let pieces: Vec<String> =
            (0..1000).map(|at| format!("\"{}\"", "p".repeat(at % 90))).collect();
        let row = format!(
            r#"{{"type":"text-chunks","seq0":5,"time0":100,"data":{{"turn":1,"step":1,"index":0,"dt":[{}],"texts":[{}]}}}}"#,
            vec!["1"; 999].join(","),
            pieces.join(",")
        );
        round_trip(&row, 1000);
        for (at, event) in unpacked(&row).iter().enumerate() {
            assert_eq!((event.seq, event.time), (at as u64 + 5, at as i64 + 100));
            let data = Json::parse(event.data.as_str()).unwrap();
            assert_eq!(
                data.object().unwrap().object("chunk").unwrap().get("text").unwrap().get(),
                pieces[at]
            );
        }
    }
}
