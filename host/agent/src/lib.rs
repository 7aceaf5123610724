//! The agent loop: an inbox, turns and steps, on a session's log.
//!
//! An [`Agent`] is put together from a [`Composition`]: a [`Model`], [`Tool`]s with their [`ToolGate`]s, and a
//! [`PreStep`]. What one wants of it goes into its [`Inbox`]; a turn claims it, asks the pre-step whether and with
//! which messages to go on, logs those, derives a [`Request`] from the log alone, logs what the model streams, and
//! runs its tools until the model owes nothing. Everything that happens is an event of the session's log, in exactly
//! the order of the real client; [`Shown`] is what a person sees of it.
//!
//! Where a session grows too long for its model, the older part of it gives way to a summary: [`Agent::compact`] does it
//! when somebody asks, turns by themselves as [`Compaction`] says.
//!
//! Nothing here knows about WebAssembly. Time comes from the session, ids come from the caller, and nothing is global.
//!
//! ```
//! use std::sync::Arc;
//!
//! use dsh_agent::{Agent, Composition, Progress, TurnEnd};
//! use dsh_session::{Encoding, Header, SessionId, Sessions, Store};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let root = tempfile::tempdir()?;
//! let sessions = Sessions::new(Store::new(root.path(), Encoding::Zstd, Arc::new(|| 0)));
//! let header = Header::new(SessionId::new("first"), 0, Some("/home/me".into()));
//! let live = sessions.create(header, None).await?;
//!
//! let ids = Arc::new(|| uuid::Uuid::new_v4().to_string());
//! let parts = Composition::new(Arc::new(dsh_model::Echo));
//! let agent = Agent::start(live, Progress::default(), parts, ids);
//! agent.followup(agent.prompt("Hello?")?).await?;
//! agent.when_idle().await?;
//!
//! assert_eq!(agent.last_turn().map(|turn| turn.end), Some(TurnEnd::Completed));
//! assert_eq!(agent.live().messages().len(), 2);
//! # Ok(())
//! # }
//! ```

mod agent;
mod answer;
mod approval;
mod ask;
mod asked;
mod assemble;
mod calls;
mod cancel;
mod chunk;
mod compaction;
mod composition;
mod driver;
mod error;
mod foreign;
mod gate;
mod header;
mod inbox;
mod lifecycle;
mod model;
mod note;
mod pre_step;
mod progress;
mod retry;
mod shown;
mod step;
mod stream;
mod tool;
mod turn;

pub use agent::{Agent, EndedTurn, MessageIds, Status, WeakAgent};
pub use ask::{Answer, AskError};
pub use asked::Asked;
pub use cancel::{Cancel, Cause};
pub use chunk::{BlockType, Chunk, Finish, ModelFailure, ReplyBlock, Usage};
pub use compaction::{CompactError, Compacted, Compaction, CompactionError};
pub use composition::Composition;
pub use error::{AgentError, LogError};
pub use gate::{Approval, Approver, ToolGate, Verdict};
pub use header::{AdapterDefaults, Config, RequestHeader};
pub use inbox::{Inbox, InboxError, Splice, Target};
pub use lifecycle::{REJECTED, TurnEnd, TurnError};
pub use model::{Model, Request, Route};
pub use note::{Delivery, WithdrawError};
pub use pre_step::{Accept, Decision, Failure, PreStep, StepInfo};
pub use progress::Progress;
pub use retry::{Retry, RetryPolicy};
pub use shown::Shown;
pub use tool::{Call, Tool, ToolError, ToolOutput, ToolSpec};
