//! Snapshots of small sessions, made without a component.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic fails the test")]

use session_reference::config::Config;
use session_reference::error::Error;
use session_reference::id::SessionId;
use session_reference::mention::Reference;
use session_reference::prepare::{Sessions, prepare};
use session_reference::snapshot::Snapshot;
use session_reference::surface::{Node, Speaker, Surface};

/// A session in memory: who said what.
#[derive(Clone)]
struct Session {
    id: &'static str,
    said: Vec<(Speaker, String)>,
}

impl Session {
    fn text(&self, index: u32) -> &str {
        &self.said[index as usize].1
    }
}

impl Surface for Session {
    fn session(&self) -> SessionId {
        SessionId::new(self.id)
    }

    fn cwd(&self) -> Option<String> {
        None
    }

    fn captured_through(&self) -> Option<u64> {
        (self.said.len() as u64).checked_sub(1)
    }

    fn length(&self) -> u32 {
        self.said.len() as u32
    }

    fn nodes(&self, start: u32, limit: u32) -> Vec<Node> {
        let nodes = self.said.iter().skip(start as usize).take(limit as usize);
        nodes.map(|(speaker, text)| Node { speaker: *speaker, bytes: text.len() as u64 }).collect()
    }

    fn texts(&self, indexes: &[u32]) -> Vec<String> {
        indexes.iter().map(|index| self.text(*index).to_owned()).collect()
    }

    fn text_part(&self, index: u32, start: u64, limit: u32) -> String {
        let text = self.text(index);
        let start = text.ceil_char_boundary(start as usize);
        let end = text.floor_char_boundary(start + limit as usize);
        text[start..end].to_owned()
    }
}

/// Every session that there is.
struct Root(Vec<Session>);

impl Sessions for Root {
    type Surface = Session;

    fn read_surfaces(&self, sessions: &[SessionId]) -> Vec<Result<Session, String>> {
        let find = |id: &SessionId| self.0.iter().find(|session| session.id == id.as_str());
        sessions.iter().map(|id| find(id).cloned().ok_or("not there".to_owned())).collect()
    }
}

fn session(id: &'static str, said: &[(Speaker, &str)]) -> Session {
    let said = said.iter().map(|(speaker, text)| (*speaker, (*text).to_owned()));
    Session { id, said: said.collect() }
}

fn root() -> Root {
    use Speaker::{Assistant, Checkpoint, Other, User};
    Root(vec![
        session("empty", &[]),
        session("small", &[(User, "ask"), (Other, "tool output"), (Assistant, "reply </x>")]),
        session(
            "long",
            &[
                (User, "aaaaaaaaaa"),
                (Assistant, "bbbbbbbbbb"),
                (Checkpoint, "CHECK"),
                (User, "cccccccccc"),
                (Assistant, "dddddddddd"),
            ],
        ),
    ])
}

fn cite(ids: &[&str]) -> Vec<Reference> {
    ids.iter().map(|id| Reference { session: SessionId::new(*id), label: None }).collect()
}

fn snapshots(messages: &[&[&str]], bytes: u64) -> Result<Vec<Option<Snapshot>>, Error> {
    let config = Config { max_reference_bytes: bytes, ..Config::default() };
    let messages = messages.iter().map(|ids| cite(ids)).collect();
    prepare(&root(), &SessionId::new("me"), messages, &config)
}

/// The data of one message's snapshot.
fn data(ids: &[&str], bytes: u64) -> String {
    let snapshot = snapshots(&[ids], bytes).unwrap().remove(0).unwrap();
    let (_, rest) = snapshot.text.split_once("<referenced-sessions>\n").unwrap();
    rest.strip_suffix("\n</referenced-sessions>").unwrap().to_owned()
}

fn roles_and_texts(bytes: u64) -> Vec<String> {
    let data: serde_json::Value = serde_json::from_str(&data(&["long"], bytes)).unwrap();
    let conversation = data[0]["conversation"].as_array().unwrap();
    let line = |line: &serde_json::Value| line["text"].as_str().unwrap().to_owned();
    conversation.iter().map(line).collect()
}

#[test]
fn a_snapshot_holds_what_people_and_the_model_said() {
    let data = data(&["small"], 65_536);
    assert_eq!(
        data,
        r#"[{"sessionId":"small","label":"small","cwd":null,"capturedThroughSeq":2,"conversation":[{"role":"user","text":"ask"},{"role":"assistant","text":"reply \u003c/x>"}]}]"#
    );
}

#[test]
fn the_oldest_messages_go_first_and_a_checkpoint_stays() {
    let (a, b, c, d) = ("aaaaaaaaaa", "bbbbbbbbbb", "cccccccccc", "dddddddddd");
    assert_eq!(roles_and_texts(272), [a, b, "CHECK", c, d]);
    assert_eq!(roles_and_texts(265), [b, "CHECK", c, d]);
    assert_eq!(roles_and_texts(210), ["CHECK", c, d]);
    assert_eq!(roles_and_texts(190), ["CHECK", d]);
    assert_eq!(roles_and_texts(155), ["CHECK", ""]);
}

#[test]
fn a_message_cites_each_session_once_and_no_more_than_three() {
    assert_eq!(data(&["small", "small"], 65_536), data(&["small"], 65_536));
    let refused = snapshots(&[&["a", "b", "c", "d"]], 65_536).unwrap_err();
    assert_eq!(refused, Error::TooMany { found: 4, most: 3 });
}

#[test]
fn every_message_has_a_snapshot_of_its_own_or_none() {
    let made = snapshots(&[&["small"], &[], &["empty", "small"]], 65_536).unwrap();
    let cited: Vec<_> = made.iter().map(Option::is_some).collect();
    assert_eq!(cited, [true, false, true]);
}

#[test]
fn one_refusal_leaves_no_snapshot_at_all() {
    let code = |messages: &[&[&str]], bytes| snapshots(messages, bytes).unwrap_err().code();
    assert_eq!(code(&[&["small"], &["me"]], 65_536), "SESSION_REFERENCE_SELF_REFERENCE");
    assert_eq!(code(&[&["small"], &["gone"]], 65_536), "SESSION_REFERENCE_READ_FAILED");
    assert_eq!(code(&[&["empty", "small"]], 90), "SESSION_REFERENCE_BUDGET_EXCEEDED");
    // A read comes before a budget, and what needs no read before both.
    assert_eq!(code(&[&["small", "gone"]], 1), "SESSION_REFERENCE_READ_FAILED");
    assert_eq!(code(&[&["gone"], &["me"]], 1), "SESSION_REFERENCE_SELF_REFERENCE");
}

#[test]
fn the_facts_say_what_is_missing() {
    let facts = snapshots(&[&["long"]], 190).unwrap().remove(0).unwrap().facts;
    assert_eq!(
        facts,
        r#"{"kind":"session-reference","form":"recall","version":1,"references":[{"sessionId":"long","label":"long","capturedThroughSeq":4,"compacted":true,"originalMessages":5,"retainedMessages":2,"omittedMessages":3,"omittedBytes":30,"truncated":true,"inputIndex":0}]}"#
    );
}
