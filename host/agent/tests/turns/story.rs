//! A log as a short story, one line for each event.

use dsh_agent::{REJECTED, TurnEnd};
use dsh_session::{Block, Event, Json, Message, SurfaceOp};

/// Tells the events; chunks in a row are one line.
pub(crate) fn story(events: &[Event]) -> Vec<String> {
    let mut lines: Vec<String> = events.iter().map(line).collect();
    lines.dedup_by(|a, b| a == b && a == "chunks");
    lines
}

fn line(event: &Event) -> String {
    let data = event.data.object().unwrap();
    let number = |key: &str| data.read::<u64>(key).unwrap_or(0);
    let message = || Message::parse(data.read("message").unwrap()).unwrap();
    match &*event.kind {
        "agent/inbox/spliced" => {
            let inserted: Vec<Json> = data.read("inserted").unwrap();
            let texts: Vec<String> =
                inserted.into_iter().map(|json| Message::parse(json).unwrap().text()).collect();
            let canceled = if data.get("outcome").is_some() { " canceled" } else { "" };
            let (target, start) = (data.text("target").unwrap(), number("start"));
            format!("{target}@{start} -{} +{texts:?}{canceled}", number("removedCount"))
        }
        "turn/start" => format!("turn {}", number("turn")),
        "turn/end" => format!("end {}", end(data.read("reason").unwrap())),
        "step/start" => format!("step {}", number("step")),
        "step/end" => "step end".into(),
        "user/message" => {
            let message = Message::parse(event.data.clone()).unwrap();
            match event.surface_op {
                Some(SurfaceOp::Replace { start, end }) => {
                    let blocks = message.blocks();
                    let text = blocks.get(1).unwrap_or(&blocks[0]).text().unwrap();
                    format!("checkpoint for {start}..{end}: {text}")
                }
                _ => format!("{}: {}", message.source().kind, message.text()),
            }
        }
        "assistant/chunk" => "chunks".into(),
        "assistant/message" => {
            let interrupted = if data.get("interrupted").is_some() { " interrupted" } else { "" };
            let calls = message()
                .blocks()
                .iter()
                .filter(|block| matches!(block, Block::ToolCall(_)))
                .count();
            format!("model: {} {calls} calls{interrupted}", message().text())
        }
        "tool/call" => {
            format!("call {} {}", data.text("name").unwrap(), data.text("arguments").unwrap())
        }
        "tool/result" => {
            let message = message();
            let [Block::ToolResult(result)] = message.blocks() else {
                panic!("a result has one block");
            };
            let text = result.content.iter().filter_map(Block::text).collect::<String>();
            let error: Option<Json> = data.read("error");
            let code = error.map_or(String::new(), |error| {
                format!(" {}", error.object().unwrap().text("code").unwrap())
            });
            format!("result {} {text}{code}", result.call)
        }
        REJECTED => format!(
            "rejected by {}: {}",
            data.text("plugin").unwrap(),
            data.text("reason").unwrap()
        ),
        "session/title" => format!("title {}", data.text("title").unwrap()),
        "command/run" => format!("/{} {}", data.text("name").unwrap(), data.text("args").unwrap()),
        "command/done" => format!("command {}", data.text("kind").unwrap()),
        "compaction/start" => match data.read::<Option<u64>>("turn").unwrap() {
            Some(turn) => format!("compaction in turn {turn}"),
            None => "compaction".into(),
        },
        "compaction/end" => match data.text("error") {
            Some(error) => format!("compaction failed: {error}"),
            None => "compaction end".into(),
        },
        "request/header" => format!("header {}", data.text("reason").unwrap()),
        other => other.into(),
    }
}

fn end(reason: Json) -> String {
    match TurnEnd::parse(&reason).unwrap() {
        TurnEnd::Completed => "completed".into(),
        TurnEnd::Aborted { reason } => {
            format!("aborted {}", serde_json::to_string(&reason).unwrap())
        }
        TurnEnd::Blocked { .. } => "blocked".into(),
        TurnEnd::Error { error } => format!("error {}", error.code),
        TurnEnd::MaxTokens => "max-tokens".into(),
        TurnEnd::Interrupted => "interrupted".into(),
    }
}
