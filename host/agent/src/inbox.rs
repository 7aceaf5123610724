//! What waits for an agent, and the durable splices that say so.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use dsh_session::{Draft, Json, Message};

use crate::{LogError, lifecycle};

/// The type of the event that changes an inbox.
pub(crate) const SPLICED: &str = "agent/inbox/spliced";

/// Which list of an inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// Prompts: each opens a turn of its own.
    NextTurn,
    /// What joins the next step of a running turn, or the first step of the next one.
    NextStep,
}

/// Why an inbox does not take a message.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum InboxError {
    /// An id waits once at most.
    #[error("a message with the id {0:?} is waiting already")]
    Waiting(String),
    /// Only messages of the user role wait: prompts and context.
    #[error("the message {0:?} does not have the user role")]
    Role(String),
}

/// What waits: a projection of `agent/inbox/spliced` events (contracts §5.4).
///
/// It never changes by itself: it plans a [`Splice`], the caller logs it, and then applies it.
#[derive(Clone, Debug, Default)]
pub struct Inbox {
    next_turn: Vec<Message>,
    next_step: Vec<Message>,
}

/// One change of one list, as the log keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct Splice {
    /// The list.
    pub target: Target,
    /// Where, from zero.
    pub start: usize,
    /// How many messages go.
    pub removed: usize,
    /// What comes in their place.
    pub inserted: Vec<Message>,
    /// Whether what goes was taken back; otherwise a step has claimed it.
    pub canceled: bool,
}

impl Inbox {
    /// What waits in one list, first the next to go.
    pub fn waiting(&self, target: Target) -> &[Message] {
        match target {
            Target::NextTurn => &self.next_turn,
            Target::NextStep => &self.next_step,
        }
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.next_turn.is_empty() && self.next_step.is_empty()
    }

    /// Where the message waits.
    pub fn find(&self, id: &str) -> Option<(Target, usize)> {
        [Target::NextStep, Target::NextTurn].into_iter().find_map(|target| {
            let place = self.waiting(target).iter().position(|message| message.id() == id)?;
            Some((target, place))
        })
    }

    /// Plans to put `inserted` where `removed` messages from `start` on were, clamped as `Array.splice` does; none
    /// where nothing would change.
    ///
    /// # Errors
    /// When a message would wait twice, or must not wait at all.
    pub fn splice(
        &self,
        target: Target,
        start: i64,
        removed: u64,
        inserted: Vec<Message>,
    ) -> Result<Option<Splice>, InboxError> {
        let length = self.waiting(target).len();
        let start = match usize::try_from(start) {
            Ok(start) => start.min(length),
            Err(_) => {
                length.saturating_sub(usize::try_from(start.unsigned_abs()).unwrap_or(usize::MAX))
            }
        };
        let removed = usize::try_from(removed).unwrap_or(usize::MAX).min(length - start);
        if removed == 0 && inserted.is_empty() {
            return Ok(None);
        }
        let splice = Splice { target, start, removed, inserted, canceled: removed > 0 };
        self.check(&splice)?;
        Ok(Some(splice))
    }

    /// Plans to add `message` at the end of a list.
    ///
    /// # Errors
    /// See [`Inbox::splice`].
    pub fn push(&self, target: Target, message: Message) -> Result<Splice, InboxError> {
        let start = self.waiting(target).len();
        let splice = Splice { target, start, removed: 0, inserted: vec![message], canceled: false };
        self.check(&splice)?;
        Ok(splice)
    }

    /// Plans to take back everything that may be taken back.
    pub fn clear(&self) -> Vec<Splice> {
        let mut all = self.take_for_step();
        all.extend(self.take_prompts(usize::MAX));
        all.into_iter().map(|splice| Splice { canceled: true, ..splice }).collect()
    }

    /// Plans what a step takes: what waits for it and, with `prompt`, one prompt.
    pub fn claim(&self, prompt: bool) -> Vec<Splice> {
        let mut parts = self.take_for_step();
        parts.extend(self.take_prompts(usize::from(prompt)));
        parts
    }

