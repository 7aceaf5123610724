//! Live agents as plugins may act on them: the traits that an embedder implements.

use std::sync::Arc;

use async_trait::async_trait;

use crate::error::Failure;
use crate::message::Context;
use crate::session::Asker;

/// The live agents of an embedder, lent to calls by [`Services::agents`](crate::Services::agents).
///
/// Only calls of a command reach them, and those only the agent that the command was given in, its parent, and
/// sessions that they create: a plugin cannot name an agent.
#[async_trait]
pub trait Agents: Send + Sync {
    /// The agent of `asker`'s session; where another process writes that, one that only reads.
    ///
    /// # Errors
    ///
    /// `no-agent`, where that session has none.
    async fn current(&self, asker: &Asker) -> Result<Arc<dyn LiveAgent>, Failure>;
}

/// One live agent.
///
/// A [`Context`] comes stamped: its facts name the plugin, and the key where it has one. A future that is dropped is
/// a call that was cancelled: what it asked for has to be given up too, a turn that runs for it above all. What was
/// recorded before stays.
#[async_trait]
pub trait LiveAgent: Send + Sync {
    /// The session that it runs, as `JSON.stringify` writes its id between the quotes.
    fn session(&self) -> &str;

    /// The session that its own was forked from, whether that still exists or not; none for an original.
    fn parent_session(&self) -> Option<&str>;

    /// The agent of the session that its own was forked from, resumed if it is not live; none for an original.
    ///
    /// # Errors
    ///
    /// `not-granted`, if its own session was not created by `plugin`; `not-found`, if the parent is gone; `held`, if
    /// another process writes it, with a message that names the holder.
    async fn parent(&self, plugin: &str) -> Result<Option<Arc<dyn LiveAgent>>, Failure>;

    /// The last event of its session's own history that added a message, and that is no part of a turn that `plugin`
    /// asked for; none where there is none. A message that only replaced others added none.
    ///
    /// # Errors
    ///
    /// `unavailable`, if the log cannot be read.
    async fn said_through(&self, plugin: &str) -> Result<Option<u64>, Failure>;

    /// The leading events of the log: up to the first turn that is not completed or the end, never inside a
    /// compaction, and none from event `before` on.
    ///
    /// # Errors
    ///
    /// `unavailable`, if the log cannot be read.
    async fn completed_turns(&self, before: Option<u64>) -> Result<Arc<dyn Seed>, Failure>;

    /// Records a context message without waking the agent: at once where no turn runs, else at the next step or
    /// right after the turn's end. There is one message for each plugin and `key` in a session, checked together
    /// with the append.
    ///
    /// # Errors
    ///
    /// `held`, if another process writes the session; `unavailable`, if it could not be written. Nothing of it is left
    /// then.
    async fn inject(&self, context: Context, key: &str) -> Result<Delivery, Failure>;

    /// Puts `context` in the place of `message`, which the same plugin injected.
    ///
    /// # Errors
    ///
    /// `not-found`, if no message of the plugin has that id; `withdrawn`, if another stands in its place already;
    /// `sent`, if a request that held it was sent; `held`, as of [`LiveAgent::inject`]; `unavailable`, if it could not be
    /// written.
    async fn withdraw(&self, message: &str, context: Context) -> Result<(), Failure>;

    /// Logs a context message and runs a turn on it, after a turn that runs already. Where the same plugin asked
    /// under the same `key` and a text came of it, gives that text again without a turn.
    ///
    /// May take as long as a model does: no limit of the call counts it.
    ///
    /// # Errors
    ///
    /// `turn-failed`, `turn-cancelled`, `turn-blocked` and `no-text`, with the turn's own failure in the details; `held`,
    /// as of [`LiveAgent::inject`].
    async fn ask(&self, context: Context, key: &str) -> Result<Answer, Failure>;
}

/// The leading events of a log, from which a session can be created.
#[async_trait]
pub trait Seed: Send + Sync {
    /// How many events it holds.
    fn length(&self) -> u64;

    /// Whether it holds a compaction checkpoint.
    fn compacted(&self) -> bool;

    /// Whether a turn was running and is not in it.
    fn left_out_open_turn(&self) -> bool;

    /// Creates a session under an id of its own, and an agent for it with the system prompt and tools of the agent
    /// that the seed came from. Header, seed, its end mark and the contexts in their order are one first write.
    ///
    /// # Errors
    ///
    /// `unavailable`, if it could not be written; nothing of it is left then.
    async fn create(&self, birth: Birth) -> Result<Arc<dyn LiveAgent>, Failure>;
}

/// What a new session begins with, after its seed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Birth {
    /// Context messages of the plugin, in order.
    pub contexts: Vec<Context>,
    /// Texts that follow the system prompt, in order. The plugin was granted `append-system` if there is one.
    pub append_system: Vec<String>,
}

/// What became of an injected message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The message's id.
    pub message: String,
    /// Its place in the log; none while it waits for a step.
    pub seq: Option<u64>,
    /// Whether it had been delivered before, under the same key.
    pub existed: bool,
}

/// The end of a turn that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The last assistant text of the turn that is not empty.
    pub text: String,
    /// The last event of that turn.
    pub last_seq: u64,
    /// Whether it had been asked for before, under the same key.
    pub existed: bool,
}
