//! A note of a side session, as a card of its own.

use dsh_session::{Message, SessionId};

use crate::visible::Line;

/// What the source of a note says of it.
struct Facts {
    child: SessionId,
    through: u64,
    bytes: u64,
    omitted: u64,
}

impl Facts {
    fn of(message: &Message) -> Option<Self> {
        let source = message.source();
        let facts = source.facts.object().ok().filter(|_| &*source.kind == "plugin")?;
        let handback = facts.text("form").as_deref() == Some("handback");
        handback.then_some(())?;
        Some(Self {
            child: facts.read("child")?,
            through: facts.read("through")?,
            bytes: facts.read("bytes")?,
            omitted: facts.read("omitted")?,
        })
    }

    fn heading(&self) -> String {
        let id = self.child.to_string();
        let whole = match self.omitted {
            0 => "whole".to_owned(),
            omitted => format!("cut, {omitted} more bytes left out"),
        };
        let Self { through, bytes, .. } = self;
        format!(
            "note of side session {}, up to its event {through}: {bytes} bytes, {whole}",
            Line(&id)
        )
    }
}

/// The lines of the card, the first says from where, how long, and whether it is whole; none where the message is no
/// note. `withdrawn` tells that a request has another message in its place.
pub(crate) fn card(message: &Message, withdrawn: bool) -> Option<Vec<String>> {
    let heading = Facts::of(message)?.heading();
    let gone = if withdrawn { " (withdrawn)" } else { "" };
    let text = message.text();
    // The heading of the note says the same in the model's words.
    let said = text.split_once("\n\n").map_or(&*text, |(_, said)| said);
    let said = said.lines().map(|line| format!("│ {}", Line(line)));
    Some(std::iter::once(format!("┌ {heading}{gone}")).chain(said).collect())
}

/// The id of the message that this one stands in the place of, as its plugin withdrew it.
pub(crate) fn withdraws(message: &Message) -> Option<String> {
    let source = message.source();
    let facts = source.facts.object().ok().filter(|_| &*source.kind == "plugin")?;
    let withdrawal = facts.text("form").as_deref() == Some("withdrawal");
    withdrawal.then(|| facts.read("message")).flatten()
}

#[cfg(test)]
mod tests {
    use dsh_session::Json;

    use super::*;

    fn message(source: &str, text: &str) -> Message {
        let block = Json::of(&serde_json::json!({ "type": "text", "text": text })).unwrap();
        Message::user("m", &Json::parse(source).unwrap(), &[block]).unwrap()
    }

    #[test]
    fn a_side_note_says_from_where_how_long_and_whether_it_is_whole() {
        let source = r#"{"kind":"plugin","plugin":"sidechat","form":"handback","child":"c\u202e","through":9,"bytes":42,"omitted":3}"#;
        let card = card(&message(source, "A note:\n\nIt is\nthe cache."), true).unwrap();
        assert_eq!(
            card,
            [
                "┌ note of side session c<U+202E>, up to its event 9: 42 bytes, cut, 3 more bytes left out (withdrawn)",
                "│ It is",
                "│ the cache.",
            ]
        );
    }

    #[test]
    fn anything_else_is_no_side_note() {
        assert_eq!(card(&message(r#"{"kind":"user"}"#, "hi"), false), None);
        let broken = r#"{"kind":"plugin","plugin":"p","form":"handback","child":3}"#;
        assert_eq!(card(&message(broken, "hi"), false), None);
        let withdrawal = r#"{"kind":"plugin","plugin":"p","form":"withdrawal","message":"m1"}"#;
        assert_eq!(withdraws(&message(withdrawal, "")).as_deref(), Some("m1"));
    }
}
