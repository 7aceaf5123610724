//! What a log says of the turns that a plugin asked for, and of everything else that was said.

use std::collections::HashSet;

use dsh_session::{Event, Fold, Header, Message, SurfaceOp};

use crate::ask::reply_text;
use crate::inbox::SPLICED;
use crate::{Answer, Shown, Splice, Target, TurnEnd};

/// A session's own history, told apart: the turns that one plugin asked for, and the rest.
#[derive(Debug)]
pub struct Asked {
    own_from: u64,
    plugin: String,
    /// Messages of the plugin that waited for a turn of their own.
    asking: HashSet<String>,
    /// Every other message that waited.
    waited: HashSet<String>,
    /// The key of the open turn's own message, where the plugin asked for the turn.
    turn: Option<Option<String>>,
    text: Option<String>,
    said_through: Option<u64>,
    answers: Vec<(String, Answer)>,
}

impl Asked {
    /// For the session with this header; fold its whole log.
    pub fn new(header: &Header, plugin: &str) -> Self {
        Self {
            own_from: header.seed_length.unwrap_or(0),
            plugin: plugin.to_owned(),
            asking: HashSet::new(),
            waited: HashSet::new(),
            turn: None,
            text: None,
            said_through: None,
            answers: Vec::new(),
        }
    }

    /// The last event that added a message and is no part of a turn that the plugin asked for. What came into such a
    /// turn by the inbox is no part of it.
    pub fn said_through(&self) -> Option<u64> {
        self.said_through
    }

    /// What the plugin's turn under this key came to, the last one that came to a text.
    pub fn answer(&self, key: &str) -> Option<&Answer> {
        self.answers.iter().rev().find(|(known, _)| known == key).map(|(_, answer)| answer)
    }

    fn spliced(&mut self, splice: Splice) {
        for message in splice.inserted {
            let source = message.source();
            let own = &*source.kind == "plugin" && source.plugin.as_deref() == Some(&*self.plugin);
            let asks = own && splice.target == Target::NextTurn;
            let ids = if asks { &mut self.asking } else { &mut self.waited };
            ids.insert(message.id().to_owned());
        }
    }

    fn joined(&mut self, event: &Event, message: &Message) {
        if self.asking.contains(message.id()) {
            self.turn = Some(message.source().key().map(|key| key.to_string()));
        }
        if self.turn.is_none() || self.waited.contains(message.id()) {
            self.said_through = Some(event.seq);
        }
    }

    fn ended(&mut self, event: &Event, end: &TurnEnd) {
        let well = matches!(end, TurnEnd::Completed | TurnEnd::MaxTokens);
        let (turn, text) = (self.turn.take().flatten(), self.text.take());
        if let (true, Some(key), Some(text)) = (well, turn, text) {
            self.answers.push((key, Answer { text, last_seq: event.seq }));
        }
    }
}

impl Fold for Asked {
    fn event(&mut self, event: &Event) {
        if event.seq < self.own_from {
            return;
        }
        if &*event.kind == SPLICED {
            if let Some(splice) = Splice::parse(&event.data) {
                self.spliced(splice);
            }
            return;
        }
        let added = event.surface_op == Some(SurfaceOp::Append);
        match Shown::of(event) {
            Some(Shown::TurnStarted(_)) => (self.turn, self.text) = (None, None),
            Some(Shown::TurnEnded(_, end)) => self.ended(event, &end),
            Some(Shown::Message(message)) if added => self.joined(event, &message),
            _ if added && self.turn.is_none() => self.said_through = Some(event.seq),
            _ if &*event.kind == "assistant/message" => {
                let reply = event.data.object().ok().and_then(|data| data.read("message"));
                let reply = reply.and_then(|reply| Message::parse(reply).ok());
                self.text = reply.and_then(|reply| reply_text(&reply)).or(self.text.take());
            }
            _ => {}
        }
    }

    fn wants_chunks(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dsh_session::{Draft, Json, SessionId};
    use serde_json::{Value, json};

    /// A log in which somebody speaks, and the plugin `p` asks under a key.
    struct Log(Asked, u64);

    impl Log {
        fn new() -> Self {
            Self(Asked::new(&Header::new(SessionId::new("s"), 0, None), "p"), 0)
        }

        fn event(&mut self, kind: &str, data: &Value) {
            let draft = Draft::new(kind, Json::of(data).unwrap());
            self.0.event(&draft.at(self.1, 0));
            self.1 += 1;
        }

        fn node(&mut self, kind: &str, data: &Value) {
            let draft = Draft::node(kind, Json::of(data).unwrap(), None);
            self.0.event(&draft.at(self.1, 0));
            self.1 += 1;
        }

        /// A message waits and joins the open turn; one for the next turn opens it.
        fn joins(&mut self, target: &str, id: &str, source: &Value) {
            let message = json!({ "content": [], "source": source, "role": "user", "id": id });
            let splice = json!({ "target": target, "start": 0, "inserted": [message] });
            self.event(SPLICED, &splice);
            if target == "next-turn" {
                self.event("turn/start", &json!({ "turn": 1 }));
            }
            self.node("user/message", &message);
        }

        fn replies(&mut self, text: &str) {
            let source = json!({ "kind": "model", "provider": "p", "model": "m" });
            let content = json!([{ "type": "text", "text": text }]);
            let message =
                json!({ "role": "assistant", "content": content, "source": source, "id": "a" });
            self.node("assistant/message", &json!({ "turn": 1, "step": 1, "message": message }));
        }

        fn ends(&mut self, kind: &str) {
            let reason = json!({ "kind": kind, "error": { "code": "c", "message": "m" } });
            self.event("turn/end", &json!({ "turn": 1, "reason": reason }));
        }
    }

    fn asks(key: &str) -> Value {
        json!({ "kind": "plugin", "plugin": "p", "key": key })
    }

    #[test]
    fn a_side_turn_that_was_asked_for_is_not_what_was_said() {
        let mut log = Log::new();
        log.joins("next-turn", "m1", &json!({ "kind": "user" }));
        log.replies("said");
        log.ends("completed");
        let said = log.0.said_through();
        log.joins("next-turn", "m2", &asks("k"));
        log.replies("first");
        log.replies("  ");
        log.ends("completed");
        assert_eq!((said, log.0.said_through()), (Some(3), Some(3)));
        assert_eq!(log.0.answer("k").map(|answer| &*answer.text), Some("first"));
        assert_eq!(log.0.answer("other"), None);
    }

    #[test]
    fn a_side_turn_that_failed_has_no_answer() {
        let mut log = Log::new();
        log.joins("next-turn", "m1", &asks("k"));
        log.replies("half");
        log.ends("error");
        assert_eq!(log.0.answer("k"), None);
    }

    #[test]
    fn what_is_put_into_a_side_turn_counts_as_said() {
        let mut log = Log::new();
        log.joins("next-turn", "m1", &asks("k"));
        log.joins("next-step", "m2", &json!({ "kind": "user" }));
        assert_eq!(log.0.said_through(), Some(4));
    }
}
