//! The conversation as people see it: everything that joined history, whatever was compacted since.

use std::io::{self, Write};

use dsh_agent::{Inbox, Shown, Splice, TurnEnd};
use dsh_session::{Block, Event, Fold, Message, SessionId, Sessions, SurfaceOp};

use crate::outcome::Outcome;
use crate::visible::{Line, Lines};
use crate::{adapter, find, note, snapshot};

/// Shows one session's conversation.
pub(super) async fn show(
    sessions: &Sessions,
    id: &SessionId,
    out: &mut dyn Write,
    json: bool,
    full: bool,
) -> anyhow::Result<()> {
    // Most chunks are of messages that follow: only where a turn was cut short does one have to look at them.
    let passing = Conversation { passes_chunks: true, ..Conversation::default() };
    let (mut read, mut conversation) = super::read(sessions, id, passing).await?;
    if conversation.was_cut() {
        (read, conversation) = super::read(sessions, id, Conversation::default()).await?;
    }
    if read.closers > 0 {
        conversation.left_open();
    }
    if json {
        for entry in &conversation.entries {
            if let Entry::Message { message, .. } | Entry::Checkpoint { message, .. } = entry {
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
    conversation.write(out, full)?;
    Ok(())
}

/// What people see, in order: fold a log into it, or events as they come. Both look the same.
#[derive(Default)]
pub struct Conversation {
    entries: Vec<Entry>,
    inbox: Inbox,
    /// Prompts that a turn claimed and that have not joined history yet, as they were typed.
    claimed: Vec<Message>,
    /// The end of a turn that was rejected, with the reason that stands before it in the log.
    rejected: Option<TurnEnd>,
    /// How many nodes the next checkpoint stands for.
    shadowed: usize,
    /// What the model said in chunks that no message has yet.
    saying: Vec<Said>,
    /// Whether it is not shown what was said in turns that were cut short.
    passes_chunks: bool,
}

/// A part of a reply that was cut short.
enum Said {
    Text(String),
    Reasoning(String),
}

enum Entry {
    /// It joined history.
    Message {
        message: Message,
        /// What was typed, where a plugin changed it on its way.
        typed: Option<Message>,
        /// Whether its plugin put another message in its place, for the model.
        withdrawn: bool,
    },
    /// A prompt that never joined history.
    Unsent(Message),
    /// A summary that stands for everything above it, or for so many messages of it.
    Checkpoint { message: Message, shadowed: usize },
    /// A compaction that failed, and why.
    NoSummary(String),
    /// What was said of a reply that never came to its end.
    Cut(Vec<Said>),
    /// A turn is over.
    End(TurnEnd),
    /// A turn whose end is not in the log.
    Open,
}

impl Fold for Conversation {
    fn event(&mut self, event: &Event) {
        if let Some(SurfaceOp::Replace { .. }) = event.surface_op {
            return self.replaced(event);
        }
        match Shown::of(event) {
            Some(Shown::Message(message) | Shown::ToolResult(message)) => self.joined(message),
            Some(Shown::Compacted { nodes, .. }) => self.shadowed = nodes,
            Some(Shown::CompactionFailed(why)) => self.entries.push(Entry::NoSummary(why)),
            Some(Shown::Rejected { reason, plugin }) => {
                self.rejected = Some(TurnEnd::Blocked { reason, plugin, details: None });
            }
            Some(Shown::TurnEnded(_, end)) => {
                let end = self.rejected.take().unwrap_or(end);
                self.entries.extend(self.claimed.drain(..).map(Entry::Unsent));
                let saying = std::mem::take(&mut self.saying);
                if end == TurnEnd::Interrupted && !saying.is_empty() {
                    self.entries.push(Entry::Cut(saying));
                }
                self.entries.push(Entry::End(end));
            }
            Some(Shown::Text(text)) => match self.saying.last_mut() {
                Some(Said::Text(said)) => said.push_str(&text),
                _ => self.saying.push(Said::Text(text)),
            },
            Some(Shown::Reasoning(text)) => match self.saying.last_mut() {
                Some(Said::Reasoning(said)) => said.push_str(&text),
                _ => self.saying.push(Said::Reasoning(text)),
            },
            Some(Shown::Retrying(_)) => self.saying.clear(),
            _ if &*event.kind == "step/start" => self.saying.clear(),
            _ if &*event.kind == "assistant/message" => {
                self.saying.clear();
                let message = event.data.object().ok().and_then(|data| data.read("message"));
                let message = message.and_then(|message| Message::parse(message).ok());
                message.into_iter().for_each(|message| self.joined(message));
            }
            _ if &*event.kind == "agent/inbox/spliced" => {
                let Some(splice) = Splice::parse(&event.data) else { return };
                let claimed = self.inbox.apply(&splice).into_iter().filter(|_| !splice.canceled);
                self.claimed.extend(claimed.filter(|message| message.source().is_user()));
            }
            _ => {}
        }
    }

    fn wants_chunks(&self) -> bool {
        !self.passes_chunks
    }
}

impl Conversation {
    /// Whether a turn ended with its process.
    fn was_cut(&self) -> bool {
        self.entries.iter().any(|entry| matches!(entry, Entry::End(TurnEnd::Interrupted)))
    }

    /// Says of the last turn that its end is not in the log.
    fn left_open(&mut self) {
        if let Some(end @ Entry::End(_)) = self.entries.last_mut() {
            *end = Entry::Open;
        }
    }

    /// Only a checkpoint shows: it is for the model, and what it stands for stays in sight.
    fn replaced(&mut self, event: &Event) {
        let Some(Shown::Message(message)) = Shown::of(event) else { return };
        if message.source().is_checkpoint() {
            let shadowed = std::mem::take(&mut self.shadowed);
            self.entries.push(Entry::Checkpoint { message, shadowed });
        } else if let Some(id) = note::withdraws(&message) {
            self.withdrawn(&id);
        }
    }

    fn joined(&mut self, message: Message) {
        let place = self.claimed.iter().position(|claimed| claimed.id() == message.id());
        let typed = place.map(|place| self.claimed.swap_remove(place));
        let typed = typed.filter(|typed| typed.text() != message.text());
        self.entries.push(Entry::Message { message, typed, withdrawn: false });
    }

    fn withdrawn(&mut self, id: &str) {
        for entry in &mut self.entries {
            if let Entry::Message { message, withdrawn, .. } = entry {
                *withdrawn |= message.id() == id;
            }
        }
    }

    /// Writes all of it; with `full`, snapshots whole.
    ///
    /// # Errors
    /// When `out` does not take it.
    pub fn write(&self, out: &mut dyn Write, full: bool) -> io::Result<()> {
        self.entries.iter().try_for_each(|entry| entry.write(out, full))
    }
}

impl Entry {
    fn write(&self, out: &mut dyn Write, full: bool) -> io::Result<()> {
        match self {
            Self::Message { message, typed, withdrawn } => {
                if let Some(card) = note::card(message, *withdrawn) {
                    writeln!(out)?;
                    return card.iter().try_for_each(|line| writeln!(out, "      {line}"));
                }
                write_message(out, message, full)?;
                let Some(typed) = typed else { return Ok(()) };
                let (by, typed) = (rewritten_by(message), typed.text());
                writeln!(out, "      ↳ {} changed this; you wrote: {}", Line(&by), Line(&typed))
            }
            Self::Unsent(message) => {
                writeln!(out)?;
                said(out, "unsent", &message.text())
            }
            Self::Checkpoint { message, shadowed } => write_checkpoint(out, message, *shadowed),
            Self::NoSummary(why) => {
                writeln!(out, "        a summary was asked for and failed: {}", Line(why))
            }
            Self::Cut(parts) => {
                writeln!(out)?;
                parts.iter().try_for_each(|part| match part {
                    Said::Text(text) => said(out, "model", text),
                    Said::Reasoning(text) => said(out, "thinks", text),
                })
            }
            Self::Open => {
                writeln!(out, "        this turn has no end: its process stopped, or still runs it")
            }
            Self::End(end) => match Outcome::of(end).sentence() {
                Some(sentence) => writeln!(out, "        {sentence}"),
                None => Ok(()),
            },
        }
    }
}

fn write_message(out: &mut dyn Write, message: &Message, full: bool) -> io::Result<()> {
    if let (Some(lines), false) = (snapshot::summary(message), full) {
        let kind = &message.source().kind;
        return lines.iter().try_for_each(|line| writeln!(out, "      ↳ {}: {line}", Line(kind)));
    }
    if let (Some(lines), false) = (adapter::summary(message), full) {
        return lines.iter().try_for_each(|line| writeln!(out, "      ↳ instructions: {line}"));
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
    Ok(())
}

/// A card: how far it reaches, and the summary between two rules.
fn write_checkpoint(out: &mut dyn Write, message: &Message, shadowed: usize) -> io::Result<()> {
    let count = if shadowed == 0 { String::new() } else { format!("{shadowed} ") };
    writeln!(out, "\n──────── summary; for the model it stands for {count}older messages")?;
    let texts: Vec<&str> = message.blocks().iter().filter_map(Block::text).collect();
    // The real client and this one put it between two tags, each in a block of its own.
    let summary = match texts.as_slice() {
        [preface, summary @ .., "</compacted-summary>"]
            if preface.ends_with("<compacted-summary>") =>
        {
            summary
        }
        whole => whole,
    };
    for line in Lines(&summary.join("\n")).to_string().lines() {
        writeln!(out, "        {line}")?;
    }
    writeln!(out, "────────")
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
    let plugins = super::rewriters(message);
    if plugins.is_empty() { "another client".to_owned() } else { plugins.join(", ") }
}

fn said(out: &mut dyn Write, who: &str, text: &str) -> io::Result<()> {
    let (who, text) = (Line(who).to_string(), Lines(text).to_string());
    let mut lines = text.lines();
    writeln!(out, "{who:<7} {}", lines.next().unwrap_or_default())?;
    lines.try_for_each(|line| writeln!(out, "        {line}"))
}
