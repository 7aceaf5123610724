//! Packed rows: a run of the model's deltas as one row (contracts §1.6). Only the file knows them.

use serde_json::value::RawValue;

use crate::envelope::Envelope;
use crate::json::{is_number, is_string};
use crate::number::{safe_count, safe_integer};
use crate::{Event, Json, MAX_SAFE_INTEGER, Object};

/// Shorter runs stay as they are.
const MIN_RUN: usize = 3;

/// The type of the events that a packed row holds.
const CHUNK: &str = "assistant/chunk";

/// What kind of delta a row holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Reasoning,
    ToolCall,
}

impl Kind {
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

/// A packed row, checked whole.
#[derive(Debug)]
pub(crate) struct Packed<'a> {
    seq0: u64,
    times: Vec<i64>,
    run: Run<'a>,
    pieces: Vec<&'a RawValue>,
}

/// What all deltas of a run have in common, as it stands in the log.
#[derive(Debug, PartialEq)]
struct Run<'a> {
    kind: Kind,
    turn: &'a str,
    step: &'a str,
    index: &'a str,
    id: Option<&'a str>,
    name: Option<&'a str>,
}

/// Whether a row of this type is a packed one.
pub(crate) fn is_packed(kind: &str) -> bool {
    Kind::of_row(kind).is_some()
}

impl<'a> Packed<'a> {
    /// Reads a packed row.
    ///
    /// # Errors
    /// A sentence, where any part of it has another shape: a packed row is read whole or not at all.
    pub(crate) fn read(row: &Envelope<'a>) -> Result<Self, &'static str> {
        let (Some(kind), Some(seq0), Some(time0), Some(data), true) =
            (row.kind(), row.seq0, row.time0, row.data, row.is_packed())
        else {
            return Err("a packed row has not exactly its four members");
        };
        let kind = Kind::of_row(&kind).ok_or("no packed row has this type")?;
        let seq0 = safe_count(seq0.get()).ok_or("the packed row's `seq0` is no place")?;
        let time0 = safe_integer(time0.get()).ok_or("the packed row's `time0` is no time")?;
        let data: Object<'a> =
            serde_json::from_str(data.get()).map_err(|_| "the packed row's data is no object")?;
        let (run, pieces) = Run::of_row(kind, &data)?;
        let gaps: Vec<&RawValue> = list(&data, "dt").ok_or("the packed row's `dt` is no list")?;
        if gaps.len() + 1 != pieces.len() || pieces.iter().any(|piece| !is_string(piece)) {
            return Err("the packed row's `dt` and its pieces do not fit each other");
        }
        if seq0 + (pieces.len() as u64 - 1) > MAX_SAFE_INTEGER {
            return Err("the packed row's places leave the integers that JavaScript holds");
        }
        let mut times = Vec::with_capacity(pieces.len());
        times.push(time0);
        for gap in gaps {
            let gap = safe_integer(gap.get()).ok_or("the packed row's `dt` holds no time")?;
            let time = times.last().unwrap_or(&time0) + gap;
            if time.unsigned_abs() > MAX_SAFE_INTEGER {
                return Err("the packed row's times leave the integers that JavaScript holds");
            }
            times.push(time);
        }
        Ok(Self { seq0, times, run, pieces })
    }

    /// The place of its first event.
    pub(crate) fn seq0(&self) -> u64 {
        self.seq0
    }

    /// How many events it holds.
    pub(crate) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// The time of its last event.
    pub(crate) fn last_time(&self) -> i64 {
        self.times.last().copied().unwrap_or_default()
    }

    /// Its events in order.
    pub(crate) fn events(&self) -> impl Iterator<Item = Event> + '_ {
        let pairs = self.pieces.iter().zip(&self.times).zip(self.seq0..);
        pairs.map(|((piece, time), seq)| Event {
            kind: CHUNK.into(),
            seq,
            time: *time,
            data: Json::from_trusted(self.run.data(piece.get())),
            ignorable: false,
            surface_op: None,
            sources: None,
        })
    }
}

