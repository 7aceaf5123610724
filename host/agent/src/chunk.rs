//! What a model streams, chunk by chunk, as the log keeps it.

use serde::{Deserialize, Serialize};

/// One piece of a streamed reply (contracts §1.3, `StreamChunk`).
///
/// A block opens, grows by deltas and ends with its whole content; blocks are told apart by `index` and may overlap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Chunk {
    /// A block opens.
    #[serde(rename_all = "camelCase")]
    BlockStart {
        /// The block.
        index: u64,
        /// What it will hold.
        block_type: BlockType,
    },
    /// More text.
    TextDelta {
        /// The block.
        index: u64,
        /// The piece.
        text: String,
    },
    /// More thinking.
    ReasoningDelta {
        /// The block.
        index: u64,
        /// The piece.
        text: String,
    },
    /// More of a tool call's arguments.
    #[serde(rename_all = "camelCase")]
    ToolCallDelta {
        /// The block.
        index: u64,
        /// The call.
        id: String,
        /// The tool; in each delta or in the first alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The piece of JSON text.
        arguments_delta: String,
    },
    /// A block is whole.
    BlockEnd {
        /// The block.
        index: u64,
        /// All of it.
        block: ReplyBlock,
    },
    /// What the reply costs.
    Usage {
        /// The counts.
        usage: Usage,
    },
    /// The reply is over; nothing follows.
    #[serde(rename_all = "camelCase")]
    Finish {
        /// How.
        reason: Finish,
        /// What the provider wants back with the reply in the next request; kept in the message's source.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replay_state: Option<serde_json::Value>,
    },
}

impl Chunk {
    /// The end of a reply whose adapter broke down.
    pub(crate) fn panic(message: String) -> Self {
        let reason = Finish::Error { failure: ModelFailure::new("PANIC", message) };
        Self::Finish { reason, replay_state: None }
    }
}

/// The kinds of block that a reply has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockType {
    /// Text for the person.
    Text,
    /// The model's own thinking.
    Reasoning,
    /// A request to run a tool.
    ToolCall,
}

/// One whole block of a reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum ReplyBlock {
    /// Text for the person.
    Text {
        /// The text.
        text: String,
    },
    /// The model's own thinking.
    Reasoning {
        /// The text.
        text: String,
    },
    /// A request to run a tool.
    ToolCall {
        /// Links it to its result.
        id: String,
        /// The tool.
        name: String,
        /// JSON text as the model wrote it; it may not parse.
        arguments: String,
    },
}

/// How a reply ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Finish {
    /// The model said all it had to say.
    Stop,
    /// It waits for its tools.
    ToolCalls,
    /// The output limit cut it short.
    MaxTokens,
    /// The provider gave up.
    Aborted {
        /// Why.
        failure: ModelFailure,
    },
    /// The call failed.
    Error {
        /// Why.
        failure: ModelFailure,
    },
}

/// Why a model call failed, kept verbatim in `turn/end` (contracts §1.3, `LlmFailure`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelFailure {
    /// For people.
    pub message: String,
    /// Such as `AUTH`, `RATE_LIMIT`, `EMPTY_RESPONSE`.
    pub code: String,
    /// The HTTP status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How many milliseconds the provider asks to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_retry_after_ms: Option<u64>,
    /// The provider's name for the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

impl ModelFailure {
    /// A failure of which only this is known.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code: code.into(),
            status: None,
            provider_retry_after_ms: None,
            request_id: None,
        }
    }
}

/// Tokens of one call; the counts are disjoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Read, without the cached ones.
    pub input_tokens: u64,
    /// Written.
    pub output_tokens: u64,
    /// Read from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    /// Put into the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// Spent on thinking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chunks of a recorded log.
    const RECORDED: [&str; 8] = [
        r#"{"type":"block-start","index":0,"blockType":"tool-call"}"#,
        r#"{"type":"text-delta","index":1,"text":"cedar umb"}"#,
        r#"{"type":"reasoning-delta","index":0,"text":"Taking my"}"#,
        r#"{"type":"tool-call-delta","index":0,"id":"call_27_0","name":"bash","argumentsDelta":""}"#,
        r#"{"type":"block-end","index":1,"block":{"type":"tool-call","id":"c","name":"bash","arguments":"{}"}}"#,
        r#"{"type":"usage","usage":{"inputTokens":2613,"outputTokens":96,"cacheReadTokens":0,"reasoningTokens":4}}"#,
        r#"{"type":"finish","reason":{"kind":"stop"}}"#,
        r#"{"type":"finish","reason":{"kind":"error","failure":{"message":"slow down","code":"RATE_LIMIT","status":429,"providerRetryAfterMs":1000,"requestId":"req-59"}}}"#,
    ];

    #[test]
    fn chunks_are_written_as_the_real_client_writes_them() {
        for recorded in RECORDED {
            let chunk: Chunk = serde_json::from_str(recorded).unwrap();
            assert_eq!(serde_json::to_string(&chunk).unwrap(), recorded);
        }
    }
}