    /// Makes a logged change and gives what it removed.
    ///
    /// What does not fit, in a log that others wrote, is clamped.
    pub fn apply(&mut self, splice: &Splice) -> Vec<Message> {
        let list = match splice.target {
            Target::NextTurn => &mut self.next_turn,
            Target::NextStep => &mut self.next_step,
        };
        let start = splice.start.min(list.len());
        let end = start.saturating_add(splice.removed).min(list.len());
        list.splice(start..end, splice.inserted.iter().cloned()).collect()
    }

    /// What waits for a step, run by run, but for messages with a key: they enter by another way.
    fn take_for_step(&self) -> Vec<Splice> {
        let mut splices: Vec<Splice> = Vec::new();
        let mut kept = 0;
        for message in &self.next_step {
            if message.source().key().is_some() {
                kept += 1;
                continue;
            }
            // What was taken before is gone, so the next run starts where the kept ones end.
            match splices.last_mut() {
                Some(run) if run.start == kept => run.removed += 1,
                _ => splices.push(Splice::taking(Target::NextStep, kept, 1)),
            }
        }
        splices
    }

    fn take_prompts(&self, most: usize) -> Option<Splice> {
        let removed = self.next_turn.len().min(most);
        (removed > 0).then(|| Splice::taking(Target::NextTurn, 0, removed))
    }

    fn check(&self, splice: &Splice) -> Result<(), InboxError> {
        let stays = |target: Target| {
            let gone = if target == splice.target { splice.removed } else { 0 };
            let list = self.waiting(target).iter().enumerate();
            list.filter(move |(place, _)| !(splice.start..splice.start + gone).contains(place))
        };
        let mut waiting: HashSet<&str> = stays(Target::NextStep)
            .chain(stays(Target::NextTurn))
            .map(|(_, message)| message.id())
            .collect();
        for message in &splice.inserted {
            if message.role() != dsh_session::Role::User {
                return Err(InboxError::Role(message.id().to_owned()));
            }
            if !waiting.insert(message.id()) {
                return Err(InboxError::Waiting(message.id().to_owned()));
            }
        }
        Ok(())
    }
}

impl Splice {
    fn taking(target: Target, start: usize, removed: usize) -> Self {
        Self { target, start, removed, inserted: Vec::new(), canceled: false }
    }

