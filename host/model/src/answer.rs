//! An answer: what a service streams, as the chunks that the log keeps.

use std::collections::{HashSet, VecDeque};

use dsh_agent::{BlockType, Chunk, Finish, ModelFailure, ReplyBlock, Request, Usage};
use dsh_session::Block;
use serde_json::Value;

use crate::calls::{Calls, Piece};
use crate::failure;

/// Most bytes of text, thinking and arguments that one answer may have.
const MOST: usize = 64 * 1024 * 1024;

/// Most characters of a broken payload that are quoted.
const QUOTED: usize = 120;

/// An answer as far as it has arrived (contracts §11.5).
///
/// There is one block of text and one of thinking, whatever their order, and one for each tool call. All of them end
/// together, at the end, as in the real client.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The blocks in the order in which they were opened.
    blocks: Vec<Part>,
    text: Option<(u64, String)>,
    thinking: Option<(u64, String)>,
    calls: Calls,
    finish: Option<Finish>,
    usage: Option<Usage>,
    bytes: usize,
}

/// What a block is; calls are counted.
#[derive(Clone, Copy, Debug)]
enum Part {
    Text,
    Thinking,
    Call(usize),
}

impl Answer {
    /// Nothing yet of the answer to `request`.
    pub(crate) fn to(request: &Request) -> Self {
        let blocks = request.messages.iter().flat_map(|message| message.blocks());
        let call = |block: &Block| match block {
            Block::ToolCall(call) => Some(call.id.as_ref().to_owned()),
            _ => None,
        };
        let history: HashSet<String> = blocks.filter_map(call).collect();
        let prefix = format!("call_{}", request.messages.len());
        Self {
            blocks: Vec::new(),
            text: None,
            thinking: None,
            calls: Calls::new(history, prefix),
            finish: None,
            usage: None,
            bytes: 0,
        }
    }

    /// Whether the service has said how it ends; only figures may follow.
    pub(crate) fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// Takes a payload: an object with choices, figures, or an error.
    pub(crate) fn take(
        &mut self,
        payload: &str,
        chunks: &mut VecDeque<Chunk>,
    ) -> Result<(), ModelFailure> {
        let malformed = || {
            let quoted: String = payload.chars().take(QUOTED).collect();
            failure::malformed(format!("a part of the answer is no JSON object: {quoted}"))
        };
        let payload: Value = serde_json::from_str(payload).map_err(|_| malformed())?;
        if !payload.is_object() {
            return Err(malformed());
        }
        if let Some(error) = payload.get("error").filter(|error| !error.is_null()) {
            return Err(failure::of_payload(error));
        }
        for choice in payload.get("choices").and_then(Value::as_array).into_iter().flatten() {
            // One is all that is asked for.
            if choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0 {
                self.choice(choice, chunks)?;
            }
        }
        if let Some(usage) = payload.get("usage").and_then(usage) {
            self.usage = Some(usage);
        }
        Ok(())
    }

    fn choice(&mut self, choice: &Value, chunks: &mut VecDeque<Chunk>) -> Result<(), ModelFailure> {
        let (delta, streamed) = match choice.get("delta") {
            Some(delta) if !delta.is_null() => (Some(delta), true),
            // Where a server does not stream, the message is one large piece.
            _ => (choice.get("message"), false),
        };
        if let Some(delta) = delta {
            let thought = ["reasoning_content", "reasoning"];
            let thought = thought.iter().map(|name| text(delta.get(name)));
            // Some services say the same under both names.
            if let Some(piece) = thought.into_iter().find(|piece| !piece.is_empty()) {
                self.think(piece, chunks)?;
            }
            self.say(text(delta.get("content")), chunks)?;
            self.say(text(delta.get("refusal")), chunks)?;
            let calls = delta.get("tool_calls").and_then(Value::as_array);
            for (place, item) in (0..).zip(calls.into_iter().flatten()) {
                self.call(&Piece::read(item, (!streamed).then_some(place)), chunks)?;
            }
        }
        if let Some(usage) = choice.get("usage").and_then(usage) {
            self.usage = Some(usage);
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            self.finish = Some(finish(reason));
        }
        Ok(())
    }

    fn say(&mut self, text: String, chunks: &mut VecDeque<Chunk>) -> Result<(), ModelFailure> {
        if text.is_empty() {
            return Ok(());
        }
        self.weigh(text.len())?;
        let next = self.next_block();
        let (index, so_far) = self.text.get_or_insert_with(|| {
            self.blocks.push(Part::Text);
            chunks.push_back(Chunk::BlockStart { index: next, block_type: BlockType::Text });
            (next, String::new())
        });
        so_far.push_str(&text);
        chunks.push_back(Chunk::TextDelta { index: *index, text });
        Ok(())
    }

