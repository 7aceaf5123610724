//! A snapshot of another session, in one line.

use std::fmt::Write as _;

use dsh_session::{Message, SessionId};
use serde::Deserialize;

use crate::visible::Line;

/// What the source of a snapshot says of each session in it (contracts §8.1).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reference {
    session_id: SessionId,
    label: String,
    captured_through_seq: Option<u64>,
    compacted: bool,
    original_messages: u64,
    retained_messages: u64,
    omitted_bytes: u64,
}

/// One line for each session in it; none where the message is no snapshot.
pub(crate) fn summary(message: &Message) -> Option<Vec<String>> {
    let source = message.source();
    if &*source.kind != "session-reference" {
        return None;
    }
    let references: Vec<Reference> = source.facts.object().ok()?.read("references")?;
    Some(references.iter().map(Reference::line).collect())
}

impl Reference {
    fn line(&self) -> String {
        let label = Line(&self.label).to_string();
        let id = Line(&self.session_id.to_string()).to_string();
        let named = if label == id { id } else { format!("“{label}” ({id})") };
        let mut line = format!(
            "snapshot of {named}: {} of {} messages",
            self.retained_messages, self.original_messages
        );
        if self.omitted_bytes > 0 {
            line += &format!(", {} bytes left out", self.omitted_bytes);
        }
        if self.compacted {
            line += ", after a compaction";
        }
        match self.captured_through_seq {
            Some(seq) => _ = write!(line, ", as of event {seq}"),
            None => line += ", from an empty log",
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use dsh_session::Json;

    use super::*;

    #[track_caller]
    fn check(source: &str, expected: Option<&str>) {
        let message = Message::user("m", &Json::parse(source).unwrap(), &[]).unwrap();
        let expected = expected.map(|line| vec![line.to_owned()]);
        assert_eq!(summary(&message), expected);
    }

    #[test]
    fn a_snapshot_is_one_line() {
        check(
            r#"{"kind":"session-reference","form":"recall","version":1,"references":[{"sessionId":"b","label":"B\u202e","capturedThroughSeq":41,"compacted":true,"originalMessages":9,"retainedMessages":7,"omittedMessages":2,"omittedBytes":512,"truncated":true,"inputIndex":0}]}"#,
            Some(
                "snapshot of “B<U+202E>” (b): 7 of 9 messages, 512 bytes left out, after a compaction, as of event 41",
            ),
        );
        check(
            r#"{"kind":"session-reference","references":[{"sessionId":"\ud800","label":"\ud800","capturedThroughSeq":null,"compacted":false,"originalMessages":0,"retainedMessages":0,"omittedBytes":0}]}"#,
            Some("snapshot of \u{fffd}: 0 of 0 messages, from an empty log"),
        );
    }

    #[test]
    fn anything_else_is_none() {
        check(r#"{"kind":"user"}"#, None);
        check(r#"{"kind":"session-reference","references":3}"#, None);
    }
}
