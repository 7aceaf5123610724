//! Context messages that plugins put into a session's own history, logged or still waiting.

use std::sync::Arc;

use crate::number::safe_count;
use crate::{Event, Fold, Header, Message, Object, Source};

/// A context message of a plugin.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// Its place in the log; none while it waits in the inbox.
    pub seq: Option<u64>,
    /// The message's id.
    pub message: Arc<str>,
    /// Its source; the kind is `plugin`.
    pub source: Source,
}

/// Every plugin's notes, event by event. What a fork inherited is not its own, and its inbox starts empty.
#[derive(Debug)]
pub(crate) struct NotesFold {
    own_from: u64,
    logged: Vec<Note>,
    /// What waits for the next turn and for the next step; of other messages only their place counts.
    waiting: [Vec<Option<Note>>; 2],
}

impl NotesFold {
    pub(crate) fn new(header: &Header) -> Self {
        let own_from = header.seed_length.unwrap_or(0);
        Self { own_from, logged: Vec::new(), waiting: [Vec::new(), Vec::new()] }
    }

    /// The notes of `plugin` in log order, waiting ones last; shadowed ones too.
    pub(crate) fn of(&self, plugin: &str) -> Vec<Note> {
        let waiting = self.waiting.iter().flatten().flatten();
        let waiting =
            waiting.filter(|note| self.logged.iter().all(|logged| logged.message != note.message));
        let notes = self.logged.iter().chain(waiting);
        notes.filter(|note| note.source.plugin.as_deref() == Some(plugin)).cloned().collect()
    }

    fn splice(&mut self, data: &Object<'_>) -> Option<()> {
        let queue = match &*data.text("target")? {
            "next-turn" => 0,
            "next-step" => 1,
            _ => return None,
        };
        let queue = self.waiting.get_mut(queue)?;
        let count =
            |name: &str| data.get(name).and_then(|raw| safe_count(raw.get())).unwrap_or(0) as usize;
        let start = count("start").min(queue.len());
        let end = start.saturating_add(count("removedCount")).min(queue.len());
        let inserted = data.list("inserted")?;
        let inserted = inserted.into_iter().map(|json| note(&Message::parse(json).ok()?, None));
        queue.splice(start..end, inserted);
        Some(())
    }
}

impl Fold for NotesFold {
    fn event(&mut self, event: &Event) {
        if event.seq < self.own_from {
            return;
        }
        match &*event.kind {
            "user/message" => {
                let message = Message::parse(event.data.clone()).ok();
                self.logged.extend(message.and_then(|message| note(&message, Some(event.seq))));
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
    fn what_was_inherited_is_not_its_own() {
        let waits = spliced("next-turn", 0, 0, &[message("n2", "a")]);
        check(vec![logged("n1", "a"), waits, logged("n3", "a")], Some(2), &[(Some(2), "n3")]);
    }
}