    fn think(&mut self, text: String, chunks: &mut VecDeque<Chunk>) -> Result<(), ModelFailure> {
        self.weigh(text.len())?;
        let next = self.next_block();
        let (index, so_far) = self.thinking.get_or_insert_with(|| {
            self.blocks.push(Part::Thinking);
            chunks.push_back(Chunk::BlockStart { index: next, block_type: BlockType::Reasoning });
            (next, String::new())
        });
        so_far.push_str(&text);
        chunks.push_back(Chunk::ReasoningDelta { index: *index, text });
        Ok(())
    }

    fn call(
        &mut self,
        piece: &Piece<'_>,
        chunks: &mut VecDeque<Chunk>,
    ) -> Result<(), ModelFailure> {
        // A call costs something even where its pieces are empty.
        self.weigh(piece.arguments().len() + size_of::<Chunk>())?;
        let (next, number) = (self.next_block(), self.calls.all().len());
        let Some(grown) = self.calls.push(piece, next) else { return Ok(()) };
        let index = grown.call.block;
        if grown.new {
            self.blocks.push(Part::Call(number));
            chunks.push_back(Chunk::BlockStart { index, block_type: BlockType::ToolCall });
        }
        let name = Some(grown.call.name.clone()).filter(|name| !name.is_empty());
        let (id, arguments_delta) = (grown.call.id.clone(), piece.arguments().to_owned());
        chunks.push_back(Chunk::ToolCallDelta { index, id, name, arguments_delta });
        Ok(())
    }

    fn next_block(&self) -> u64 {
        u64::try_from(self.blocks.len()).unwrap_or(u64::MAX)
    }

    fn weigh(&mut self, bytes: usize) -> Result<(), ModelFailure> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MOST {
            let mib = MOST / (1024 * 1024);
            return Err(failure::malformed(format!("the answer is longer than {mib} MiB")));
        }
        Ok(())
    }

    /// Ends the answer, as far as the service has sent what it had to: blocks, figures, and how it finished.
    pub(crate) fn end(self, chunks: &mut VecDeque<Chunk>) {
        let nameless = self.calls.all().iter().any(|call| call.name.is_empty());
        let calls = !self.calls.all().is_empty();
        let reason = match self.finish.clone().unwrap_or(Finish::Stop) {
            Finish::Stop | Finish::ToolCalls if nameless => {
                let failure =
                    failure::malformed("the model calls a tool that it does not name".into());
                Finish::Error { failure }
            }
            Finish::Stop | Finish::ToolCalls if self.blocks.is_empty() => {
                let message = "the model ended its answer without saying anything";
                Finish::Error { failure: ModelFailure::new("EMPTY_RESPONSE", message) }
            }
            // Services disagree about what to call the end of a reply with calls; the reply itself does not.
            Finish::Stop | Finish::ToolCalls if calls => Finish::ToolCalls,
            Finish::ToolCalls => Finish::Stop,
            finish => finish,
        };
        let usage = self.usage;
        chunks.extend(self.whole_blocks().map(|(index, block)| Chunk::BlockEnd { index, block }));
        chunks.extend(usage.map(|usage| Chunk::Usage { usage }));
        chunks.push_back(Chunk::Finish { reason, replay_state: None });
    }

    fn whole_blocks(self) -> impl Iterator<Item = (u64, ReplyBlock)> {
        let Self { blocks, mut text, mut thinking, calls, .. } = self;
        blocks.into_iter().filter_map(move |part| match part {
            Part::Text => text.take().map(|(index, text)| (index, ReplyBlock::Text { text })),
            Part::Thinking => {
                thinking.take().map(|(index, text)| (index, ReplyBlock::Reasoning { text }))
            }
            Part::Call(number) => calls.all().get(number).map(|call| {
                let (id, name) = (call.id.clone(), call.name.clone());
                let arguments = call.arguments.clone();
                (call.block, ReplyBlock::ToolCall { id, name, arguments })
            }),
        })
    }
}

/// A text, or the texts of a list of parts.
fn text(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str));
            texts.collect()
        }
        _ => String::new(),
    }
}

