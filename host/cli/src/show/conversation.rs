//! The conversation as people see it: everything that joined history, whatever was compacted since.

use std::collections::HashMap;
use std::io::{self, Write};

use dsh_agent::{Shown, Splice, TurnEnd};
use dsh_session::{Block, Event, Fold, Message, SessionId, Sessions, SurfaceOp};

use crate::find;
use crate::outcome::Outcome;
use crate::snapshot;
use crate::visible::{Line, Lines};

/// Shows one session's conversation.
pub(super) async fn show(
    sessions: &Sessions,
    id: &SessionId,
    out: &mut dyn Write,
    json: bool,
    full: bool,
) -> anyhow::Result<()> {
    let (read, conversation) = super::read(sessions, id, Conversation::default()).await?;
    if json {
        for entry in &conversation.entries {
            if let Entry::Message(message) = entry {
                writeln!(out, "{}", message.json().as_str())?;
            }
        }
        return Ok(());
    }
    let title = read.title.ok().flatten().map(|title| title.title);
    writeln!(out, "{}", Line(title.as_deref().unwrap_or("(no title)")))?;
    let header = &read.header;
    let (shown, cwd) = (id.to_string(), header.cwd.as_deref().unwrap_or("no directory"));
    writeln!(out, "  {} · {} · {}", Line(&shown), Line(cwd), find::date(header.created_at))?;
    writeln!(out, "  {}", find::uri(id))?;
    for entry in &conversation.entries {
        match entry {
            Entry::Message(message) => conversation.message(out, message, full)?,
            Entry::End(end) => {
                if let Some(sentence) = Outcome::of(end).sentence() {
                    writeln!(out, "\n        {sentence}")?;
                }
            }
        }
    }
    Ok(())
}

/// What people see, and what they typed.
#[derive(Default)]
struct Conversation {
    entries: Vec<Entry>,
    /// Prompts as they entered the inbox, by message id; kept while they differ from what joined history.
    typed: HashMap<String, Message>,
}

enum Entry {
    Message(Message),
    End(TurnEnd),
}

impl Fold for Conversation {
    fn event(&mut self, event: &Event) {
        if matches!(event.surface_op, Some(SurfaceOp::Replace { .. })) {
            return;
        }
        if &*event.kind == "agent/inbox/spliced" {
            let Some(splice) = Splice::parse(&event.data) else { return };
            let prompts = splice.inserted.into_iter().filter(|message| message.source().is_user());
            self.typed.extend(prompts.map(|message| (message.id().to_owned(), message)));
            return;
        }
        let message = match Shown::of(event) {
            Some(Shown::Message(message) | Shown::ToolResult(message)) => message,
            Some(Shown::TurnEnded(_, end)) => return self.entries.push(Entry::End(end)),
            _ => {
                let data = event.data.object().ok().filter(|_| &*event.kind == "assistant/message");
                let message = data.and_then(|data| Message::parse(data.read("message")?).ok());
                let Some(message) = message else { return };
                message
            }
        };
        if self.typed.get(message.id()).is_some_and(|typed| typed.text() == message.text()) {
            self.typed.remove(message.id());
        }
        self.entries.push(Entry::Message(message));
    }

    fn wants_chunks(&self) -> bool {
        false
    }
}

impl Conversation {
    fn message(&self, out: &mut dyn Write, message: &Message, full: bool) -> io::Result<()> {
        let source = message.source();
        if let (Some(lines), false) = (snapshot::summary(message), full) {
            for line in lines {
                writeln!(out, "      ↳ {}: {line}", Line(&source.kind))?;
            }
            return Ok(());
        }
        writeln!(out)?;
        for block in message.blocks() {
            match block {
                Block::Text(text) => said(out, speaker(message), text)?,
                Block::Reasoning(text) => said(out, "thinks", text)?,
                Block::ToolCall(call) => {
                    said(out, "calls", &format!("{} {}", call.name, call.arguments))?;
                }
                Block::ToolResult(result) => {
                    let texts = result.content.iter().filter_map(Block::text);
                    said(out, "result", &texts.collect::<Vec<_>>().join("\n"))?;
                }
                Block::Other(_) => said(out, speaker(message), "(something that is no text)")?,
            }
        }
        if let Some(typed) = self.typed.get(message.id()) {
            let by = rewritten_by(message);
            writeln!(
                out,
                "      ↳ {} changed this; you wrote: {}",
                Line(&by),
                Line(&typed.text())
            )?;
        }
        Ok(())
    }
}

fn speaker(message: &Message) -> &str {
    let source = message.source();
    match &*source.kind {
        "user" => "you",
        "model" => "model",
        kind => source.plugin.as_deref().unwrap_or(kind),
    }
}

/// The plugins that changed a message, as its source names them.
fn rewritten_by(message: &Message) -> String {
    let source = message.source().facts.object().ok();
    let plugins: Option<Vec<String>> = source.and_then(|source| source.read("rewrittenBy"));
    plugins.map_or_else(|| "another client".to_owned(), |plugins| plugins.join(", "))
}

fn said(out: &mut dyn Write, who: &str, text: &str) -> io::Result<()> {
    let (who, text) = (Line(who).to_string(), Lines(text).to_string());
    let mut lines = text.lines();
    writeln!(out, "{who:<7} {}", lines.next().unwrap_or_default())?;
    lines.try_for_each(|line| writeln!(out, "        {line}"))
}
