//! The handle of a running agent.

use std::sync::{Arc, Weak};

use tokio::runtime::Handle;
use tokio::sync::watch;

use dsh_session::{Json, Live, Message, MessageError};

use crate::driver::Shared;
use crate::{AgentError, Cause, Composition, LogError, Progress, Target, TurnEnd};

/// Makes ids for messages: each call another one, unique in the session. The real client makes UUIDs of version 4.
pub type MessageIds = Arc<dyn Fn() -> String + Send + Sync>;

/// An agent on a session. Cheap to clone; each clone is the same agent.
///
/// A task drives it while there is something to do, on the runtime that it was started on.
#[derive(Clone)]
pub struct Agent(Arc<Shared>);

/// An agent, as long as somebody holds it or it runs.
#[derive(Clone)]
pub struct WeakAgent(Weak<Shared>);

impl WeakAgent {
    /// The agent; none where it is gone, or was closed.
    pub fn upgrade(&self) -> Option<Agent> {
        let agent = Agent(self.0.upgrade()?);
        let open = *agent.status().borrow() != Status::Disposed;
        open.then_some(agent)
    }
}

/// What an agent is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Nothing; all it did is on disk, or [`Agent::when_idle`] tells why not.
    Idle,
    /// Turns, or a compaction.
    Running,
    /// Nothing, and never again.
    Disposed,
}

/// A turn that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedTurn {
    /// Which, from 1 over the whole log.
    pub turn: u64,
    /// How it ended.
    pub end: TurnEnd,
}

impl Agent {
    /// Starts an agent on a session that is open for writing; `progress` is what its log says.
    ///
    /// What waits in the inbox stays there until something wakes the agent.
    ///
    /// # Panics
    /// Outside of a tokio runtime. Turns panic on one whose timer is off.
    pub fn start(
        live: Live,
        progress: Progress,
        composition: Composition,
        ids: MessageIds,
    ) -> Self {
        let shared = Shared::new(live, progress, composition, ids, Handle::current());
        // A log that refuses it now is asked again when the session is opened next.
        let _ = shared.log_left_behind();
        Self(Arc::new(shared))
    }

    /// The session: its log so far and, by subscription, everything that happens.
    pub fn live(&self) -> &Live {
        self.0.live()
    }

    /// A prompt of the person with this text, under a new id.
    ///
    /// # Errors
    /// Never for a text; the type is that of making messages.
    pub fn prompt(&self, text: &str) -> Result<Message, AgentError> {
        let block = crate::tool::text_block(text).map_err(LogError::from)?;
        let source = Json::of(&serde_json::json!({ "kind": "user" })).map_err(LogError::from)?;
        Ok(self.message(&source, &[block])?)
    }

    /// A message with this source and these blocks, under a new id.
    ///
    /// # Errors
    /// When a part does not have its shape.
    pub fn message(&self, source: &Json, content: &[Json]) -> Result<Message, MessageError> {
        Message::user(&self.0.new_id(), source, content)
    }

    /// Queues a prompt: it gets a turn of its own.
    ///
    /// Done when it is on disk; the turn does not wait for that.
    ///
    /// # Errors
    /// When the agent was closed, the message cannot wait, or the log cannot be written.
    pub async fn followup(&self, message: Message) -> Result<(), AgentError> {
        self.0.send(message, Target::NextTurn, true)?;
        self.saved().await
    }

    /// Gives a message to the next step of the running turn; where none is running, to a new one.
    ///
    /// # Errors
    /// See [`Agent::followup`].
    pub async fn steer(&self, message: Message) -> Result<(), AgentError> {
        self.0.send(message, Target::NextStep, true)?;
        self.saved().await
    }

    /// Gives a message to the next step, whenever that is; wakes nobody.
    ///
    /// # Errors
    /// See [`Agent::followup`].
    pub async fn inject(&self, message: Message) -> Result<(), AgentError> {
        self.0.send(message, Target::NextStep, false)?;
        self.saved().await
    }

    /// Takes a waiting message back and gives it; none where it does not wait any more.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn remove(&self, id: &str) -> Result<Option<Message>, AgentError> {
        let removed = self.0.replace(id, Vec::new())?;
        self.saved().await?;
        Ok(removed)
    }

    /// Puts `message` where the one with this id waits, and gives that one; none where it does not wait any more.
    ///
    /// # Errors
    /// When the new message cannot wait, or the log cannot be written.
    pub async fn replace(&self, id: &str, message: Message) -> Result<Option<Message>, AgentError> {
        let replaced = self.0.replace(id, vec![message])?;
        self.saved().await?;
        Ok(replaced)
    }

    /// What waits in one list of the inbox, first the next to go.
    pub fn waiting(&self, target: Target) -> Vec<Message> {
        self.0.waiting(target)
    }

    /// Cancels the running turn, if any, and with it what waits, unless that shall be kept. What was
    /// [recorded](Agent::record) is kept in any case.
    ///
    /// The turn ends soon; [`Agent::when_idle`] waits for it. A prompt that comes after this runs.
    ///
    /// # Errors
    /// When the log cannot be written. The turn is cancelled all the same.
    pub async fn cancel(&self, cause: Cause, keep_inbox: bool) -> Result<(), AgentError> {
        self.0.cancel(cause, keep_inbox)?;
        self.saved().await
    }

    /// Puts the agent together anew, from the next turn on.
    pub fn compose(&self, composition: Composition) {
        self.0.compose(composition);
    }

    /// What the agent is put together from.
    pub fn composition(&self) -> Arc<Composition> {
        self.0.composition()
    }

    /// What it is doing; changes can be waited for.
    pub fn status(&self) -> watch::Receiver<Status> {
        self.0.status()
    }

    /// The last turn that ended since the agent was started.
    pub fn last_turn(&self) -> Option<EndedTurn> {
        self.0.last_turn()
    }

    /// Waits until nothing runs and nothing is about to.
    ///
    /// # Errors
    /// When the end of the last turn could not be written. It is kept in memory.
    pub async fn when_idle(&self) -> Result<(), AgentError> {
        let mut status = self.0.status();
        // The sender lives as long as this handle.
        let _ = status.wait_for(|status| *status != Status::Running).await;
        Ok(self.0.live().commit().await.map_err(LogError::from)?)
    }

    /// Closes the agent: what runs is cancelled, what waits is discarded but for what was [recorded](Agent::record),
    /// nothing more is taken.
    ///
    /// When it returns, only handles keep the session open.
    ///
    /// # Errors
    /// When the log cannot be written. The agent is closed all the same.
    pub async fn dispose(&self) -> Result<(), AgentError> {
        let cleared = self.0.dispose();
        let idle = self.when_idle().await;
        if let Some(driver) = self.0.take_driver() {
            // A panic of the loop was its turn's failure already.
            let _ = driver.await;
        }
        cleared?;
        idle
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0
    }

    /// A handle that does not keep the agent alive.
    pub fn downgrade(&self) -> WeakAgent {
        WeakAgent(Arc::downgrade(&self.0))
    }

    pub(crate) async fn saved(&self) -> Result<(), AgentError> {
        Ok(self.0.live().commit().await.map_err(LogError::from)?)
    }
}