impl<'a> Run<'a> {
    fn of_row(kind: Kind, data: &Object<'a>) -> Result<(Self, Vec<&'a RawValue>), &'static str> {
        let (_, pieces) = kind.pieces();
        let (required, optional): (&[&str], &[&str]) = match kind {
            Kind::ToolCall => (&["turn", "step", "index", "id", "dt", pieces], &["name"]),
            Kind::Text | Kind::Reasoning => (&["turn", "step", "index", "dt", pieces], &[]),
        };
        if !data.has_only(required, optional) {
            return Err("the packed row's data has not exactly the members of its type");
        }
        let run = Self {
            kind,
            turn: number(data, "turn").ok_or("the packed row's turn is no number")?,
            step: number(data, "step").ok_or("the packed row's step is no number")?,
            index: number(data, "index").ok_or("the packed row's index is no number")?,
            id: string(data, "id")?,
            name: string(data, "name")?,
        };
        let pieces = list(data, pieces).filter(|pieces| !pieces.is_empty());
        Ok((run, pieces.ok_or("the packed row holds no list of pieces")?))
    }

    /// A logged delta and its piece, where the event is one that a packed row can give back exactly.
    fn of_event(event: &'a Event) -> Option<(Self, &'a RawValue)> {
        if &*event.kind != CHUNK
            || event.ignorable
            || event.surface_op.is_some()
            || event.sources.is_some()
        {
            return None;
        }
        let data = event.data.object().ok()?;
        if !data.has_only(&["turn", "step", "chunk"], &[]) {
            return None;
        }
        let chunk: Object<'a> = serde_json::from_str(data.get("chunk")?.get()).ok()?;
        let kind = match &*chunk.text("type")? {
            "text-delta" => Kind::Text,
            "reasoning-delta" => Kind::Reasoning,
            "tool-call-delta" => Kind::ToolCall,
            _ => return None,
        };
        let (piece, _) = kind.pieces();
        let exact = match kind {
            Kind::ToolCall => chunk.has_only(&["type", "index", "id", piece], &["name"]),
            Kind::Text | Kind::Reasoning => chunk.has_only(&["type", "index", piece], &[]),
        };
        let run = Self {
            kind,
            turn: number(&data, "turn")?,
            step: number(&data, "step")?,
            index: number(&chunk, "index")?,
            id: string(&chunk, "id").ok()?,
            name: string(&chunk, "name").ok()?,
        };
        let piece = chunk.get(piece).filter(|piece| is_string(piece))?;
        exact.then_some((run, piece))
    }

    /// The data of one delta.
    fn data(&self, piece: &str) -> String {
        let Self { kind, turn, step, index, .. } = self;
        let mut data = String::with_capacity(piece.len() + 96);
        data.extend(["{\"turn\":", turn, ",\"step\":", step, ",\"chunk\":{\"type\":\""]);
        data.extend([kind.delta(), "\",\"index\":", index]);
        self.push_call(&mut data);
        data.extend([",\"", kind.pieces().0, "\":", piece, "}}"]);
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
    object.get(name).filter(|raw| is_number(raw)).map(RawValue::get)
}

fn string<'a>(object: &Object<'a>, name: &str) -> Result<Option<&'a str>, &'static str> {
    match object.get(name) {
        Some(raw) if !is_string(raw) => Err("the packed row's id or name is no string"),
        raw => Ok(raw.map(RawValue::get)),
    }
}

fn list<'a>(object: &Object<'a>, name: &str) -> Option<Vec<&'a RawValue>> {
    serde_json::from_str(object.get(name)?.get()).ok()
}

/// Writes `events` as rows, each with its newline; runs of three deltas and more as packed ones.
pub(crate) fn write_rows(events: &[Event], out: &mut String) {
    let mut rest = events;
    while let [event, tail @ ..] = rest {
        let run = longest_run(rest);
        if run < MIN_RUN {
            write_row(event, out);
            rest = tail;
        } else {
            let (packed, tail) = rest.split_at(run);
            write_packed(packed, out);
            rest = tail;
        }
    }
}

/// How many events from the first on make one run.
fn longest_run(events: &[Event]) -> usize {
    let Some((first, _)) = events.first().and_then(Run::of_event) else { return 0 };
    let mut length = 1;
    for pair in events.windows(2) {
        let [before, event] = pair else { break };
        let gap = event.time.checked_sub(before.time);
        let fits = before.seq + 1 == event.seq
            && gap.is_some_and(|gap| gap.unsigned_abs() <= MAX_SAFE_INTEGER)
            && Run::of_event(event).is_some_and(|(run, _)| run == first);
        if !fits {
            break;
        }
        length += 1;
    }
    length
}

fn write_packed(events: &[Event], out: &mut String) {
    let deltas: Vec<_> = events.iter().filter_map(Run::of_event).collect();
    let (Some(first), Some((run, _))) = (events.first(), deltas.first()) else { return };
    out.extend(["{\"type\":\"", run.kind.row(), "\",\"seq0\":", &first.seq.to_string()]);
    out.extend([",\"time0\":", &first.time.to_string(), ",\"data\":{\"turn\":", run.turn]);
    out.extend([",\"step\":", run.step, ",\"index\":", run.index, ",\"dt\":"]);
    let gaps = events.windows(2).map(|pair| match pair {
        [before, event] => (event.time - before.time).to_string(),
        _ => String::new(),
    });
    push_list(out, gaps);
    run.push_call(out);
    out.extend([",\"", run.kind.pieces().1, "\":"]);
    push_list(out, deltas.iter().map(|(_, piece)| piece.get()));
    out.push_str("}}\n");
}

/// Writes one event as a row of its own, members in the order that dsh writes.
pub(crate) fn write_row(event: &Event, out: &mut String) {
    let Event { kind, seq, time, data, ignorable, surface_op, sources } = event;
    let kind = serde_json::Value::from(&**kind).to_string();
    out.extend(["{\"type\":", &kind, ",\"seq\":", &seq.to_string()]);
    out.extend([",\"time\":", &time.to_string(), ",\"data\":", data.as_str()]);
    if *ignorable {
        out.push_str(",\"ignorable\":true");
    }
    if let Some(sources) = sources {
        out.push_str(",\"sourceEventSeqs\":");
        push_list(out, sources.iter().map(u64::to_string));
    }
    match surface_op {
        None => {}
        Some(crate::SurfaceOp::Append) => out.push_str(",\"surfaceOp\":\"append\""),
        Some(crate::SurfaceOp::Replace { start, end }) => {
            let op =
                format!(",\"surfaceOp\":{{\"op\":\"replace\",\"start\":{start},\"end\":{end}}}");
            out.push_str(&op);
        }
    }
    out.push_str("}\n");
}

fn push_list(out: &mut String, items: impl Iterator<Item = impl AsRef<str>>) {
    out.push('[');
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(item.as_ref());
    }
    out.push(']');
}
