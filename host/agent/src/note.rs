//! Plugins' context messages that are recorded once: at once where no turn runs, else with the next step or right
//! after the turn's end.
//!
//! Such a message names its plugin and a key. While it waits it stands in the inbox of steps, where a restart finds it;
//! it passes no pre-step, wakes nobody, and neither a cancelled turn nor a closed agent discards it.

use thiserror::Error;

use dsh_session::{Draft, Message, SurfaceOp};

use crate::driver::{Shared, State};
use crate::{Agent, AgentError, Composition, LogError, Splice, Target};

/// What became of a message that was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The id of the message that the log has.
    pub message: String,
    /// Its place in the log; none while it waits for a step.
    pub seq: Option<u64>,
    /// Whether it was there before, under the same key.
    pub existed: bool,
}

/// Why a message cannot be withdrawn.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WithdrawError {
    /// The session's own history has no such message of that plugin.
    #[error("there is no message {0:?} of this plugin here")]
    NotFound(String),
    /// It was withdrawn before.
    #[error("the message was withdrawn already")]
    Withdrawn,
    /// A model has read it.
    #[error("the message was sent to the model already")]
    Sent,
    /// See [`AgentError`].
    #[error(transparent)]
    Agent(#[from] AgentError),
}

/// A message that waits, and the message of the claimed batch that came before it.
pub(crate) struct Due {
    id: String,
    after: Option<String>,
}

impl Agent {
    /// Records a context message whose source names a plugin and a `key`: there is one for each plugin and key in a
    /// session, which is checked together with the append. Done when it is on disk.
    ///
    /// # Errors
    /// When the agent was closed, the source has no key, or the log cannot be written. In the last case the message is
    /// kept, and comes to the disk with the next write; recording it again tells whether it did.
    pub async fn record(&self, message: Message) -> Result<Delivery, AgentError> {
        let delivery = self.shared().record(message)?;
        self.saved().await?;
        Ok(delivery)
    }

    /// Puts `instead` in the place of the message with this id, which the same plugin recorded, wherever a request
    /// would show that one.
    ///
    /// # Errors
    /// When there is no such message, or it is too late.
    pub async fn withdraw(&self, id: &str, instead: Message) -> Result<(), WithdrawError> {
        self.shared().withdraw(id, instead)?;
        Ok(self.saved().await?)
    }
}

impl Composition {
    /// The event that logs a message of the user role.
    pub fn user_message(&self, message: &Message) -> Draft {
        Draft::node(self.user_event(message), message.json().clone(), None)
    }

    fn user_event(&self, message: &Message) -> &'static str {
        let source = message.source();
        let plugin = source.plugin.as_deref().filter(|_| &*source.kind == "plugin");
        match plugin.is_some_and(|plugin| self.older_context.contains(plugin)) {
            true => "context/message",
            false => "user/message",
        }
    }
}

impl Shared {
    fn record(&self, message: Message) -> Result<Delivery, AgentError> {
        let source = message.source();
        let (Some(plugin), Some(key)) = (source.plugin.clone(), source.key()) else {
            return Err(AgentError::Keyless(message.id().to_owned()));
        };
        let mut state = self.state();
        if state.disposed {
            return Err(AgentError::Disposed);
        }
        let known = self.live().own_notes(&plugin);
        if let Some(known) = known.into_iter().find(|note| note.source.key() == Some(key.clone())) {
            return Ok(Delivery {
                message: known.message.to_string(),
                seq: known.seq,
                existed: true,
            });
        }
        let id = message.id().to_owned();
        let seq = if self.live().turn_is_open() {
            let splice = state.inbox.push(Target::NextStep, message)?;
            self.log_splice(&mut state, &splice)?;
            None
        } else {
            Some(self.append(Ok(state.composition.user_message(&message)))?.seq)
        };
        Ok(Delivery { message: id, seq, existed: false })
    }

