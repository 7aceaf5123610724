//! Tools: what a model may call, and what a call gives.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use dsh_session::{Json, Message, SessionId};

use crate::Cancel;

/// Something that a model may call.
#[async_trait]
pub trait Tool: Send + Sync {
    /// How the model sees it.
    fn spec(&self) -> &ToolSpec;

    /// Whether a call changes nothing.
    fn read_only(&self) -> bool {
        false
    }

    /// Whether calls may run beside other calls of the same message; anything else is a barrier.
    fn parallel(&self) -> bool {
        false
    }

    /// Runs one call.
    ///
    /// The future is dropped when the turn is cancelled; `cancel` tells work that outlives it.
    ///
    /// # Errors
    /// What the model reads as the tool's failure. The turn goes on.
    async fn run(&self, call: Call, cancel: Cancel) -> Result<ToolOutput, ToolError>;
}

/// How a model sees a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Unique among the tools of an agent.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Json,
}

/// One call that is about to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Whose it is.
    pub session: SessionId,
    /// The turn, from 1.
    pub turn: u64,
    /// The step in it, from 1.
    pub step: u64,
    /// Links it to its result.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Arguments that are no JSON come as a JSON string, none at all as `{}`.
    pub arguments: Json,
    /// Whether the tool says that it changes nothing.
    pub read_only: bool,
}

/// What a call gives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    /// What the model reads: blocks, each an object with a `type`.
    pub content: Vec<Json>,
    /// For people and programs that look at the log; the model never sees it.
    pub meta: Option<Json>,
    /// Messages that join the next step.
    pub contexts: Vec<Message>,
    /// Whether the turn may end here, without another word of the model.
    pub concludes_turn: bool,
}

impl ToolOutput {
    /// One block of text.
    ///
    /// # Errors
    /// Never for a string; the type is that of writing JSON.
    pub fn text(text: &str) -> Result<Self, ToolError> {
        let block = text_block(text)
            .map_err(|error| ToolError::new("Error", "UNKNOWN", &error.to_string()))?;
        Ok(Self { content: vec![block], ..Self::default() })
    }
}

/// Why a call failed: what the model reads after `Error: `, and what the log keeps beside it.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{message}")]
pub struct ToolError {
    /// The kind, such as `FsError`.
    pub name: String,
    /// Such as `FS_NOT_FOUND`.
    pub code: String,
    /// For the model.
    pub message: String,
}

impl ToolError {
    /// A failure of this kind.
    pub fn new(name: &str, code: &str, message: &str) -> Self {
        Self { name: name.into(), code: code.into(), message: message.into() }
    }

    /// The arguments do not fit the tool's schema; `why` says where.
    pub fn arguments(why: &str) -> Self {
        Self::new("ToolArgsError", "INVALID_ARGS", &format!("invalid arguments: {why}"))
    }

    pub(crate) fn unknown(tool: &str) -> Self {
        Self::new("ToolNotFoundError", "UNKNOWN_TOOL", &format!("unknown tool {tool:?}"))
    }

    pub(crate) fn denied(reason: &str) -> Self {
        Self::new("ToolDeniedError", "DENIED", reason)
    }

    pub(crate) fn not_started() -> Self {
        Self::new("AbortError", "ABORTED_BEFORE_DISPATCH", "tool call aborted before dispatch")
    }
}

/// A text block as logs have it.
pub(crate) fn text_block(text: &str) -> Result<Json, serde_json::Error> {
    #[derive(Serialize)]
    struct Text<'a> {
        r#type: &'static str,
        text: &'a str,
    }
    Json::of(&Text { r#type: "text", text })
}
