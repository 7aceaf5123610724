//! `command`, `side`, `merge` and `sides`: slash commands from a shell.

use std::io::{Read as _, Write};
use std::path::Path;

use anyhow::Context as _;
use dsh_agent::{Agent, Shown};
use dsh_session::SessionId;
use serde_json::json;

use crate::args::{Command, Globals, Merge, OnSession, Side};
use crate::aside::{Aside, Beside};
use crate::exit::Exit;
use crate::harness::Harness;
use crate::run::{self, Shower};
use crate::slash::{Attended, Ran};
use crate::surroundings::Surroundings;
use crate::visible::{Line, Lines};
use crate::{find, harness};

/// What is asked of a session.
pub(crate) struct Asked {
    /// Where, and with which model.
    pub on: OnSession,
    /// The command, with its slash.
    pub line: String,
    /// The file that holds the text of a draft, edited; `-` for standard input.
    pub edited: Option<String>,
    /// Whether a question is answered with yes.
    pub yes: bool,
    /// Whether it needs the session's agent.
    pub acts: bool,
}

impl Asked {
    /// What a subcommand asks for; none where it asks for something else.
    pub(crate) fn of(command: Command) -> Option<Self> {
        let plain = |on, line| Self { on, line, edited: None, yes: false, acts: true };
        Some(match command {
            Command::Command(args) => {
                let line = args.line.clone();
                Self { edited: args.edited, yes: args.yes, ..plain(args.on, line) }
            }
            Command::Side(Side { on, question }) => {
                let line = format!("/side {}", question.unwrap_or_default());
                plain(on, line)
            }
            Command::Merge(Merge { on, preview, undo, fork, edited, instruction }) => {
                let flags = [(preview, "--preview"), (undo, "--undo"), (fork, "--fork")];
                let flags = flags.into_iter().filter(|(given, _)| *given).map(|(_, flag)| flag);
                let words = ["/merge"].into_iter().chain(flags).chain(instruction.as_deref());
                let line = words.collect::<Vec<_>>().join(" ");
                Self { edited, ..plain(on, line) }
            }
            Command::Sides(args) => Self { acts: false, ..plain(args, "/sides".to_owned()) },
            _ => return None,
        })
    }
}

/// Runs the command and shows what it came to.
pub(crate) async fn command(
    asked: Asked,
    globals: &Globals,
    around: &Surroundings,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let edited = asked.edited.as_deref().map(edited).transpose()?;
    let root = find::root(&asked.on.common)?;
    let sessions = harness::sessions(&root, dsh_session::Encoding::Zstd);
    let id = find::session(&sessions, &asked.on.session).await?;
    let cwd = sessions.store().read_header(&id)?.cwd;
    let cwd = cwd.as_deref().map(Path::new);
    let answering = &asked.on.answering;
    let (harness, model, beside) =
        run::prepare(&root, answering, None, globals, around, cwd, err).await?;
    // Held until the command is over; dropped and not closed, as closing writes.
    let attended = match asked.acts {
        true => Some(harness.attend(&id, model).await?),
        false => None,
    };
    let (json, beside) = (asked.on.common.json, Some(beside));
    let mut client = Client { harness: &harness, around, json, out, err, beside };
    client.run(&id, attended.as_ref(), asked.line, edited, asked.yes).await
}

/// The text of a draft as the person left it.
fn edited(file: &str) -> anyhow::Result<String> {
    if file != "-" {
        return std::fs::read_to_string(file)
            .with_context(|| format!("the edited text {file:?} cannot be read"));
    }
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .context("the edited text cannot be read from standard input")?;
    Ok(text)
}

/// Who shows what commands come to.
struct Client<'a> {
    harness: &'a Harness,
    around: &'a Surroundings,
    json: bool,
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
    /// What tools say beside a turn.
    beside: Option<Beside>,
}

