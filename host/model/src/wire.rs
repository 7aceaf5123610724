//! The body of a request: made from the request alone, so that the same history is the same bytes.
//!
//! Members come in one fixed order, the messages last: what a later request adds stands behind all that an earlier one
//! said, and a service's cache of prefixes holds.

use std::collections::VecDeque;

use dsh_agent::{ModelFailure, Request, ToolSpec};
use dsh_session::{Block, Message, Role, ToolCall, ToolResult};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::provider::{Dialect, Passback};

/// What a service is told where a tool gave nothing, as the real client does (contracts §11.5).
const NO_OUTPUT: &str = "(no output)";

/// The body of `request`, as this dialect wants it.
pub(crate) fn body(request: &Request, dialect: &Dialect) -> Result<Vec<u8>, ModelFailure> {
    let header = &request.header;
    let effort = header.config.reasoning_effort.as_deref();
    let (thinking, reasoning_effort) = thinking(effort, dialect)?;
    let (max_tokens, max_completion_tokens) = match dialect.max_tokens {
        "max_completion_tokens" => (None, header.config.max_tokens),
        _ => (header.config.max_tokens, None),
    };
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    messages.extend(header.system.as_deref().map(|content| Said::System { content }));
    let mut writer = Writer { dialect, provider: &header.config.provider, made: VecDeque::new() };
    for (place, message) in request.messages.iter().enumerate() {
        writer.message(place, message, &mut messages);
    }
    let body = Body {
        model: &header.config.model,
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        max_tokens,
        max_completion_tokens,
        thinking,
        reasoning_effort,
        tools: header.tools.iter().map(Tool::from).collect(),
        messages,
    };
    serde_json::to_vec(&body).map_err(|error| {
        ModelFailure::new("INVALID_REQUEST", format!("it has no JSON form: {error}"))
    })
}

