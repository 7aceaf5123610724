//! A turn as it is shown: the reply as it comes, notices beside it, and a prompt that reached nobody given back.

mod asking;

use std::io::{self, Write};
use std::path::Path;

use dsh_agent::{Agent, Retry, Shown};
use dsh_config::instructions::gather;
use dsh_session::{Block, Event, Message, SessionId};
use serde::Serialize;

use crate::adapter::InstructionFiles;
use crate::aside::Beside;
use crate::exit::Exit;
use crate::outcome::Outcome;
use crate::visible::{self, Lines};
use crate::{adapter, find, note, snapshot};
use asking::{Questions, Unanswered};

/// Shows a turn, and keeps what was seen of it.
pub(crate) struct Shower<'a> {
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
    json: bool,
    /// Whether whoever read `out` has gone, as `head` does. The turn goes on.
    closed: bool,
    said: Said,
    questions: Questions,
    beside: Option<Beside>,
}

/// What a turn said so far.
#[derive(Default)]
struct Said {
    session: Option<SessionId>,
    /// The prompt's id.
    prompt: Option<String>,
    /// Whether the prompt joined history.
    told: bool,
    /// The text of the turn that runs.
    reply: String,
    /// Whether the model thought in it.
    thought: bool,
}

/// What has to be said about instruction files that are not used, or not whole.
pub(super) fn notices(
    files: Option<&InstructionFiles>,
    cwd: Option<&Path>,
    err: &mut dyn Write,
) -> io::Result<()> {
    let (Some(files), Some(cwd)) = (files, cwd) else { return Ok(()) };
    let gathered = gather(&files.wanted, cwd, files.user.as_deref());
    let mut notices = gathered.notices.iter();
    notices.try_for_each(|notice| writeln!(err, "instructions: {}", visible::Line(notice)))
}

impl<'a> Shower<'a> {
    pub(crate) fn new(out: &'a mut dyn Write, err: &'a mut dyn Write, json: bool) -> Self {
        let (said, questions) = (Said::default(), Questions::default());
        Self { out, err, json, closed: false, said, questions, beside: None }
    }

    /// Shows from now on what is said beside the reply, too.
    pub(crate) fn listen(&mut self, beside: Beside) {
        self.beside = Some(beside);
    }

    /// Sends the prompt and shows everything until the agent is idle.
    pub(super) async fn follow(&mut self, agent: &Agent, prompt: Message) -> anyhow::Result<()> {
        self.said.prompt = Some(prompt.id().to_owned());
        let mut events = agent.live().subscribe();
        agent.followup(prompt).await?;
        let mut beside = self.beside.take();
        let idle = agent.when_idle();
        tokio::pin!(idle);
        let ended = loop {
            tokio::select! {
                biased;
                Some(event) = events.next() => self.event(&event)?,
                Some(aside) = Beside::next(&mut beside) => {
                    // A question comes after all that led to it.
                    while let Some(event) = events.try_next() {
                        self.event(&event)?;
                    }
                    self.aside(aside, beside.as_ref()).await?;
                }
                ended = &mut idle => break ended,
            }
        };
        while let Some(event) = events.try_next() {
            self.event(&event)?;
        }
        self.beside = beside;
        if let Some(beside) = &mut self.beside {
            beside.tell(self.err)?;
        }
        Ok(ended?)
    }

    pub(crate) fn session(&mut self, id: &SessionId, new: bool) -> io::Result<()> {
        self.said.session = Some(id.clone());
        if self.json {
            return self.line(&Line::Session { session: id, uri: find::uri(id), new });
        }
        let kind = if new { "new session" } else { "session" };
        writeln!(self.err, "{kind} {}", visible::Line(&id.to_string()))
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        let shown = Shown::of(event);
        match &shown {
            Some(Shown::TurnStarted(_)) => self.part(true)?,
            Some(Shown::Message(message)) => {
                self.said.told |= Some(message.id()) == self.said.prompt.as_deref();
            }
            Some(Shown::Text(text)) => self.said.reply.push_str(text),
            Some(Shown::Reasoning(_)) => self.said.thought = true,
            _ if &*event.kind == "step/start" => self.part(false)?,
            _ => self.unanswered(event)?,
        }
        if self.json {
            return self.put(&format!("{{\"type\":\"event\",\"event\":{}}}\n", event.row()));
        }
        match shown {
            Some(Shown::Text(text)) => self.put(&Lines(&text).to_string()),
            Some(Shown::Message(message)) => self.message(&message),
            Some(Shown::Compacting) => {
                writeln!(self.err, "the context window is full; the model sums up what came before")
            }
            Some(Shown::Compacted { nodes, tokens }) => {
                writeln!(self.err, "{nodes} messages (~{tokens} tokens) gave way to a summary")
            }
            Some(Shown::CompactionFailed(why)) => {
                writeln!(self.err, "there is no summary: {}", visible::Line(&why))
            }
            Some(Shown::Retrying(retry)) => self.retrying(&retry),
            Some(Shown::ToolCall(call)) => {
                self.end_line()?;
                writeln!(self.err, "tool {}", visible::Line(&call.name))
            }
            Some(Shown::ToolResult(message)) => self.tool_result(&message),
            _ => Ok(()),
        }
    }