    /// The event that logs it.
    pub(crate) fn draft(&self) -> Result<Draft, LogError> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Data<'a> {
            target: Target,
            start: usize,
            #[serde(skip_serializing_if = "Option::is_none")]
            removed_count: Option<usize>,
            inserted: Vec<&'a Json>,
            #[serde(skip_serializing_if = "Option::is_none")]
            outcome: Option<&'static str>,
        }
        lifecycle::draft(
            SPLICED,
            &Data {
                target: self.target,
                start: self.start,
                removed_count: (self.removed > 0).then_some(self.removed),
                inserted: self.inserted.iter().map(Message::json).collect(),
                outcome: self.canceled.then_some("canceled"),
            },
        )
    }

    /// Reads a logged one; none where it does not have its shape.
    pub fn parse(data: &Json) -> Option<Self> {
        let data = data.object().ok()?;
        let inserted: Vec<Json> = data.read("inserted")?;
        Some(Self {
            target: data.read("target")?,
            start: data.read("start")?,
            removed: data.read("removedCount").unwrap_or(0),
            inserted: inserted.into_iter().map(Message::parse).collect::<Result<_, _>>().ok()?,
            canceled: data.get("outcome").is_some(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: &str) -> Message {
        let source = Json::parse(r#"{"kind":"user"}"#).unwrap();
        Message::user(id, &source, &[]).unwrap()
    }

    /// An inbox with these ids waiting, for the next turn and for the next step.
    fn inbox(next_turn: &[&str], next_step: &[&str]) -> Inbox {
        let messages = |ids: &[&str]| ids.iter().map(|id| message(id)).collect();
        Inbox { next_turn: messages(next_turn), next_step: messages(next_step) }
    }

    fn ids(messages: &[Message]) -> Vec<&str> {
        messages.iter().map(Message::id).collect()
    }

    /// Checks where a splice of [a, b, c] starts and how many it removes.
    #[track_caller]
    fn check_clamped(start: i64, removed: u64, expected: Option<(usize, usize)>) {
        let splice = inbox(&["a", "b", "c"], &[]).splice(Target::NextTurn, start, removed, vec![]);
        assert_eq!(splice.unwrap().map(|splice| (splice.start, splice.removed)), expected);
    }

    #[test]
    fn splices_are_clamped_as_arrays_do_it() {
        check_clamped(1, 1, Some((1, 1)));
        check_clamped(1, 9, Some((1, 2)));
        check_clamped(-1, 1, Some((2, 1)));
        check_clamped(-9, 2, Some((0, 2)));
        check_clamped(i64::MIN, u64::MAX, Some((0, 3)));
        check_clamped(3, 1, None);
        check_clamped(i64::MAX, 1, None);
        check_clamped(0, 0, None);
    }

    #[test]
    fn a_claim_takes_the_steering_and_one_prompt() {
        let mut inbox = inbox(&["p", "q"], &["s", "t"]);
        let claim = inbox.claim(true);
        let claimed: Vec<Message> = claim.iter().flat_map(|splice| inbox.apply(splice)).collect();
        assert_eq!(ids(&claimed), ["s", "t", "p"]);
        assert!(claim.iter().all(|splice| !splice.canceled));
        assert_eq!(ids(inbox.waiting(Target::NextTurn)), ["q"]);
        assert_eq!(inbox.claim(false), []);
    }

    #[test]
    fn clearing_takes_back_the_steering_first() {
        let clear = inbox(&["p"], &["s"]).clear();
        let targets: Vec<Target> = clear.iter().map(|splice| splice.target).collect();
        assert_eq!(targets, [Target::NextStep, Target::NextTurn]);
        assert!(clear.iter().all(|splice| splice.canceled));
        assert_eq!(inbox(&[], &[]).clear(), []);
    }

    #[test]
    fn an_id_waits_once_over_both_lists() {
        let inbox = inbox(&["a"], &["b"]);
        let twice = |id: &str| InboxError::Waiting(id.into());
        assert_eq!(inbox.push(Target::NextTurn, message("b")), Err(twice("b")));
        assert_eq!(inbox.push(Target::NextStep, message("a")), Err(twice("a")));
        let both = vec![message("c"), message("c")];
        assert_eq!(inbox.splice(Target::NextStep, 0, 0, both), Err(twice("c")));
    }

    #[test]
    fn an_edited_message_keeps_its_id() {
        let splice = inbox(&["a"], &[]).splice(Target::NextTurn, 0, 1, vec![message("a")]);
        assert!(splice.unwrap().unwrap().canceled);
    }

    #[test]
    fn an_answer_of_the_model_does_not_wait() {
        let source = Json::parse(r#"{"kind":"model","provider":"p","model":"m"}"#).unwrap();
        let answer = Message::assistant("a", &source, &[]).unwrap();
        let refused = inbox(&[], &[]).push(Target::NextStep, answer);
        assert_eq!(refused, Err(InboxError::Role("a".into())));
    }

    #[test]
    fn a_splice_is_read_as_it_was_written() {
        for data in [
            r#"{"target":"next-turn","start":1,"removedCount":1,"inserted":[{"content":[],"source":{"kind":"user"},"role":"user","id":"a"}],"outcome":"canceled"}"#,
            r#"{"target":"next-step","start":0,"removedCount":2,"inserted":[]}"#,
            r#"{"target":"next-turn","start":0,"inserted":[]}"#,
        ] {
            let data = Json::parse(data).unwrap();
            assert_eq!(Splice::parse(&data).unwrap().draft().unwrap().data, data);
        }
    }

    #[test]
    fn a_splice_that_does_not_fit_is_clamped() {
        let mut inbox = inbox(&["a"], &[]);
        let data = r#"{"target":"next-turn","start":7,"removedCount":7,"inserted":[]}"#;
        inbox.apply(&Splice::parse(&Json::parse(data).unwrap()).unwrap());
        assert_eq!(ids(inbox.waiting(Target::NextTurn)), ["a"]);
    }
}
