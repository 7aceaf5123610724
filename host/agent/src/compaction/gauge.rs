//! How many tokens a request has, as far as anybody knows without its model's tokenizer.

use serde::Deserialize;

use dsh_session::{Block, Event, Message, Surface, SurfaceOp};

use crate::{RequestHeader, Usage};

/// The measure of the real client, which its logs hold as `shadowedTokenCount`: four UTF-16 units are a token, and
/// each message and each block cost four more.
const UNITS_OF_A_TOKEN: usize = 4;
const FRAME: u64 = 4;

/// What the provider counted last, as long as the surface it was counted for still stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gauge {
    counted: Option<Counted>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counted {
    /// The reply that came with the count.
    seq: u64,
    /// The tokens of its request and of itself.
    tokens: u64,
}

impl Gauge {
    /// Takes the next event of the log; most change nothing.
    pub(crate) fn event(&mut self, event: &Event) {
        #[derive(Deserialize)]
        struct Data {
            usage: Usage,
        }
        if let Some(SurfaceOp::Replace { .. }) = event.surface_op {
            self.counted = None;
        } else if &*event.kind == "assistant/message"
            && let Ok(Data { usage }) = event.data.read()
        {
            self.counted = Some(Counted { seq: event.seq, tokens: total(usage) });
        }
    }

    /// The tokens of a request with this header and these messages.
    pub(crate) fn read(&self, header: &RequestHeader, surface: &Surface) -> Reading {
        let estimated = of_header(header).saturating_add(of_surface(surface));
        Reading { tokens: self.tokens(header, surface), estimated }
    }

    fn tokens(&self, header: &RequestHeader, surface: &Surface) -> u64 {
        let nodes = surface.nodes();
        let counted = self.counted.and_then(|counted| {
            let place = nodes.iter().rposition(|node| node.seq == counted.seq)?;
            Some((counted.tokens, nodes.get(place + 1..)?))
        });
        let (known, rest) = counted.unwrap_or_else(|| (of_header(header), nodes));
        rest.iter().fold(known, |sum, node| sum.saturating_add(of_message(&node.message)))
    }
}

/// How much a request is, in two measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    /// Counted as far as possible, else estimated.
    pub(crate) tokens: u64,
    /// All of it estimated.
    estimated: u64,
}

impl Reading {
    /// What the estimate says where this many tokens would be counted: one of Chinese text, say, is much too low.
    pub(super) fn estimate_of(self, tokens: u64) -> u64 {
        let scaled =
            u128::from(tokens) * u128::from(self.estimated) / u128::from(self.tokens.max(1));
        tokens.min(u64::try_from(scaled).unwrap_or(u64::MAX))
    }
}

/// The estimate for all messages of a surface.
pub(super) fn of_surface(surface: &Surface) -> u64 {
    let nodes = surface.nodes().iter().filter(|node| node.is_spoken());
    nodes.map(|node| of_message(&node.message)).fold(0, u64::saturating_add)
}

/// The estimate for one message.
pub(super) fn of_message(message: &Message) -> u64 {
    message.blocks().iter().map(of_block).fold(FRAME, u64::saturating_add)
}

fn of_header(header: &RequestHeader) -> u64 {
    let system = header.system.as_deref().map_or(0, of_text);
    let tools = header.tools.iter().map(|tool| {
        let parameters = of_text(tool.parameters.as_str());
        FRAME + of_text(&tool.name) + of_text(&tool.description) + parameters
    });
    tools.fold(system, u64::saturating_add)
}

fn of_block(block: &Block) -> u64 {
    let content = match block {
        Block::Text(text) | Block::Reasoning(text) => of_text(text),
        Block::ToolCall(call) => of_text(&call.name) + of_text(&call.arguments),
        Block::ToolResult(result) => result.content.iter().map(of_block).sum(),
        Block::Other(json) => of_text(json.as_str()),
    };
    FRAME.saturating_add(content)
}

fn of_text(text: &str) -> u64 {
    let units = text.encode_utf16().count();
    u64::try_from(units.div_ceil(UNITS_OF_A_TOKEN)).unwrap_or(u64::MAX)
}

fn total(usage: Usage) -> u64 {
    let Usage { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, .. } = usage;
    [input_tokens, output_tokens, cache_read_tokens.unwrap_or(0), cache_write_tokens.unwrap_or(0)]
        .into_iter()
        .fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dsh_session::{Draft, Json, Replay, SessionId};

    const HEADER: &str = r#"{"config":{"provider":"p","model":"m"},"system":"12345678"}"#;

    fn user(text: &str, op: SurfaceOp, sources: Option<Vec<u64>>) -> Draft {
        let block = serde_json::json!({ "type": "text", "text": text });
        let source = Json::parse(r#"{"kind":"user"}"#).unwrap();
        let message = Message::user("u", &source, &[Json::of(&block).unwrap()]).unwrap();
        let draft = Draft::node("user/message", message.json().clone(), sources);
        Draft { surface_op: Some(op), ..draft }
    }

    fn reply(usage: &str) -> Draft {
        let data = format!(
            r#"{{"turn":1,"step":1,"message":{{"role":"assistant","content":[],"source":{{"kind":"model","provider":"p","model":"m"}},"id":"a"}}{usage}}}"#
        );
        Draft::node("assistant/message", Json::parse(&data).unwrap(), Some(Vec::new()))
    }

    /// What the gauge says after these events.
    #[track_caller]
    fn check(drafts: Vec<Draft>, expected: u64) {
        let mut replay = Replay::new(SessionId::new("s"));
        let mut gauge = Gauge::default();
        for draft in drafts {
            let event = draft.at(replay.next_seq(), 0);
            replay.event(&event).unwrap();
            gauge.event(&event);
        }
        let header = serde_json::from_str(HEADER).unwrap();
        assert_eq!(gauge.read(&header, &replay.surface()).tokens, expected);
    }

    const USAGE: &str = r#","usage":{"inputTokens":1000,"outputTokens":20,"cacheReadTokens":300,"cacheWriteTokens":4,"reasoningTokens":9}"#;

    #[test]
    fn without_a_count_everything_is_estimated() {
        check(vec![user("12345", SurfaceOp::Append, None)], 2 + (4 + 4 + 2));
        check(vec![user("12345", SurfaceOp::Append, None), reply("")], 2 + 10 + 4);
    }

    #[test]
    fn a_count_stands_for_all_before_it() {
        let long = user(&"x".repeat(400), SurfaceOp::Append, None);
        let after = user("1234", SurfaceOp::Append, None);
        check(vec![long, reply(USAGE), after], 1324 + 9);
    }

    #[test]
    fn a_replacement_makes_a_count_stale() {
        let replace = SurfaceOp::Replace { start: 0, end: 0 };
        let first = user(&"x".repeat(400), SurfaceOp::Append, None);
        check(vec![first, reply(USAGE), user("1234", replace, Some(vec![0]))], 2 + 9 + 4);
    }

    #[test]
    fn an_estimate_that_was_too_low_is_known_to_be() {
        let reading = Reading { tokens: 800, estimated: 200 };
        assert_eq!(reading.estimate_of(160), 40);
        let reading = Reading { tokens: 200, estimated: 800 };
        assert_eq!(reading.estimate_of(160), 160);
    }

    #[test]
    fn units_are_those_of_utf_16() {
        assert_eq!(
            (of_text(""), of_text("abcd"), of_text("日本語字"), of_text("😀😀😀")),
            (0, 1, 1, 2)
        );
    }
}
