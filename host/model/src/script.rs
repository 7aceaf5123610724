//! The file format of scripted replies.

use std::time::Duration;

use serde::Deserialize;
use thiserror::Error;

use dsh_agent::{Chunk, Finish, ModelFailure, ReplyBlock, Request};
use dsh_session::Json;

use crate::reply;

/// Replies in the order in which they are given.
///
/// A script is JSON Lines: each line an object, one reply. Blank lines and lines that begin with `#` are left out.
///
/// ```text
/// # thinks, speaks and calls a tool; arguments that are a string are sent as they are
/// {"reasoning": "Look first.", "text": "One moment.", "calls": [{"name": "read", "arguments": {"path": "a"}}]}
/// # then answers
/// {"text": "It is empty."}
/// # breaks off in the middle of the text; `status` and `retryAfterMs` may be given too
/// {"text": "I thi", "error": {"code": "SERVER", "message": "unwell"}}
/// # runs out of room
/// {"text": "Once upon a", "maxTokens": true}
/// # waits, before the reply and before each chunk, then says no more until it is cancelled
/// {"delayMs": 500, "paceMs": 20, "text": "Half a sent", "hang": true}
/// # exactly these chunks
/// {"chunks": [{"type": "finish", "reason": {"kind": "stop"}}]}
/// ```
///
/// A call without an `id` gets `call_<reply>_<call>`, both counted from 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    pub(crate) replies: Vec<ScriptedReply>,
}

/// Where a script cannot be read.
#[derive(Debug, Error)]
#[error("line {line} of the script is no reply")]
pub struct ScriptError {
    /// From 1.
    pub line: usize,
    /// What is wrong with it.
    #[source]
    pub source: serde_json::Error,
}

/// One line of a script.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ScriptedReply {
    reasoning: Option<String>,
    text: Option<String>,
    calls: Vec<ScriptedCall>,
    error: Option<ScriptedError>,
    max_tokens: bool,
    chunks: Option<Vec<Chunk>>,
    delay_ms: u64,
    pace_ms: u64,
    pub(crate) hang: bool,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedCall {
    id: Option<String>,
    name: String,
    #[serde(default)]
    arguments: Option<Json>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ScriptedError {
    code: String,
    message: String,
    status: Option<u16>,
    retry_after_ms: Option<u64>,
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// When a line is no reply.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let lines = (1..).zip(text.lines()).map(|(number, line)| (number, line.trim()));
        let replies = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let parse = |(line, text): (usize, &str)| {
            serde_json::from_str(text).map_err(|source| ScriptError { line, source })
        };
        Ok(Self { replies: replies.map(parse).collect::<Result<_, _>>()? })
    }
}

impl ScriptedReply {
    /// The chunks of this reply, which is number `number` of its script.
    pub(crate) fn chunks(&self, number: usize, request: &Request) -> Vec<Chunk> {
        if let Some(chunks) = &self.chunks {
            return chunks.clone();
        }
        let blocks = self.blocks(number);
        let finish = match &self.error {
            _ if self.hang => None,
            Some(error) => Some(Finish::Error { failure: error.failure() }),
            None if self.max_tokens => Some(Finish::MaxTokens),
            None => Some(reply::natural_finish(&blocks)),
        };
        reply::chunks(&blocks, finish, request)
    }

    /// How long to wait before the first chunk.
    pub(crate) fn delay(&self) -> Duration {
        Duration::from_millis(self.delay_ms)
    }

    /// How long to wait before each chunk.
    pub(crate) fn pace(&self) -> Duration {
        Duration::from_millis(self.pace_ms)
    }

    fn blocks(&self, number: usize) -> Vec<ReplyBlock> {
        let reasoning =
            self.reasoning.iter().map(|text| ReplyBlock::Reasoning { text: text.clone() });
        let text = self.text.iter().map(|text| ReplyBlock::Text { text: text.clone() });
        let calls = self.calls.iter().enumerate().map(|(place, call)| ReplyBlock::ToolCall {
            id: call.id.clone().unwrap_or_else(|| format!("call_{number}_{place}")),
            name: call.name.clone(),
            arguments: call.arguments(),
        });
        reasoning.chain(text).chain(calls).collect()
    }
}

impl ScriptedCall {
    fn arguments(&self) -> String {
        let Some(arguments) = &self.arguments else {
            return String::new();
        };
        arguments.read().unwrap_or_else(|_| arguments.as_str().to_owned())
    }
}

impl ScriptedError {
    fn failure(&self) -> ModelFailure {
        ModelFailure {
            status: self.status,
            provider_retry_after_ms: self.retry_after_ms,
            ..ModelFailure::new(&self.code, self.message.clone())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_blank_lines_are_left_out() {
        let script = Script::parse("# hi\n\n  {\"text\":\"a\"}\r\n{}\n").unwrap();
        assert_eq!(script.replies.len(), 2);
        assert_eq!(script.replies[0].text.as_deref(), Some("a"));
    }

    #[test]
    fn an_error_names_its_line() {
        assert_eq!(Script::parse("{}\n{\"txet\":\"a\"}").unwrap_err().line, 2);
        assert_eq!(Script::parse("\n\n[").unwrap_err().line, 3);
    }

    #[test]
    fn arguments_may_be_any_json_or_any_text() {
        let script = r#"{"calls":[{"name":"a","arguments":{"b": 1}},{"name":"a","arguments":"{\"b"},{"name":"a"}]}"#;
        let reply = &Script::parse(script).unwrap().replies[0];
        let written: Vec<String> = reply.calls.iter().map(ScriptedCall::arguments).collect();
        assert_eq!(written, [r#"{"b": 1}"#, r#"{"b"#, ""]);
    }
}
