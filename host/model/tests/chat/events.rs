//! The events that services stream, and what a test makes of the chunks.

use std::time::Duration;

use dsh_agent::{Chunk, Finish, Model, ModelFailure, ReplyBlock, Request, Usage};
use dsh_session::{Json, Message, SessionId};
use futures::StreamExt as _;
use serde_json::{Value, json};

use crate::server::{Act, STREAM, send};

/// How long a test waits for something that must happen, before it fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(86_400);

/// One event with this payload.
pub(crate) fn event(payload: &Value) -> String {
    format!("data: {payload}\n\n")
}

fn delta(delta: &Value) -> String {
    event(&json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "m",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] }))
}

pub(crate) fn says(text: &str) -> String {
    delta(&json!({ "content": text }))
}

pub(crate) fn thinks(text: &str) -> String {
    delta(&json!({ "reasoning_content": text }))
}

/// A piece of a tool call.
pub(crate) fn calls(index: u64, id: Option<&str>, name: Option<&str>, arguments: &str) -> String {
    let function = json!({ "name": name, "arguments": arguments });
    delta(&json!({ "tool_calls": [{ "index": index, "id": id, "function": function }] }))
}

pub(crate) fn ends(reason: &str) -> String {
    event(&json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] }))
}

pub(crate) fn figures(read: u64, written: u64) -> String {
    let usage = json!({ "prompt_tokens": read, "completion_tokens": written });
    event(&json!({ "choices": [], "usage": usage }))
}

pub(crate) const DONE: &str = "data: [DONE]\n\n";

/// A stream of these events, which ends when the connection is closed.
pub(crate) fn stream(events: &[String]) -> Vec<Act> {
    vec![send(STREAM), send(events.concat())]
}

/// A whole answer that says `text`.
pub(crate) fn whole(text: &str) -> Vec<Act> {
    stream(&[says(text), ends("stop"), figures(3, 2), DONE.into()])
}

/// A request with one prompt.
pub(crate) fn request() -> Request {
    request_of("s", "hello")
}

pub(crate) fn request_of(session: &str, prompt: &str) -> Request {
    let header = r#"{"config":{"provider":"p","model":"m"},"system":"be brief"}"#;
    let block = Json::of(&json!({ "type": "text", "text": prompt })).unwrap();
    let source = Json::parse(r#"{"kind":"user"}"#).unwrap();
    Request {
        session: SessionId::new(session),
        header: serde_json::from_str(header).unwrap(),
        messages: vec![Message::user("u", &source, &[block]).unwrap()],
    }
}

/// What a reply came to.
#[derive(Debug, PartialEq)]
pub(crate) struct Told {
    /// The deltas, joined.
    pub(crate) text: String,
    pub(crate) thought: String,
    /// The blocks that were ended.
    pub(crate) blocks: Vec<ReplyBlock>,
    /// Every figure that was told.
    pub(crate) usage: Vec<Usage>,
    pub(crate) finish: Finish,
}

impl Told {
    /// The failure that it ended in.
    pub(crate) fn failure(&self) -> &ModelFailure {
        match &self.finish {
            Finish::Error { failure } => failure,
            finish => panic!("no failure but {finish:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn failed(&self, code: &str, words: &str) {
        let failure = self.failure();
        assert_eq!(failure.code, code, "{failure:?}");
        assert!(failure.message.contains(words), "{}", failure.message);
        assert_eq!(self.blocks, [], "nothing of a failure is whole");
    }
}

/// Asks, and reads everything. Nothing follows a finish, and there is one.
pub(crate) async fn ask(model: &dyn Model, request: Request) -> Told {
    let chunks: Vec<Chunk> =
        tokio::time::timeout(PATIENCE, model.stream(request).collect()).await.unwrap();
    told(chunks)
}

pub(crate) fn told(mut chunks: Vec<Chunk>) -> Told {
    let Some(Chunk::Finish { reason: finish, .. }) = chunks.pop() else {
        panic!("the last chunk is no finish");
    };
    let (text, thought) = (String::new(), String::new());
    let mut told = Told { text, thought, blocks: Vec::new(), usage: Vec::new(), finish };
    for chunk in chunks {
        match chunk {
            Chunk::TextDelta { text, .. } => told.text += &text,
            Chunk::ReasoningDelta { text, .. } => told.thought += &text,
            Chunk::BlockEnd { block, .. } => told.blocks.push(block),
            Chunk::Usage { usage } => told.usage.push(usage),
            Chunk::BlockStart { .. } | Chunk::ToolCallDelta { .. } => {}
            Chunk::Finish { .. } => panic!("something follows a finish"),
        }
    }
    told
}

/// The tool calls among blocks, as id, tool and arguments.
pub(crate) fn called(blocks: &[ReplyBlock]) -> Vec<(&str, &str, &str)> {
    let calls = blocks.iter().filter_map(|block| match block {
        ReplyBlock::ToolCall { id, name, arguments } => Some((&**id, &**name, &**arguments)),
        _ => None,
    });
    calls.collect()
}
