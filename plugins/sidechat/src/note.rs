//! This plugin's own messages in a log, read back from their facts.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::id;

/// What a message of this plugin is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// What makes a session a side session.
    Framing,
    /// What lifts its read-only rule.
    Promotion,
    /// What a side session was asked its handback with.
    Request(Request),
    /// A side session's note, in the session that it was opened on.
    Handback(Handback),
    /// What stands in a note's place since it was withdrawn.
    Withdrawal {
        /// The note's message id.
        message: String,
    },
    /// A message of a later version of this plugin.
    Other,
}

/// A request for a handback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The last event that it asks about.
    pub through: u64,
    /// What the person wanted in it; empty where they did not say.
    pub instruction: String,
    /// Under which it is answered once.
    pub key: String,
}

/// A note as the parent's log has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handback {
    /// The side session, as `JSON.stringify` writes its id between the quotes.
    pub child: String,
    /// The side session's event up to which it speaks.
    pub through: u64,
}

/// One message in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    /// Its place; none while it waits for a step.
    pub seq: Option<u64>,
    /// Its id.
    pub message: String,
    /// What it is.
    pub note: Note,
}

impl Note {
    /// What a message with these facts is.
    pub fn read(facts: &str) -> Self {
        #[derive(Deserialize)]
        struct Form<'a> {
            form: &'a str,
        }
        let form = serde_json::from_str(facts).map_or("", |Form { form }| form);
        let read = match form {
            "framing" => Some(Self::Framing),
            "promotion" => Some(Self::Promotion),
            "handback-request" => Request::read(facts).map(Self::Request),
            "handback" => Handback::read(facts).map(Self::Handback),
            "withdrawal" => withdrawn(facts).map(|message| Self::Withdrawal { message }),
            _ => None,
        };
        read.unwrap_or(Self::Other)
    }
}

impl Request {
    fn read(facts: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Facts {
            through: u64,
            #[serde(default)]
            instruction: String,
            key: String,
        }
        let Facts { through, instruction, key } = serde_json::from_str(facts).ok()?;
        Some(Self { through, instruction, key })
    }

    /// As the log has it, but for the key, which the host adds.
    ///
    /// # Errors
    ///
    /// None, but for a serializer that is broken.
    pub fn facts(&self) -> Result<String, serde_json::Error> {
        #[derive(Serialize)]
        struct Facts<'a> {
            kind: &'a str,
            form: &'a str,
            through: u64,
            instruction: &'a str,
        }
        let (through, instruction) = (self.through, self.instruction.as_str());
        serde_json::to_string(&Facts {
            kind: "plugin",
            form: "handback-request",
            through,
            instruction,
        })
    }
}

impl Handback {
    fn read(facts: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Facts<'a> {
            #[serde(borrow)]
            child: &'a RawValue,
            through: u64,
        }
        let Facts { child, through } = serde_json::from_str(facts).ok()?;
        Some(Self { child: id::text(child)?.to_owned(), through })
    }

    /// As the log has it, but for the key, which the host adds: the note has `bytes` bytes, and `omitted` of the
    /// side session's text are not in it.
    ///
    /// # Errors
    ///
    /// A child's id that `JSON.stringify` would not write.
    pub fn facts(&self, bytes: usize, omitted: usize) -> Result<String, serde_json::Error> {
        #[derive(Serialize)]
        struct Facts<'a> {
            kind: &'a str,
            form: &'a str,
            child: &'a RawValue,
            through: u64,
            bytes: usize,
            omitted: usize,
            cut: bool,
        }
        let child = id::json(&self.child)?;
        serde_json::to_string(&Facts {
            kind: "plugin",
            form: "handback",
            child: &child,
            through: self.through,
            bytes,
            omitted,
            cut: omitted > 0,
        })
    }

    /// Under which the note is added once; after `withdrawn` withdrawals of it, once more.
    pub fn key(&self, withdrawn: usize) -> String {
        let Self { child, through } = self;
        match withdrawn {
            0 => format!("{child}@{through}"),
            times => format!("{child}@{through}#{times}"),
        }
    }
}

fn withdrawn(facts: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Facts {
        message: String,
    }
    let Facts { message } = serde_json::from_str(facts).ok()?;
    Some(message)
}

/// What stands in the place of the note `message` of `child`, as the log has it.
///
/// # Errors
///
/// A child's id that `JSON.stringify` would not write.
pub fn withdrawal_facts(child: &str, message: &str) -> Result<String, serde_json::Error> {
    #[derive(Serialize)]
    struct Facts<'a> {
        kind: &'a str,
        form: &'a str,
        child: &'a RawValue,
        message: &'a str,
    }
    let child = id::json(child)?;
    serde_json::to_string(&Facts { kind: "plugin", form: "withdrawal", child: &child, message })
}

/// The framing among a session's own messages: where it is one, the session is a side session.
pub fn framing(own: &[Logged]) -> Option<&Logged> {
    own.iter().find(|logged| logged.note == Note::Framing)
}

