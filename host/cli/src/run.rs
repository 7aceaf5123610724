//! `run`: one turn, shown as it happens.

use std::io::{self, Read as _, Write};
use std::sync::Arc;

use anyhow::Context as _;
use dsh_agent::{Agent, Cause, Model, Shown};
use dsh_model::{Echo, Script, Scripted};
use dsh_session::{Event, SessionId};
use serde::Serialize;

use crate::args::Run;
use crate::exit::Exit;
use crate::harness::{Harness, Options};
use crate::outcome::Outcome;
use crate::visible::{self, Lines};
use crate::{find, snapshot};

/// Runs one turn; the reply goes to `out`, notices go to `err`.
pub(crate) async fn run(
    args: Run,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let prompt = prompt(&args)?;
    let model = model(&args.model)?;
    let root = find::root(&args.common)?;
    let options = Options { encoding: args.encoding.into(), ..Options::standard() };
    let harness = Harness::open(&root, options).await?;
    let (agent, new) = match &args.session {
        Some(said) => {
            let id = find::session(harness.sessions(), said).await?;
            (harness.resume(&id, model).await?, false)
        }
        None => (harness.create(cwd(&args)?, model).await?, true),
    };
    let mut turn = Turn { out, err, json: args.common.json, told: None, reply: String::new() };
    let exit = turn.run(&harness, &agent, &prompt, new).await;
    agent.dispose().await?;
    exit
}

/// What is shown of a turn, and what of it was seen.
struct Turn<'a> {
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
    json: bool,
    /// The prompt's message, once it joined history.
    told: Option<String>,
    reply: String,
}

impl Turn<'_> {
    async fn run(
        &mut self,
        harness: &Harness,
        agent: &Agent,
        prompt: &str,
        new: bool,
    ) -> anyhow::Result<Exit> {
        let id = agent.live().header().id.clone();
        self.session(&id, new)?;
        let mut events = agent.live().subscribe();
        let message = agent.prompt(prompt)?;
        let message_id = message.id().to_owned();
        agent.followup(message).await?;
        let mut interrupts = 0;
        // The turn is over when the agent is idle; what it said until then waits in `events`.
        let idle = agent.when_idle();
        tokio::pin!(idle);
        let ended = loop {
            tokio::select! {
                biased;
                Some(event) = events.next() => self.event(&event, &message_id)?,
                ended = &mut idle => break ended,
                _ = tokio::signal::ctrl_c() => {
                    interrupts += 1;
                    if interrupts > 1 {
                        return Ok(Exit::Interrupted);
                    }
                    agent.cancel(Cause::User, true).await?;
                }
            }
        };
        while let Some(event) = events.try_next() {
            self.event(&event, &message_id)?;
        }
        ended?;
        let end = agent.last_turn().context("the turn left no end in the log")?;
        self.end(harness, &id, &Outcome::of(&end.end), prompt)
    }

    fn session(&mut self, id: &SessionId, new: bool) -> io::Result<()> {
        if self.json {
            let line = Line::Session { session: id, uri: find::uri(id), new };
            let line = serde_json::to_string(&line)?;
            return writeln!(self.out, "{line}");
        }
        let kind = if new { "new session" } else { "session" };
        writeln!(self.err, "{kind} {}", visible::Line(&id.to_string()))
    }

    fn event(&mut self, event: &Event, prompt: &str) -> io::Result<()> {
        let shown = Shown::of(event);
        match &shown {
            Some(Shown::Message(message)) if message.id() == prompt => {
                self.told = Some(message.text());
            }
            Some(Shown::Text(text)) => self.reply.push_str(text),
            _ => {}
        }
        if self.json {
            return writeln!(self.out, r#"{{"type":"event","event":{}}}"#, event.row());
        }
        match shown {
            Some(Shown::Text(text)) => {
                write!(self.out, "{}", Lines(&text))?;
                self.out.flush()
            }
            Some(Shown::Message(message)) => {
                for line in snapshot::summary(&message).into_iter().flatten() {
                    writeln!(self.err, "{}: {line}", visible::Line(&message.source().kind))?;
                }
                Ok(())
            }
            Some(Shown::ToolCall(call)) => writeln!(self.err, "tool {}", visible::Line(&call.name)),
            _ => Ok(()),
        }
    }

    fn end(
        &mut self,
        harness: &Harness,
        id: &SessionId,
        outcome: &Outcome,
        prompt: &str,
    ) -> anyhow::Result<Exit> {
        let unsent = self.told.is_none().then_some(prompt);
        if self.json {
            let (session, reply) = (id, &*self.reply);
            let line = Line::Result { session, outcome, reply, prompt: unsent };
            let line = serde_json::to_string(&line)?;
            writeln!(self.out, "{line}")?;
            return Ok(outcome.exit());
        }
        if !self.reply.is_empty() {
            writeln!(self.out)?;
        }
        if let Some(sentence) = outcome.sentence() {
            writeln!(self.err, "dsh-wasm: {sentence}")?;
        }
        if let Some(prompt) = unsent {
            writeln!(self.err, "Nothing of it was sent. Your message:\n{}", Lines(prompt))?;
        } else if prompt.contains("dsh-session:") && !harness.resolves_mentions() {
            writeln!(
                self.err,
                "No plugin resolves mentions here: yours went to the model as text."
            )?;
        }
        Ok(outcome.exit())
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
        session: &'a SessionId,
        #[serde(flatten)]
        outcome: &'a Outcome,
        reply: &'a str,
        prompt: Option<&'a str>,
    },
}

fn prompt(args: &Run) -> anyhow::Result<String> {
    if args.prompt != "-" {
        return Ok(args.prompt.clone());
    }
    let mut prompt = String::new();
    io::stdin()
        .read_to_string(&mut prompt)
        .context("the prompt cannot be read from standard input")?;
    Ok(prompt)
}

fn model(said: &str) -> anyhow::Result<Arc<dyn Model>> {
    if said == "echo" {
        return Ok(Arc::new(Echo));
    }
    let Some(file) = said.strip_prefix("script:") else {
        anyhow::bail!(
            "there is no model {said:?}: `echo` answers with what it got, `script:FILE` from a file"
        );
    };
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("the script {file:?} cannot be read"))?;
    let script =
        Script::parse(&text).with_context(|| format!("the script {file:?} cannot be used"))?;
    Ok(Arc::new(Scripted::new(script)))
}

/// A new session's directory: absolute, as every log has it.
#[expect(
    clippy::disallowed_methods,
    reason = "the command line is where the current directory is known"
)]
fn cwd(args: &Run) -> anyhow::Result<Option<String>> {
    let here =
        std::env::current_dir().context("the current directory is gone; say another with --cwd")?;
    let cwd = match &args.cwd {
        Some(said) => std::path::absolute(here.join(said))?,
        None => here,
    };
    let cwd =
        cwd.to_str().with_context(|| format!("{} is not UTF-8, as a log has it", cwd.display()))?;
    Ok(Some(cwd.to_owned()))
}