    fn withdraw(&self, id: &str, instead: Message) -> Result<(), WithdrawError> {
        let mut state = self.state();
        if state.disposed {
            return Err(AgentError::Disposed.into());
        }
        let plugin = instead.source().plugin.clone().unwrap_or_default();
        let notes = self.live().own_notes(&plugin);
        let note = notes.iter().find(|note| &*note.message == id);
        let note = note.ok_or_else(|| WithdrawError::NotFound(id.to_owned()))?;
        let Some(seq) = note.seq else {
            return Ok(self.replace_waiting(&mut state, id, instead)?);
        };
        if notes.iter().any(|note| note.replaces == Some(seq)) {
            return Err(WithdrawError::Withdrawn);
        }
        let surface = self.live().surface();
        if state.asked_through > seq || surface.nodes().iter().all(|node| node.seq != seq) {
            return Err(WithdrawError::Sent);
        }
        let op = SurfaceOp::Replace { start: seq, end: seq };
        let draft = state.composition.user_message(&instead);
        let draft = Draft { surface_op: Some(op), sources: Some(vec![seq]), ..draft };
        self.append(Ok(draft)).map_err(AgentError::from)?;
        Ok(())
    }

    fn replace_waiting(
        &self,
        state: &mut State,
        id: &str,
        instead: Message,
    ) -> Result<(), AgentError> {
        let Some((target, place)) = state.inbox.find(id) else { return Ok(()) };
        let place = i64::try_from(place).unwrap_or(i64::MAX);
        if let Some(splice) = state.inbox.splice(target, place, 1, vec![instead])? {
            self.log_splice(state, &splice)?;
        }
        Ok(())
    }

    /// Notes which messages wait beside those that a step claims now, and where among them.
    pub(crate) fn note_due(state: &mut State) {
        let mut after = None;
        let mut due = Vec::new();
        for message in state.inbox.waiting(Target::NextStep) {
            let id = message.id().to_owned();
            if message.source().key().is_some() {
                due.push(Due { id, after: after.clone() });
            } else {
                after = Some(id);
            }
        }
        state.due = due;
    }

    /// The messages that enter a step, with those that waited beside them at their places; a place that did not enter
    /// is before them all.
    pub(crate) fn join_due(&self, entered: Vec<Message>) -> Result<Vec<Message>, LogError> {
        let mut state = self.state();
        let mut joined: Vec<Vec<Message>> = vec![Vec::new(); entered.len() + 1];
        for due in std::mem::take(&mut state.due) {
            let place =
                entered.iter().position(|message| Some(message.id()) == due.after.as_deref());
            let Some(waiting) = self.take_waiting(&mut state, &due.id)? else { continue };
            if let Some(joined) = joined.get_mut(place.map_or(0, |place| place + 1)) {
                joined.push(waiting);
            }
        }
        let mut joined = joined.into_iter();
        let mut all = joined.next().unwrap_or_default();
        for (message, after) in entered.into_iter().zip(joined) {
            all.push(message);
            all.extend(after);
        }
        Ok(all)
    }

    /// Logs what waits, between turns.
    pub(crate) fn log_waiting(&self, state: &mut State) -> Result<(), LogError> {
        let waiting = state.inbox.waiting(Target::NextStep).iter();
        let ids = waiting.filter(|message| message.source().key().is_some());
        for id in ids.map(|message| message.id().to_owned()).collect::<Vec<_>>() {
            if let Some(message) = self.take_waiting(state, &id)? {
                self.append(Ok(state.composition.user_message(&message)))?;
            }
        }
        Ok(())
    }

    /// Logs what an earlier process left behind: messages that waited, and those that a step had claimed.
    pub(crate) fn log_left_behind(&self) -> Result<(), LogError> {
        let mut state = self.state();
        if self.live().turn_is_open() {
            return Ok(());
        }
        for message in self.live().lost_notes() {
            self.append(Ok(state.composition.user_message(&message)))?;
        }
        self.log_waiting(&mut state)
    }

    fn take_waiting(&self, state: &mut State, id: &str) -> Result<Option<Message>, LogError> {
        let Some((target, start)) = state.inbox.find(id) else { return Ok(None) };
        let inserted = Vec::new();
        let splice = Splice { target, start, removed: 1, inserted, canceled: false };
        Ok(self.log_splice(state, &splice)?.pop())
    }
}
