//! What lies beneath a conversation: the log, the surface, and the next request.

use std::io::Write;

use dsh_agent::RequestHeader;
use dsh_session::{Event, Fold, Json, Message, Node, NodeRole, SessionId, Sessions};
use serde::Serialize;

use crate::snapshot;
use crate::visible::{Line, Lines};

/// Longest text of an event or node in a list, in characters.
const WIDTH: usize = 100;

/// Every event of the log, one a line.
pub(super) async fn log(
    sessions: &Sessions,
    id: &SessionId,
    out: &mut dyn Write,
    json: bool,
) -> anyhow::Result<()> {
    let (_, events) = super::read(sessions, id, Vec::new()).await?;
    for event in &events {
        if json {
            writeln!(out, "{}", event.row())?;
        } else {
            let Event { seq, kind, data, .. } = event;
            writeln!(out, "{seq:>6} {:<22} {}", Line(kind), short(data.as_str()))?;
        }
    }
    Ok(())
}

/// The nodes that the model would see next, one a line.
pub(super) async fn surface(
    sessions: &Sessions,
    id: &SessionId,
    out: &mut dyn Write,
    json: bool,
    full: bool,
) -> anyhow::Result<()> {
    let observation = sessions.surface(id).await?;
    for node in observation.surface.nodes() {
        if json {
            writeln!(out, r#"{{"seq":{},"message":{}}}"#, node.seq, node.message.json().as_str())?;
        } else {
            writeln!(
                out,
                "{:>6} {:<9} {:>8}  {}",
                node.seq,
                role(node),
                node.text_bytes,
                text(node, full)
            )?;
        }
    }
    Ok(())
}

/// The request that the model would get next, whole.
pub(super) async fn request(
    sessions: &Sessions,
    id: &SessionId,
    out: &mut dyn Write,
    json: bool,
) -> anyhow::Result<()> {
    let (read, LatestHeader(header)) = super::read(sessions, id, LatestHeader(None)).await?;
    let messages = read.surface.messages();
    if json {
        let messages = messages.iter().map(Message::json).collect();
        writeln!(out, "{}", serde_json::to_string(&Next { header, messages })?)?;
        return Ok(());
    }
    if let Some(header) = header.and_then(|header| header.read::<RequestHeader>().ok()) {
        let config = &header.config;
        writeln!(out, "model  {} · {}", Line(&config.provider), Line(&config.model))?;
        if let Some(system) = &header.system {
            writeln!(out, "\nsystem\n{}", Lines(system))?;
        }
        for tool in &header.tools {
            writeln!(out, "\ntool   {}", Line(&tool.name))?;
            writeln!(out, "{}\n{}", Lines(&tool.description), Line(tool.parameters.as_str()))?;
        }
    }
    for message in &messages {
        let source = message.source();
        let who = source.plugin.as_deref().unwrap_or(&source.kind);
        writeln!(out, "\n{:?} ({})", message.role(), Line(who))?;
        for block in message.blocks() {
            writeln!(out, "{}", Lines(&super::block(block)))?;
        }
    }
    Ok(())
}

/// The next request, as `--json` tells it.
#[derive(Serialize)]
struct Next<'a> {
    header: Option<Json>,
    messages: Vec<&'a Json>,
}

/// The latest `request/header` of a log, as it was logged.
struct LatestHeader(Option<Json>);

impl Fold for LatestHeader {
    fn event(&mut self, event: &Event) {
        if &*event.kind == "request/header" {
            self.0 = event.data.object().ok().and_then(|data| data.read("header"));
        }
    }

    fn wants_chunks(&self) -> bool {
        false
    }
}

fn role(node: &Node) -> &'static str {
    match node.role {
        NodeRole::User => "user",
        NodeRole::Assistant => "assistant",
        NodeRole::Tool => "tool",
    }
}

fn text(node: &Node, full: bool) -> String {
    let message = &node.message;
    match snapshot::summary(message) {
        Some(lines) if !full => lines.join("; "),
        _ => {
            let blocks: Vec<String> = message.blocks().iter().map(super::block).collect();
            let text = blocks.join(" ");
            if full { Line(&text).to_string() } else { short(&text) }
        }
    }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", Line(text.get(..end).unwrap_or_default())),
        None => Line(text).to_string(),
    }
}