    /// Whoever waits sees for what, and for how long.
    fn retrying(&mut self, retry: &Retry) -> io::Result<()> {
        let failure = visible::Line(&retry.failure.message);
        let of = retry.max_retries.map(|most| format!(" of {most}")).unwrap_or_default();
        let (seconds, number) = (retry.delay_ms / 1000.0, retry.retry);
        writeln!(self.err, "{failure}; asking again in {seconds:.1} s ({number}{of})")
    }

    /// Where notices go.
    pub(crate) fn err(&mut self) -> &mut dyn Write {
        self.err
    }

    fn message(&mut self, message: &Message) -> io::Result<()> {
        for line in adapter::summary(message).into_iter().flatten() {
            writeln!(self.err, "instructions: {line}")?;
        }
        for line in note::card(message, false).into_iter().flatten() {
            writeln!(self.err, "{line}")?;
        }
        for line in snapshot::summary(message).into_iter().flatten() {
            writeln!(self.err, "{}: {line}", visible::Line(&message.source().kind))?;
        }
        if message.source().is_user() && Some(message.id()) != self.said.prompt.as_deref() {
            writeln!(self.err, "this was waiting: {}", visible::Line(&message.text()))?;
        }
        Ok(())
    }

    fn tool_result(&mut self, message: &Message) -> io::Result<()> {
        for block in message.blocks() {
            if let Block::ToolResult(result) = block
                && result.is_error
            {
                self.failed_call(result)?;
            }
        }
        Ok(())
    }

    /// What comes next stands on a line of its own.
    fn end_line(&mut self) -> io::Result<()> {
        if !self.said.reply.is_empty() && !self.said.reply.ends_with('\n') {
            self.said.reply.push('\n');
            if !self.json {
                self.put("\n")?;
            }
        }
        Ok(())
    }

    /// A new turn, or a new step of one: what comes next is not a part of what was said.
    fn part(&mut self, turn: bool) -> io::Result<()> {
        let open = !self.said.reply.is_empty() && !self.said.reply.ends_with('\n');
        if open && !self.json {
            self.put("\n")?;
        }
        if turn {
            self.said.thought = false;
            self.said.reply.clear();
        } else if open {
            self.said.reply.push('\n');
        }
        Ok(())
    }

    pub(super) fn end(
        &mut self,
        outcome: &Outcome,
        prompt: &str,
        waits: bool,
        waiting: usize,
        resolves_mentions: bool,
    ) -> anyhow::Result<Exit> {
        let unsent = (waits || !self.said.told).then_some(prompt);
        self.part(false)?;
        let exit = match outcome.exit() {
            Exit::Done if !self.questions.unanswered.is_empty() => Exit::Unanswered,
            exit => exit,
        };
        let reply = std::mem::take(&mut self.said.reply);
        if self.json {
            self.result(outcome, reply.trim_end_matches('\n'), unsent)?;
            return Ok(exit);
        }
        if let Some(sentence) = outcome.sentence() {
            writeln!(self.err, "dsh-wasm: {sentence}")?;
        }
        if outcome.exit() == Exit::Done && reply.is_empty() && self.said.thought {
            writeln!(
                self.err,
                "The model thought, and said nothing; `show --log` has its thoughts."
            )?;
        }
        self.give_back(unsent)?;
        if unsent.is_none() && prompt.contains("dsh-session:") && !resolves_mentions {
            writeln!(
                self.err,
                "No plugin resolves mentions here: yours went to the model as text."
            )?;
        }
        if waiting > 0 {
            writeln!(
                self.err,
                "{waiting} more wait in this session; its next turn takes them first."
            )?;
        }
        Ok(exit)
    }

    /// It could not be done, so there is no turn to tell of.
    pub(super) fn failed(&mut self, error: &anyhow::Error, prompt: &str) -> io::Result<()> {
        let said = format!("{error:#}");
        writeln!(self.err, "dsh-wasm: {}", Lines(&said))?;
        let unsent = (!self.said.told).then_some(prompt);
        if self.json {
            let outcome = Outcome::failed(&said);
            return self.result(&outcome, "", unsent);
        }
        self.give_back(unsent)
    }

    fn give_back(&mut self, unsent: Option<&str>) -> io::Result<()> {
        let Some(prompt) = unsent else { return Ok(()) };
        writeln!(self.err, "Nothing of it was sent. Your message:\n{}", Lines(prompt))
    }

    fn result(&mut self, outcome: &Outcome, reply: &str, prompt: Option<&str>) -> io::Result<()> {
        let session = self.said.session.clone();
        let unanswered = self.questions.unanswered.clone();
        let session = session.as_ref();
        self.line(&Line::Result { session, outcome, reply, prompt, unanswered: &unanswered })
    }

    fn line(&mut self, line: &Line<'_>) -> io::Result<()> {
        let line = serde_json::to_string(line)?;
        self.put(&format!("{line}\n"))
    }

    fn put(&mut self, text: &str) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        match self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()) {
            Err(err) if err.kind() == io::ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            written => written,
        }
    }
}

/// The lines of `--json` beside the events.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Line<'a> {
    Session {
        session: &'a SessionId,
        uri: String,
        new: bool,
    },
    Result {
        session: Option<&'a SessionId>,
        #[serde(flatten)]
        outcome: &'a Outcome,
        reply: &'a str,
        prompt: Option<&'a str>,
        unanswered: &'a [Unanswered],
    },
}