/// How an answer ended, in the words of many services. Any other word is an error, with the word as its code.
fn finish(reason: &str) -> Finish {
    match reason {
        "stop" | "eos" | "end_turn" | "stop_sequence" | "" => Finish::Stop,
        "tool_calls" | "function_call" | "tool_use" => Finish::ToolCalls,
        "length" | "max_tokens" | "model_length" => Finish::MaxTokens,
        other => {
            let message = format!("model stopped: {other}");
            Finish::Error { failure: ModelFailure::new(&other.to_uppercase(), message) }
        }
    }
}

/// The figures of a call, where there are some: what was read from the cache is counted apart.
fn usage(usage: &Value) -> Option<Usage> {
    let number = |value: Option<&Value>| value.and_then(Value::as_u64);
    let detail =
        |group: &str, name: &str| number(usage.get(group).and_then(|group| group.get(name)));
    let read = number(usage.get("prompt_tokens"))?;
    let cached = detail("prompt_tokens_details", "cached_tokens")
        .or_else(|| number(usage.get("prompt_cache_hit_tokens")));
    Some(Usage {
        input_tokens: read.saturating_sub(cached.unwrap_or(0)),
        output_tokens: number(usage.get("completion_tokens")).unwrap_or(0),
        cache_read_tokens: cached,
        cache_write_tokens: None,
        reasoning_tokens: detail("completion_tokens_details", "reasoning_tokens"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dsh_session::SessionId;
    use serde_json::json;

    fn request() -> Request {
        let header = serde_json::from_str(r#"{"config":{"provider":"p","model":"m"}}"#).unwrap();
        Request { session: SessionId::new("s"), header, messages: Vec::new() }
    }

    /// What these payloads become, one line for each chunk.
    fn told(payloads: &[Value]) -> Result<Vec<String>, ModelFailure> {
        let mut answer = Answer::to(&request());
        let mut chunks = VecDeque::new();
        for payload in payloads {
            answer.take(&payload.to_string(), &mut chunks)?;
        }
        answer.end(&mut chunks);
        Ok(chunks.iter().map(|chunk| serde_json::to_string(chunk).unwrap()).collect())
    }

    fn delta(delta: Value) -> Value {
        json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
    }

    fn finished(reason: &str) -> Value {
        json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
    }

    #[test]
    fn blocks_open_as_they_come_and_end_together() {
        let told = told(&[
            delta(json!({ "role": "assistant", "content": "", "reasoning_content": "" })),
            delta(json!({ "reasoning_content": "hm", "content": null })),
            delta(json!({ "content": "so" })),
            delta(json!({ "tool_calls": [{ "index": 0, "id": "c", "type": "function",
                "function": { "name": "ls", "arguments": "" } }] })),
            delta(json!({ "tool_calls": [{ "index": 0, "function": { "arguments": "{}" } }] })),
            finished("tool_calls"),
            json!({ "choices": [], "usage": { "prompt_tokens": 10, "completion_tokens": 4,
                "prompt_cache_hit_tokens": 7, "prompt_cache_miss_tokens": 3,
                "completion_tokens_details": { "reasoning_tokens": 2 } } }),
        ]);
        let expected = [
            r#"{"type":"block-start","index":0,"blockType":"reasoning"}"#,
            r#"{"type":"reasoning-delta","index":0,"text":"hm"}"#,
            r#"{"type":"block-start","index":1,"blockType":"text"}"#,
            r#"{"type":"text-delta","index":1,"text":"so"}"#,
            r#"{"type":"block-start","index":2,"blockType":"tool-call"}"#,
            r#"{"type":"tool-call-delta","index":2,"id":"c","name":"ls","argumentsDelta":""}"#,
            r#"{"type":"tool-call-delta","index":2,"id":"c","name":"ls","argumentsDelta":"{}"}"#,
            r#"{"type":"block-end","index":0,"block":{"type":"reasoning","text":"hm"}}"#,
            r#"{"type":"block-end","index":1,"block":{"type":"text","text":"so"}}"#,
            r#"{"type":"block-end","index":2,"block":{"type":"tool-call","id":"c","name":"ls","arguments":"{}"}}"#,
            r#"{"type":"usage","usage":{"inputTokens":3,"outputTokens":4,"cacheReadTokens":7,"reasoningTokens":2}}"#,
            r#"{"type":"finish","reason":{"kind":"tool-calls"}}"#,
        ];
        assert_eq!(told.unwrap(), expected);
    }

    #[track_caller]
    fn check_finish(payloads: &[Value], expected: &str) {
        let told = told(payloads).unwrap();
        let last = told.last().unwrap();
        assert_eq!(last, &format!(r#"{{"type":"finish","reason":{expected}}}"#));
    }

    #[test]
    fn services_have_many_words_for_an_end() {
        let text = delta(json!({ "content": "a" }));
        let call = delta(json!({ "tool_calls": [{ "id": "c", "function": { "name": "ls" } }] }));
        for stop in ["stop", "eos", "end_turn", "", "tool_calls"] {
            check_finish(&[text.clone(), finished(stop)], r#"{"kind":"stop"}"#);
        }
        for calls in ["tool_calls", "stop", "function_call"] {
            check_finish(&[call.clone(), finished(calls)], r#"{"kind":"tool-calls"}"#);
        }
        check_finish(&[text.clone(), finished("length")], r#"{"kind":"max-tokens"}"#);
        check_finish(
            &[text, finished("content_filter")],
            r#"{"kind":"error","failure":{"message":"model stopped: content_filter","code":"CONTENT_FILTER"}}"#,
        );
    }

    #[test]
    fn nothing_at_all_is_no_answer_but_thinking_alone_is_one() {
        check_finish(
            &[delta(json!({ "content": "" })), finished("stop")],
            r#"{"kind":"error","failure":{"message":"the model ended its answer without saying anything","code":"EMPTY_RESPONSE"}}"#,
        );
        check_finish(
            &[delta(json!({ "reasoning_content": "hm" })), finished("stop")],
            r#"{"kind":"stop"}"#,
        );
    }

    #[test]
    fn a_call_without_a_name_is_no_answer() {
        let call =
            delta(json!({ "tool_calls": [{ "index": 0, "function": { "arguments": "{}" } }] }));
        let told = told(&[call, finished("tool_calls")]).unwrap();
        assert!(told.last().unwrap().contains("MALFORMED_RESPONSE"));
    }

    #[test]
    fn figures_count_once_wherever_they_come() {
        let usage = |read: u64| json!({ "prompt_tokens": read, "completion_tokens": read });
        let everywhere = [
            json!({ "choices": [{ "delta": { "content": "a" } }], "usage": usage(1) }),
            json!({ "choices": [{ "delta": {}, "finish_reason": "stop", "usage": usage(2) }] }),
            json!({ "choices": [], "usage": usage(3) }),
            json!({ "usage": null }),
        ];
        let told = told(&everywhere).unwrap();
        let figures: Vec<_> = told.iter().filter(|line| line.contains("usage")).collect();
        assert_eq!(figures, [r#"{"type":"usage","usage":{"inputTokens":3,"outputTokens":3}}"#]);
    }

    #[test]
    fn thinking_that_is_told_twice_is_one_thought() {
        let twice = delta(json!({ "reasoning": "hm", "reasoning_content": "hm", "content": "a" }));
        let told = told(&[twice, finished("stop")]).unwrap();
        assert!(told.contains(
            &r#"{"type":"block-end","index":0,"block":{"type":"reasoning","text":"hm"}}"#.into()
        ));
    }

    #[test]
    fn odd_members_are_passed_over() {
        let odd = [
            json!({}),
            json!({ "choices": null, "error": null, "usage": 7 }),
            json!({ "choices": [{}, { "delta": null }, { "index": 1, "delta": { "content": "no" } }] }),
            delta(json!({ "content": [{ "type": "text", "text": "a" }, { "type": "image" }] })),
            delta(json!({ "content": 7, "tool_calls": {}, "reasoning": { "x": 1 } })),
            finished("stop"),
        ];
        let told = told(&odd).unwrap();
        assert_eq!(told.len(), 4, "{told:?}");
        assert_eq!(told[1], r#"{"type":"text-delta","index":0,"text":"a"}"#);
    }

    #[test]
    fn garbage_is_quoted() {
        let mut answer = Answer::to(&request());
        for garbage in ["{\"choices\": [", "[1]", "hello", "\u{1F600}"] {
            let failure = answer.take(garbage, &mut VecDeque::new()).unwrap_err();
            assert_eq!(failure.code, "MALFORMED_RESPONSE");
            assert!(failure.message.ends_with(garbage), "{}", failure.message);
        }
    }

    #[test]
    fn no_answer_is_endless() {
        let mut answer = Answer::to(&request());
        let piece = delta(json!({ "content": "x".repeat(8 * 1024 * 1024) })).to_string();
        let mut taken = 0;
        let failure = loop {
            match answer.take(&piece, &mut VecDeque::new()) {
                Ok(()) => taken += 1,
                Err(failure) => break failure,
            }
        };
        assert_eq!((taken, failure.code.as_str()), (8, "MALFORMED_RESPONSE"));
    }
}
