//! Digests as the corpora hold them: SHA-256 of canonical JSON.

use dsh_session::{Event, Json, Message, Object, Raw, SessionId, SurfaceOp};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

/// The digest of the messages of a request.
pub(crate) fn messages_digest(messages: &[Message]) -> String {
    let messages: Vec<&str> = messages.iter().map(|message| message.json().as_str()).collect();
    sha256(&canonical(&format!("[{}]", messages.join(","))))
}

/// The digest of a log's events.
pub(crate) fn events_digest(events: &[Event]) -> String {
    let events: Vec<String> = events.iter().map(|event| canonical(&object(event))).collect();
    sha256(&events.join("\n"))
}

fn object(event: &Event) -> String {
    let Event { kind, seq, time, data, .. } = event;
    let mut text =
        format!(r#"{{"type":"{kind}","seq":{seq},"time":{time},"data":{}"#, data.as_str());
    if event.ignorable {
        text.push_str(r#","ignorable":true"#);
    }
    if let Some(sources) = &event.sources {
        text.push_str(&format!(r#","sourceEventSeqs":{sources:?}"#));
    }
    match event.surface_op {
        None => {}
        Some(SurfaceOp::Append) => text.push_str(r#","surfaceOp":"append""#),
        Some(SurfaceOp::Replace { start, end }) => {
            let op = format!(r#","surfaceOp":{{"op":"replace","start":{start},"end":{end}}}"#);
            text.push_str(&op);
        }
    }
    text + "}"
}

/// JSON with keys sorted by UTF-16 units, without spaces, scalars as `JSON.stringify` writes them.
pub(crate) fn canonical(text: &str) -> String {
    let mut out = String::new();
    write(text, &mut out);
    out
}

fn write(text: &str, out: &mut String) {
    let text = text.trim();
    match text.as_bytes()[0] {
        b'{' => {
            let object: Object<'_> = serde_json::from_str(text).unwrap();
            let quoted = |name: &str| serde_json::to_string(name).unwrap();
            let mut members: Vec<(SessionId, Raw<'_>)> = object
                .iter()
                .map(|(name, value)| (serde_json::from_str(&quoted(name)).unwrap(), value))
                .collect();
            members.sort_by_key(|(name, _)| name.units());
            let write_member = |(name, value): (SessionId, Raw<'_>), out: &mut String| {
                out.push_str(&format!("\"{}\":", name.escaped()));
                write(value.get(), out);
            };
            list(members, "{", "}", out, write_member);
        }
        b'[' => {
            let items: Vec<&RawValue> = serde_json::from_str(text).unwrap();
            list(items, "[", "]", out, |item, out| write(item.get(), out));
        }
        b'"' => {
            let string: SessionId = serde_json::from_str(text).unwrap();
            out.push_str(&format!("\"{}\"", string.escaped()));
        }
        b'-' | b'0'..=b'9' => {
            let number: f64 = text.parse().unwrap();
            out.push_str(&format!("{}", number + 0.0));
        }
        _ => out.push_str(text),
    }
}

fn list<T>(
    items: Vec<T>,
    open: &str,
    close: &str,
    out: &mut String,
    write: impl Fn(T, &mut String),
) {
    out.push_str(open);
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(item, out);
    }
    out.push_str(close);
}

fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether two JSON values are the same.
pub(crate) fn same(one: &Json, other: &Json) -> bool {
    canonical(one.as_str()) == canonical(other.as_str())
}
