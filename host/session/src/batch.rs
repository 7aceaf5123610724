//! Events as the rows of a batch.

use crate::packed::{MIN_RUN, run_length, write_packed};
use crate::{Event, SurfaceOp};

/// Writes `events` as rows, each with its newline; runs of three deltas and more as packed ones.
pub(crate) fn write_rows(events: &[Event], out: &mut String) {
    let mut rest = events;
    while let [event, tail @ ..] = rest {
        let run = run_length(rest);
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

/// Writes one event as a row of its own, members in the order that dsh writes.
pub(crate) fn write_row(event: &Event, out: &mut String) {
    let Event { kind, seq, time, data, ignorable, surface_op, sources, .. } = event;
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
