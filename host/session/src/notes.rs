//! Context messages that plugins put into a session's own history, logged or still waiting.

use std::sync::Arc;

use crate::number::safe_count;
use crate::vocabulary::adds_user_message;
use crate::{Event, Fold, Header, Message, Object, Source, SurfaceOp};

/// A context message of a plugin.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// Its place in the log; none while it waits in the inbox.
    pub seq: Option<u64>,
    /// The message's id.
    pub message: Arc<str>,
    /// Its source; the kind is `plugin`.
    pub source: Source,
    /// The event in whose place it stands; none where it was added.
    pub replaces: Option<u64>,
}

/// Every plugin's notes, event by event. What a fork inherited is not its own, and its inbox starts empty.
#[derive(Debug)]
pub(crate) struct NotesFold {
    own_from: u64,
    logged: Vec<Note>,
    /// What waits for the next turn and for the next step; of what is no message only its place counts.
    waiting: [Vec<Option<Message>>; 2],
    /// Messages with a key that a step has claimed, and that no event of the log holds.
    claimed: Vec<Message>,
}

/// The queue that steps claim, among those that wait.
const NEXT_STEP: usize = 1;

impl NotesFold {
    pub(crate) fn new(header: &Header) -> Self {
        let own_from = header.seed_length.unwrap_or(0);
        let waiting = [Vec::new(), Vec::new()];
        Self { own_from, logged: Vec::new(), waiting, claimed: Vec::new() }
    }

    /// Every plugin's notes, as of [`Self::of`].
    pub(crate) fn all(&self) -> impl Iterator<Item = Note> {
        let waiting =
            self.waiting.iter().flatten().flatten().filter_map(|message| note(message, None));
        let unknown = |note: &Note| self.logged.iter().all(|logged| logged.message != note.message);
        self.logged.iter().cloned().chain(waiting.filter(unknown))
    }

    /// Messages with a key that were on their way into history when the process died that carried them there.
    pub(crate) fn lost(&self) -> &[Message] {
        &self.claimed
    }

    /// The notes of `plugin` in log order, waiting ones last; shadowed ones too.
    pub(crate) fn of(&self, plugin: &str) -> Vec<Note> {
        self.all().filter(|note| note.source.plugin.as_deref() == Some(plugin)).collect()
    }

    fn splice(&mut self, data: &Object<'_>) -> Option<()> {
        let queue = match &*data.text("target")? {
            "next-turn" => 0,
            "next-step" => NEXT_STEP,
            _ => return None,
        };
        let claims = queue == NEXT_STEP && data.get("outcome").is_none();
        let queue = self.waiting.get_mut(queue)?;
        let count =
            |name: &str| data.get(name).and_then(|raw| safe_count(raw.get())).unwrap_or(0) as usize;
        let start = count("start").min(queue.len());
        let end = start.saturating_add(count("removedCount")).min(queue.len());
        let inserted = data.list("inserted")?;
        let inserted = inserted.into_iter().map(|json| Message::parse(json).ok());
        let removed = queue.splice(start..end, inserted).flatten();
        self.claimed.extend(removed.filter(|message| claims && message.source().key().is_some()));
        Some(())
    }
}

impl Fold for NotesFold {
    fn event(&mut self, event: &Event) {
        if event.seq < self.own_from {
            return;
        }
        match &*event.kind {
            kind if adds_user_message(kind) => {
                let Ok(message) = Message::parse(event.data.clone()) else { return };
                self.claimed.retain(|claimed| claimed.id() != message.id());
                let replaces = match event.surface_op {
                    Some(SurfaceOp::Replace { start, end }) if start == end => Some(start),
                    _ => None,
                };
                let note = note(&message, Some(event.seq));
                self.logged.extend(note.map(|note| Note { replaces, ..note }));
            }
            "agent/inbox/spliced" => {
                let _ = event.data.object().ok().and_then(|data| self.splice(&data));
            }
            _ => {}
        }
    }