/// How the effort is said.
fn thinking<'a>(
    effort: Option<&'a str>,
    dialect: &Dialect,
) -> Result<(Option<Thinking>, Option<&'a str>), ModelFailure> {
    let (Some(known), Some(effort)) = (dialect.thinking, effort) else {
        return Ok((None, effort));
    };
    if effort == "off" {
        return Ok((Some(Thinking { r#type: "disabled" }), None));
    }
    if !known.contains(&effort) {
        let known = known.join(", ");
        let message = format!("there is no reasoning effort {effort:?} here: off, {known}");
        return Err(ModelFailure::new("UNSUPPORTED_REASONING_EFFORT", message));
    }
    Ok((Some(Thinking { r#type: "enabled" }), Some(effort)))
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<Said<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Thinking {
    r#type: &'static str,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a dsh_session::Json,
}

impl<'a> From<&'a ToolSpec> for Tool<'a> {
    fn from(spec: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, parameters } = spec;
        Self { r#type: "function", function: Function { name, description, parameters } }
    }
}

/// One message of a body.
#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Said<'a> {
    System {
        content: &'a str,
    },
    User {
        content: String,
    },
    Assistant {
        /// Never null, which some services refuse.
        content: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: String,
        content: String,
    },
}

#[derive(Serialize)]
struct Call<'a> {
    id: String,
    r#type: &'static str,
    function: Called<'a>,
}

#[derive(Serialize)]
struct Called<'a> {
    name: &'a str,
    arguments: String,
}

struct Writer<'a> {
    dialect: &'a Dialect,
    /// Whom the request goes to.
    provider: &'a str,
    /// Ids that were made for calls without one, until their results come.
    made: VecDeque<String>,
}

impl<'a> Writer<'a> {
    fn message(&mut self, place: usize, message: &'a Message, said: &mut Vec<Said<'a>>) {
        let blocks = message.blocks();
        if message.role() == Role::Assistant {
            said.push(self.assistant(place, message, blocks));
            return;
        }
        let results = || blocks.iter().filter_map(result);
        let content = text(blocks);
        if !content.is_empty() || results().next().is_none() {
            said.push(Said::User { content });
        }
        for result in results() {
            let content = text(&result.content);
            let content = if content.is_empty() { NO_OUTPUT.to_owned() } else { content };
            let tool_call_id = match &*result.call {
                "" => self.made.pop_front().unwrap_or_default(),
                id => id.to_owned(),
            };
            said.push(Said::Tool { tool_call_id, content });
        }
    }

    fn assistant(&mut self, place: usize, message: &'a Message, blocks: &'a [Block]) -> Said<'a> {
        let thought: String = blocks.iter().filter_map(thought).collect();
        let thought = Some(thought).filter(|thought| !thought.is_empty() && self.knows(message));
        let (reasoning_content, reasoning) = match self.dialect.reasoning {
            "reasoning" => (None, thought),
            _ => (thought, None),
        };
        let mut tool_calls = Vec::new();
        for (number, call) in blocks.iter().filter_map(call).enumerate() {
            let id = if call.id.is_empty() {
                // Logs of other clients hold such calls; a service refuses every request after one.
                let id = format!("call_{place}_{number}");
                self.made.push_back(id.clone());
                id
            } else {
                call.id.as_ref().to_owned()
            };
            let function = Called { name: &call.name, arguments: arguments(&call.arguments) };
            tool_calls.push(Call { id, r#type: "function", function });
        }
        Said::Assistant { content: text(blocks), reasoning_content, reasoning, tool_calls }
    }

    /// Whether the service may see what was thought for this message.
    fn knows(&self, message: &Message) -> bool {
        match self.dialect.passback {
            Passback::All => true,
            Passback::Own => {
                let facts = message.source().facts.object();
                let provider = facts.ok().and_then(|facts| facts.text("provider"));
                provider.is_some_and(|provider| &*provider == self.provider)
            }
        }
    }
}

/// The texts of blocks, one after the other; what cannot be sent as text is named in its place.
fn text(blocks: &[Block]) -> String {
    let text = |block: &Block| match block {
        Block::Text(text) => Some(text.as_ref().to_owned()),
        Block::Other(json) => {
            let kind = json.object().ok().and_then(|block| block.text("type"));
            Some(format!("[{} left out]", kind.as_deref().unwrap_or("something")))
        }
        Block::Reasoning(_) | Block::ToolCall(_) | Block::ToolResult(_) => None,
    };
    blocks.iter().filter_map(text).collect()
}

fn thought(block: &Block) -> Option<&str> {
    match block {
        Block::Reasoning(text) => Some(text),
        _ => None,
    }
}

fn call(block: &Block) -> Option<&ToolCall> {
    match block {
        Block::ToolCall(call) => Some(call),
        _ => None,
    }
}

fn result(block: &Block) -> Option<&ToolResult> {
    match block {
        Block::ToolResult(result) => Some(result),
        _ => None,
    }
}

/// A call's arguments as JSON, which some services parse: as the model wrote them where they are JSON, `{}` where there
/// are none, and as a JSON string where the model wrote anything else.
fn arguments(written: &str) -> String {
    if written.trim().is_empty() {
        return "{}".into();
    }
    if serde_json::from_str::<&RawValue>(written).is_ok() {
        return written.to_owned();
    }
    serde_json::to_string(written).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dsh_session::{Json, SessionId};
    use serde_json::{Value, json};

    fn request(messages: &[Value]) -> Request {
        let header = r#"{
            "config": { "provider": "p", "model": "m", "maxTokens": 9, "reasoningEffort": "high" },
            "system": "be brief",
            "tools": [{ "name": "read", "description": "d", "parameters": {"z":1,"a":2} }]
        }"#;
        let message = |value: &Value| Message::parse(Json::of(value).unwrap()).unwrap();
        Request {
            session: SessionId::new("s"),
            header: serde_json::from_str(header).unwrap(),
            messages: messages.iter().map(message).collect(),
        }
    }

    fn user(content: &Value) -> Value {
        json!({ "id": "u", "role": "user", "source": { "kind": "user" }, "content": content })
    }

    fn assistant(provider: &str, content: &Value) -> Value {
        let source = json!({ "kind": "model", "provider": provider, "model": "m" });
        json!({ "id": "a", "role": "assistant", "source": source, "content": content })
    }

    fn written(messages: &[Value], dialect: &Dialect) -> String {
        String::from_utf8(body(&request(messages), dialect).unwrap()).unwrap()
    }

    fn messages(messages: &[Value], dialect: &Dialect) -> Value {
        let body: Value = serde_json::from_str(&written(messages, dialect)).unwrap();
        body["messages"].clone()
    }

    const DEEPSEEK: Dialect = crate::PROVIDERS[0].dialect;

    #[test]
    fn members_come_in_one_order_with_the_messages_last() {
        let text = written(&[user(&json!([{ "type": "text", "text": "hi" }]))], &DEEPSEEK);
        let expected = r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":9,"thinking":{"type":"enabled"},"reasoning_effort":"high","tools":[{"type":"function","function":{"name":"read","description":"d","parameters":{"z":1,"a":2}}}],"messages":[{"role":"system","content":"be brief"},{"role":"user","content":"hi"}]}"#;
        // The schema of a tool is kept byte for byte, in the order of whoever wrote it.
        assert_eq!(text, expected);
    }

    #[test]
    fn a_longer_history_begins_with_the_bytes_of_the_shorter_one() {
        let mut history = vec![user(&json!([{ "type": "text", "text": "日本 \u{1F600}" }]))];
        let mut before = written(&history, &DEEPSEEK);
        for turn in [
            assistant(
                "p",
                &json!([{ "type": "reasoning", "text": "hm" },
                { "type": "tool-call", "id": "c", "name": "read", "arguments": "{\"b\": 1}" }]),
            ),
            user(&json!([{ "type": "tool-result", "toolCallId": "c", "content": [] }])),
            assistant("q", &json!([{ "type": "text", "text": "so" }])),
        ] {
            history.push(turn);
            let after = written(&history, &DEEPSEEK);
            assert!(after.starts_with(before.strip_suffix("]}").unwrap()));
            before = after;
        }
    }

    #[test]
    fn deepseek_gets_the_thinking_of_every_reply_that_has_some() {
        let history = [
            assistant(
                "deepseek-official",
                &json!([{ "type": "reasoning", "text": "a\n" },
                { "type": "text", "text": "b" }]),
            ),
            assistant("other", &json!([{ "type": "reasoning", "text": "c" }])),
            assistant("other", &json!([{ "type": "text", "text": "d" }])),
        ];
        let expected = json!([
            { "role": "system", "content": "be brief" },
            { "role": "assistant", "content": "b", "reasoning_content": "a\n" },
            { "role": "assistant", "content": "", "reasoning_content": "c" },
            { "role": "assistant", "content": "d" },
        ]);
        assert_eq!(messages(&history, &DEEPSEEK), expected);
    }

    #[test]
    fn other_services_get_what_they_thought_themselves_and_nothing_foreign() {
        let source =
            json!({ "kind": "model", "provider": "q", "model": "m", "replayState": { "x": 1 } });
        let thought =
            json!([{ "type": "reasoning", "text": "a" }, { "type": "text", "text": "b" }]);
        let foreign =
            json!({ "id": "f", "role": "assistant", "source": source, "content": thought });
        let history = [assistant("p", &thought), foreign];
        let plain = messages(&history, &Dialect::PLAIN);
        assert_eq!(
            plain[1],
            json!({ "role": "assistant", "content": "b", "reasoning_content": "a" })
        );
        assert_eq!(plain[2], json!({ "role": "assistant", "content": "b" }));
        let ollama = Dialect { reasoning: "reasoning", ..Dialect::PLAIN };
        let own = messages(&history, &ollama);
        assert_eq!(own[1], json!({ "role": "assistant", "content": "b", "reasoning": "a" }));
    }

    #[test]
    fn each_result_is_a_message_of_its_own_and_an_empty_one_says_so() {
        let history = [
            assistant(
                "p",
                &json!([
                { "type": "tool-call", "id": "c", "name": "read", "arguments": "" },
                { "type": "tool-call", "id": "d", "name": "read", "arguments": "{\"a" }]),
            ),
            user(&json!([
                { "type": "tool-result", "toolCallId": "c", "content": [] },
                { "type": "text", "text": "and" },
                { "type": "tool-result", "toolCallId": "d",
                    "content": [{ "type": "text", "text": "x" }, { "type": "image" }] }])),
        ];
        let said = messages(&history, &Dialect::PLAIN);
        let calls = &said[1]["tool_calls"];
        assert_eq!(calls[0]["function"], json!({ "name": "read", "arguments": "{}" }));
        assert_eq!(calls[1]["function"]["arguments"], json!(r#""{\"a""#));
        assert_eq!(said[2], json!({ "role": "user", "content": "and" }));
        assert_eq!(
            said[3],
            json!({ "role": "tool", "tool_call_id": "c", "content": "(no output)" })
        );
        assert_eq!(said[4]["content"], "x[image left out]");
    }

    #[test]
    fn a_log_that_holds_calls_without_ids_still_makes_a_request() {
        let call = json!({ "type": "tool-call", "id": "", "name": "read", "arguments": "{}" });
        let result = json!({ "type": "tool-result", "toolCallId": "", "content": [] });
        let history = [
            assistant("p", &json!([call.clone(), call])),
            user(&json!([result.clone()])),
            user(&json!([result])),
        ];
        let said = messages(&history, &Dialect::PLAIN);
        for (number, id) in ["call_0_0", "call_0_1"].iter().enumerate() {
            assert_eq!(said[1]["tool_calls"][number]["id"], *id);
            assert_eq!(said[2 + number]["tool_call_id"], *id);
        }
    }

    #[test]
    fn an_effort_that_a_service_does_not_have_is_an_error() {
        let mut request = request(&[]);
        request.header.config.reasoning_effort = Some("medium".into());
        let failure = body(&request, &DEEPSEEK).unwrap_err();
        assert_eq!(failure.code, "UNSUPPORTED_REASONING_EFFORT");
        assert!(failure.message.contains("off, low, high, max"), "{}", failure.message);
        request.header.config.reasoning_effort = Some("off".into());
        let text = String::from_utf8(body(&request, &DEEPSEEK).unwrap()).unwrap();
        assert!(text.contains(r#""thinking":{"type":"disabled"},"tools""#), "{text}");
    }

    #[test]
    fn openai_bounds_replies_in_its_own_word() {
        let openai = crate::Provider::named("openai").unwrap().dialect;
        let text = written(&[], &openai);
        assert!(
            text.contains(r#""max_completion_tokens":9,"#) && !text.contains(r#""max_tokens""#)
        );
    }
}
