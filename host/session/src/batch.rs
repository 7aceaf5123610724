//! Events as the rows of a batch.

use crate::events::Held;
use crate::{Event, Events, Packed, SurfaceOp};

/// Writes `events` as rows, each with its newline; runs of three deltas and more as packed ones.
pub(crate) fn write_rows(events: &Events, out: &mut String) {
    let mut single = Vec::new();
    for held in events.held() {
        match held {
            Held::One(one) => single.push(&one.event),
            Held::Rows(rows) => {
                write_single(&single, out);
                single.clear();
                out.push_str(&rows.text);
            }
        }
    }
    write_single(&single, out);
}

fn write_single(events: &[&Event], out: &mut String) {
    let mut rest = events;
    while let [event, tail @ ..] = rest {
        match Packed::of_events(rest) {
            Some(row) => {
                out.extend([&*row.spelled(), "\n"]);
                rest = rest.get(row.len()..).unwrap_or_default();
            }
            None => {
                write_row(event, out);
                rest = tail;
            }
        }
    }
}

/// Writes one event as a row of its own, members in the order that dsh writes.
pub(crate) fn write_row(event: &Event, out: &mut String) {
    let Event { kind, seq, time, data, ignorable, surface_op, sources, .. } = event;
    match kind.is_known() {
        // No name that is known here needs an escape.
        true => out.extend(["{\"type\":\"", kind, "\""]),
        false => out.extend(["{\"type\":", &serde_json::Value::from(&**kind).to_string()]),
    }
    out.extend([",\"seq\":", &seq.to_string()]);
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
        Some(SurfaceOp::Append) => out.push_str(",\"surfaceOp\":\"append\""),
        Some(SurfaceOp::Replace { start, end }) => {
            let op =
                format!(",\"surfaceOp\":{{\"op\":\"replace\",\"start\":{start},\"end\":{end}}}");
            out.push_str(&op);
        }
    }
    out.push_str("}\n");
}

/// Writes a JSON list whose items are JSON texts.
pub(crate) fn push_list(out: &mut String, items: impl Iterator<Item = impl AsRef<str>>) {
    out.push('[');
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(item.as_ref());
    }
    out.push(']');
}