    fn wants_chunks(&self) -> bool {
        false
    }
}

fn note(message: &Message, seq: Option<u64>) -> Option<Note> {
    let source = message.source();
    (&*source.kind == "plugin").then(|| Note {
        seq,
        message: message.id().into(),
        source: source.clone(),
        replaces: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Draft, Json, SessionId};

    fn message(id: &str, plugin: &str) -> String {
        format!(
            r#"{{"id":"{id}","role":"user","content":[],"source":{{"kind":"plugin","plugin":"{plugin}"}}}}"#
        )
    }

    fn spliced(target: &str, start: usize, removed: usize, inserted: &[String]) -> Draft {
        let data = format!(
            r#"{{"target":"{target}","start":{start},"removedCount":{removed},"inserted":[{}]}}"#,
            inserted.join(",")
        );
        Draft::new("agent/inbox/spliced", Json::parse(&data).unwrap())
    }

    #[track_caller]
    fn check(drafts: Vec<Draft>, seed_length: Option<u64>, expected: &[(Option<u64>, &str)]) {
        let mut header = Header::new(SessionId::new("s"), 0, None);
        header.seed_length = seed_length;
        let mut notes = NotesFold::new(&header);
        for (seq, draft) in (0..).zip(drafts) {
            notes.event(&draft.at(seq, 0));
        }
        let notes = notes.of("a");
        let found: Vec<_> = notes.iter().map(|note| (note.seq, &*note.message)).collect();
        assert_eq!(found, expected);
    }

    fn logged(id: &str, plugin: &str) -> Draft {
        Draft::node("user/message", Json::parse(&message(id, plugin)).unwrap(), None)
    }

    #[test]
    fn a_note_waits_and_is_then_logged() {
        let wait = || {
            spliced(
                "next-step",
                0,
                0,
                &[message("n1", "a"), message("n2", "b"), message("n3", "a")],
            )
        };
        check(vec![wait()], None, &[(None, "n1"), (None, "n3")]);
        let claim = || spliced("next-step", 0, 2, &[]);
        check(vec![wait(), claim(), logged("n1", "a")], None, &[(Some(2), "n1"), (None, "n3")]);
    }

    #[test]
    fn a_keyed_note_that_was_claimed_and_not_logged_is_lost() {
        let keyed = message("n1", "a").replace(r#""plugin":"a""#, r#""plugin":"a","key":"k""#);
        let mut notes = NotesFold::new(&Header::new(SessionId::new("s"), 0, None));
        let mut lost = |seq, draft: Draft| {
            notes.event(&draft.at(seq, 0));
            notes.lost().iter().map(|message| message.id().to_owned()).collect::<Vec<_>>()
        };
        let wait = spliced("next-step", 0, 0, &[message("n0", "a"), keyed.clone()]);
        assert!(lost(0, wait).is_empty());
        assert_eq!(lost(1, spliced("next-step", 0, 2, &[])), ["n1"]);
        let older = Draft::node("context/message", Json::parse(&keyed).unwrap(), None);
        assert!(lost(2, older).is_empty());
    }

    #[test]
    fn a_note_says_in_whose_place_it_stands() {
        let mut notes = NotesFold::new(&Header::new(SessionId::new("s"), 0, None));
        notes.event(&logged("n1", "a").at(0, 0));
        let op = Some(SurfaceOp::Replace { start: 0, end: 0 });
        notes.event(&Draft { surface_op: op, ..logged("n2", "a") }.at(1, 0));
        let places: Vec<_> = notes.of("a").iter().map(|note| note.replaces).collect();
        assert_eq!(places, [None, Some(0)]);
    }

    #[test]
    fn what_was_inherited_is_not_its_own() {
        let waits = spliced("next-turn", 0, 0, &[message("n2", "a")]);
        check(vec![logged("n1", "a"), waits, logged("n3", "a")], Some(2), &[(Some(2), "n3")]);
    }
}