/// Whether a session changes nothing: it is a side session, and nobody lifted the rule.
pub fn is_read_only(own: &[Logged]) -> bool {
    framing(own).is_some() && !own.iter().any(|logged| logged.note == Note::Promotion)
}

/// The notes of `child` among a parent's own messages, and of each whether it was withdrawn.
pub fn handbacks<'a>(
    own: &'a [Logged],
    child: &'a str,
) -> impl DoubleEndedIterator<Item = (&'a Logged, &'a Handback, bool)> {
    own.iter().filter_map(move |logged| {
        let Note::Handback(handback) = &logged.note else { return None };
        let gone = |other: &Logged| match &other.note {
            Note::Withdrawal { message } => *message == logged.message,
            _ => false,
        };
        (handback.child == child).then(|| (logged, handback, own.iter().any(gone)))
    })
}

/// The latest request about the same events, if one fits: any does where no instruction is given.
pub fn request<'a>(own: &'a [Logged], through: u64, instruction: &str) -> Option<&'a Request> {
    requests(own, through)
        .rev()
        .find(|request| instruction.is_empty() || request.instruction == instruction)
}

/// The requests about the events up to `through`.
pub fn requests(own: &[Logged], through: u64) -> impl DoubleEndedIterator<Item = &Request> {
    own.iter().filter_map(move |logged| match &logged.note {
        Note::Request(request) if request.through == through => Some(request),
        _ => None,
    })
}

/// Whether there is a draft about the events up to `through`, where the last event said is `said`.
pub fn drafted(own: &[Logged], through: u64, said: u64) -> bool {
    through <= said && requests(own, through).next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logged(message: &str, facts: &str) -> Logged {
        Logged { seq: None, message: message.to_owned(), note: Note::read(facts) }
    }

    fn handback(child: &str, through: u64) -> Handback {
        Handback { child: child.to_owned(), through }
    }

    /// What the host makes of facts.
    fn stamped(facts: &str, key: &str) -> String {
        let body = facts.strip_suffix('}').expect("an object");
        format!("{body},\"plugin\":\"sidechat\",\"key\":\"{key}\"}}")
    }

    #[test]
    fn side_note_names_its_side_session_whatever_its_id() {
        for child in ["plain", r#"quo\"te"#, r"half \ud800"] {
            let note = handback(child, 17);
            let facts = stamped(&note.facts(100, 3).expect("facts"), "k");
            assert_eq!(Note::read(&facts), Note::Handback(note));
            assert!(facts.contains(r#""bytes":100,"omitted":3,"cut":true"#), "{facts}");
        }
    }

    #[test]
    fn side_messages_of_later_versions_are_passed_over() {
        for facts in [r#"{"form":"dance"}"#, r#"{"form":"handback"}"#, "{}", r#"{"form":1}"#] {
            assert_eq!(Note::read(facts), Note::Other, "{facts}");
        }
    }

    #[test]
    fn side_session_is_read_only_until_it_is_promoted() {
        let framing = logged("m1", crate::framing::FACTS);
        let promotion = logged("m2", crate::framing::PROMOTION_FACTS);
        assert!(!is_read_only(&[]));
        assert!(is_read_only(std::slice::from_ref(&framing)));
        assert!(!is_read_only(&[framing, promotion.clone()]));
        assert!(!is_read_only(&[promotion]));
    }

    #[test]
    fn side_note_that_was_withdrawn_is_known_as_such() {
        let note = |message, child, through| {
            let facts = handback(child, through).facts(1, 0).expect("facts");
            logged(message, &facts)
        };
        let gone = withdrawal_facts("c", "m1").expect("facts");
        let own =
            [note("m1", "c", 4), note("m2", "other", 4), note("m3", "c", 9), logged("m4", &gone)];
        let found: Vec<_> = handbacks(&own, "c")
            .map(|(logged, note, withdrawn)| (logged.message.as_str(), note.through, withdrawn))
            .collect();
        assert_eq!(found, [("m1", 4, true), ("m3", 9, false)]);
        assert_ne!(handback("c", 4).key(0), handback("c", 4).key(1));
    }

    #[test]
    fn side_handback_is_asked_once_for_the_same_events_and_instruction() {
        let ask = |through, instruction: &str, key| {
            let request =
                Request { through, instruction: instruction.to_owned(), key: String::new() };
            logged("m", &stamped(&request.facts().expect("facts"), key))
        };
        let own = [ask(4, "", "a"), ask(4, "only \"x\"", "b"), ask(9, "", "c")];
        let key = |through, instruction| {
            request(&own, through, instruction).map(|request| request.key.as_str())
        };
        assert_eq!(
            (key(4, ""), key(4, "only \"x\""), key(4, "else")),
            (Some("b"), Some("b"), None)
        );
        assert_eq!((key(9, ""), key(12, "")), (Some("c"), None));
        assert_eq!(requests(&own, 4).count(), 2);
    }
}
