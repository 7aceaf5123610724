//! A turn on a plugin's message, and the text that came of it.

use std::sync::Arc;

use thiserror::Error;
use tokio::sync::oneshot;

use dsh_session::{Block, Message};

use crate::driver::Shared;
use crate::{Agent, AgentError, Cause, Inbox, TurnEnd};

/// What a turn that was asked for came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The last text of the model in it that is not blank.
    pub text: String,
    /// The last event of that turn.
    pub last_seq: u64,
}

/// Why a turn that was asked for came to nothing.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AskError {
    /// It ended otherwise than well.
    #[error("the turn did not complete")]
    Ended(TurnEnd),
    /// The model said nothing.
    #[error("the model answered without a text")]
    NoText,
    /// The message was taken back before a turn claimed it.
    #[error("the message was taken back before its turn")]
    TakenBack,
    /// See [`AgentError`].
    #[error(transparent)]
    Agent(#[from] AgentError),
}

/// Somebody who waits for a turn.
pub(crate) struct Waiting {
    /// The message that the turn is asked with.
    id: String,
    /// The turn that claimed it.
    turn: Option<u64>,
    ended: oneshot::Sender<Ended>,
}

/// How such a turn ended.
pub(crate) struct Ended {
    end: TurnEnd,
    text: Option<String>,
    seq: Option<u64>,
}

impl Agent {
    /// Queues `message` as a prompt and waits for the end of its turn; a turn that runs already is waited for.
    ///
    /// Dropping the future takes the message back, or cancels its turn.
    ///
    /// # Errors
    /// When the message cannot wait, or its turn came to no text.
    pub async fn ask(&self, message: Message) -> Result<Answer, AskError> {
        let id = message.id().to_owned();
        let ended = self.shared().await_turn(&id);
        let _given_up = GiveUp { shared: self.shared(), id: &id };
        self.followup(message).await?;
        let Ended { end, text, seq } = ended.await.map_err(|_| AskError::TakenBack)?;
        // What was answered can be asked for again, so it must be there then.
        self.saved().await?;
        match (end, text, seq) {
            (TurnEnd::Completed | TurnEnd::MaxTokens, Some(text), Some(last_seq)) => {
                Ok(Answer { text, last_seq })
            }
            (TurnEnd::Completed | TurnEnd::MaxTokens, ..) => Err(AskError::NoText),
            (end, ..) => Err(AskError::Ended(end)),
        }
    }
}

impl Shared {
    fn await_turn(&self, id: &str) -> oneshot::Receiver<Ended> {
        let (ended, receiver) = oneshot::channel();
        self.state().awaited.0.push(Waiting { id: id.to_owned(), turn: None, ended });
        receiver
    }

    fn give_up(&self, id: &str) {
        let mut state = self.state();
        let Some(place) = state.awaited.0.iter().position(|waiting| waiting.id == id) else {
            return;
        };
        let waiting = state.awaited.0.swap_remove(place);
        drop(state);
        // Where the log cannot say so, the turn is cancelled all the same.
        let _ = match waiting.turn {
            Some(_) => self.cancel(Cause::User, true).map_err(AgentError::from),
            None => self.replace(id, Vec::new()).map(drop),
        };
    }
}

/// Those who wait for turns.
#[derive(Default)]
pub(crate) struct Awaited(Vec<Waiting>);

impl Awaited {
    /// Whether somebody waits for a turn that has not begun: it comes, however the one before it ended.
    pub(crate) fn is_due(&self, inbox: &Inbox) -> bool {
        let due = |waiting: &Waiting| waiting.turn.is_none() && inbox.find(&waiting.id).is_some();
        self.0.iter().any(due)
    }

    /// A turn has claimed these messages.
    pub(crate) fn claimed(&mut self, turn: u64, messages: &[Message]) {
        for waiting in &mut self.0 {
            if messages.iter().any(|message| message.id() == waiting.id) {
                waiting.turn = Some(turn);
            }
        }
    }

    /// These messages were taken back.
    pub(crate) fn taken_back(&mut self, messages: &[Message]) {
        self.0.retain(|waiting| messages.iter().all(|message| message.id() != waiting.id));
    }

    /// A turn is over, with the event at `seq`.
    pub(crate) fn ended(&mut self, turn: u64, end: &TurnEnd, text: Option<&str>, seq: Option<u64>) {
        let waiting = std::mem::take(&mut self.0).into_iter();
        let (over, rest): (Vec<_>, _) = waiting.partition(|waiting| waiting.turn == Some(turn));
        self.0 = rest;
        for waiting in over {
            // Nobody may be waiting any more.
            let text = text.map(str::to_owned);
            let _ = waiting.ended.send(Ended { end: end.clone(), text, seq });
        }
    }
}

/// The text of a reply, where it is not blank.
pub(crate) fn reply_text(reply: &Message) -> Option<String> {
    let texts: Vec<&str> = reply.blocks().iter().filter_map(Block::text).collect();
    let text = texts.join("\n");
    (!text.trim().is_empty()).then_some(text)
}

/// Takes back what was asked for.
struct GiveUp<'a> {
    shared: &'a Arc<Shared>,
    id: &'a str,
}

impl Drop for GiveUp<'_> {
    fn drop(&mut self) {
        self.shared.give_up(self.id);
    }
}