impl Client<'_> {
    async fn run(
        &mut self,
        id: &SessionId,
        attended: Option<&Attended>,
        mut line: String,
        mut edited: Option<String>,
        yes: bool,
    ) -> anyhow::Result<Exit> {
        loop {
            let Some(ran) = self.wait(id, attended, &line, edited.take()).await? else {
                return Ok(Exit::Interrupted);
            };
            let question = match ran {
                Ran::Question(question) => question,
                ran => return self.show(id, ran).await,
            };
            let next = format!("/{} {}", question.name, question.arguments);
            let said = Lines(&question.text).to_string();
            let agreed = match (&self.around.person, yes) {
                (_, true) => true,
                (Some(person), false) => person.agrees(&said)?,
                (None, false) => {
                    self.tell(
                        &json!({ "type": "question", "text": question.text, "command": next }),
                    )?;
                    writeln!(self.err, "{said}\nNobody can be asked here; --yes says yes.")?;
                    return Ok(Exit::Failed);
                }
            };
            if !agreed {
                writeln!(self.err, "Nothing was changed.")?;
                return Ok(Exit::Done);
            }
            line = next;
        }
    }

    /// Waits for the command, and shows what a model said meanwhile unless it comes to a draft, which is shown
    /// itself; none where the person gave it up.
    async fn wait(
        &mut self,
        id: &SessionId,
        attended: Option<&Attended>,
        line: &str,
        edited: Option<String>,
    ) -> anyhow::Result<Option<Ran>> {
        let mut events = match attended {
            Some(Attended::Agent(agent)) => Some(agent.live().subscribe()),
            _ => None,
        };
        let mut said = String::new();
        let harness = self.harness.clone();
        let running = async {
            match attended {
                Some(Attended::Stored(stored)) => {
                    harness.command_beside(stored, line, edited).await
                }
                _ => harness.command(id, line, edited).await,
            }
        };
        tokio::pin!(running);
        loop {
            let event = async {
                match &mut events {
                    Some(events) => events.next().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                ran = &mut running => {
                    if !said.is_empty() && !matches!(ran, Ok(Ran::Draft(_))) {
                        writeln!(self.err, "{}", Lines(&said))?;
                    }
                    return ran.map(Some);
                }
                _ = tokio::signal::ctrl_c() => return Ok(None),
                // A question is not answered: what a command asks a model for is no time to allow tools.
                Some(Aside::Notice(text)) = Beside::next(&mut self.beside) => {
                    writeln!(self.err, "{}", Line(&text))?;
                }
                Some(event) = event => {
                    match Shown::of(&event) {
                        Some(Shown::TurnStarted(_)) => writeln!(self.err, "The model is asked ...")?,
                        Some(Shown::Text(text)) => said.push_str(&text),
                        _ => {}
                    }
                }
            }
        }
    }

    async fn show(&mut self, id: &SessionId, ran: Ran) -> anyhow::Result<Exit> {
        match ran {
            Ran::Text(text) => {
                self.tell(&json!({ "type": "text", "text": text }))?;
                self.say(&text)?;
            }
            Ran::Opened { agent, send, notice } => return self.switch(&agent, send, notice).await,
            Ran::Draft(draft) => {
                let next = format!("/{} {}", draft.name, draft.arguments);
                self.tell(&json!({ "type": "draft", "text": draft.text, "command": next }))?;
                self.say(&draft.text)?;
                let id = id.to_string();
                writeln!(
                    self.err,
                    "Nothing was added. To add it, edited or not: dsh-wasm command {} '{next}' --edited FILE",
                    Line(&id)
                )?;
            }
            Ran::Question(_) => {}
        }
        Ok(Exit::Done)
    }

    /// Goes to another session: the person is there before anything is said in it.
    async fn switch(
        &mut self,
        agent: &Agent,
        send: Option<String>,
        notice: Option<String>,
    ) -> anyhow::Result<Exit> {
        let mut shown = Shower::new(self.out, self.err, self.json);
        shown.session(&agent.live().header().id, true)?;
        for line in notice.iter().flat_map(|notice| notice.lines()) {
            writeln!(shown.err(), "{}", Line(line))?;
        }
        if let Some(beside) = self.beside.take() {
            shown.listen(beside);
        }
        match send {
            Some(prompt) => run::follow(self.harness, agent, &prompt, &mut shown).await,
            None => Ok(Exit::Done),
        }
    }

    fn say(&mut self, text: &str) -> std::io::Result<()> {
        if self.json { Ok(()) } else { writeln!(self.out, "{}", Lines(text)) }
    }

    fn tell(&mut self, line: &serde_json::Value) -> std::io::Result<()> {
        if self.json { writeln!(self.out, "{line}") } else { Ok(()) }
    }
}
