//! `run`: one turn, shown as it happens.

mod shower;

use std::io::{self, Read as _, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use dsh_agent::{Agent, Cause, Model, Target};
use dsh_session::{Encoding, SessionId};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::adapter::InstructionFiles;
use crate::args::{Answering, Globals, Run};
use crate::aside::Beside;
use crate::exit::Exit;
use crate::harness::{Harness, Options};
use crate::outcome::Outcome;
use crate::surroundings::Surroundings;
use crate::tooling::Tooling;
use crate::{compact, find, harness, model, settings};
pub(crate) use shower::Shower;
use shower::notices;

/// Runs one turn; the reply goes to `out`, notices go to `err`. A prompt that reached nobody is given back.
pub(crate) async fn run(
    args: Run,
    globals: &Globals,
    around: &Surroundings,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let prompt = prompt(&args)?;
    let mut shown = Shower::new(out, err, args.common.json);
    match turn(&args, globals, around, &prompt, &mut shown).await {
        Ok(exit) => Ok(exit),
        Err(error) => {
            shown.failed(&error, &prompt)?;
            Ok(Exit::Failed)
        }
    }
}

async fn turn(
    args: &Run,
    globals: &Globals,
    around: &Surroundings,
    prompt: &str,
    shown: &mut Shower<'_>,
) -> anyhow::Result<Exit> {
    if prompt.trim().is_empty() {
        anyhow::bail!("there is nothing to send: the prompt is empty");
    }
    let root = find::root(&args.common)?;
    let place = Place::of(args, around, &root).await?;
    let encoding = args.encoding.map(Into::into);
    let (harness, model, beside) =
        prepare(&root, &args.answering, encoding, globals, around, place.cwd(), shown.err())
            .await?;
    shown.listen(beside);
    let (agent, new) = match place {
        Place::Old { id, .. } => (harness.resume(&id, model).await?, false),
        Place::New { cwd } => (harness.create(Some(cwd), model).await?, true),
    };
    shown.session(&agent.live().header().id, new)?;
    follow(&harness, &agent, prompt, shown).await
}

/// A harness as the settings say, and the model that answers in it; `err` is told what of the settings is not used.
pub(crate) async fn prepare(
    root: &Path,
    answering: &Answering,
    encoding: Option<Encoding>,
    globals: &Globals,
    around: &Surroundings,
    cwd: Option<&Path>,
    err: &mut dyn Write,
) -> anyhow::Result<(Harness, Arc<dyn Model>, Beside)> {
    let settings = settings::here(globals, around, &answering.flags(), cwd, err)?.settings;
    let model = model::choose(&settings, around).await?;
    let (asides, mut beside) = Beside::new(around.person.clone());
    let tooling = match cwd {
        Some(cwd) => Tooling::of(&answering.tooled, &settings, around, cwd, asides).await?,
        None => Tooling::default(),
    };
    let mut options = Options {
        encoding,
        preferred: settings.encoding.as_deref().map(encoding_of),
        instructions: Some(InstructionFiles {
            wanted: settings.instructions,
            user: around.config.clone(),
        }),
        compaction: compact::settled(&settings.compaction)?,
        tooling,
        ..Options::with(&settings.plugins, around)
    };
    options.log_context_as(&settings.context_event)?;
    notices(options.instructions.as_ref(), cwd, err)?;
    beside.tell(err)?;
    Ok((Harness::open(root, options).await?, model, beside))
}

/// Sends the prompt and shows its turn.
pub(crate) async fn follow(
    harness: &Harness,
    agent: &Agent,
    prompt: &str,
    shown: &mut Shower<'_>,
) -> anyhow::Result<Exit> {
    let message = agent.prompt(prompt)?;
    let id = message.id().to_owned();
    let interrupts = tokio::spawn(interrupts(signal(SignalKind::interrupt())?, agent.clone()));
    let ended = shown.follow(agent, message).await;
    interrupts.abort();
    ended?;
    // What a turn before it left waiting would be sent by whoever comes next, unasked.
    let waits = agent.remove(&id).await?.is_some();
    let waiting = agent.waiting(Target::NextTurn).len() + agent.waiting(Target::NextStep).len();
    let end = agent.last_turn().context("the turn left no end in the log")?;
    let resolves = harness.resolves_mentions();
    shown.end(&Outcome::of(&end.end), prompt, waits, waiting, resolves)
}

/// The session that a turn runs in, and where that is.
enum Place {
    New { cwd: String },
    Old { id: SessionId, cwd: Option<String> },
}

impl Place {
    async fn of(args: &Run, around: &Surroundings, root: &Path) -> anyhow::Result<Self> {
        let Some(said) = &args.session else { return Ok(Self::New { cwd: cwd(args, around)? }) };
        let sessions = harness::sessions(root, Encoding::Zstd);
        let id = find::session(&sessions, said).await?;
        let cwd = sessions.store().read_header(&id)?.cwd;
        Ok(Self::Old { id, cwd })
    }

    fn cwd(&self) -> Option<&Path> {
        match self {
            Self::New { cwd } => Some(Path::new(cwd)),
            Self::Old { cwd, .. } => cwd.as_deref().map(Path::new),
        }
    }
}

fn encoding_of(said: &str) -> Encoding {
    if said == "raw" { Encoding::Raw } else { Encoding::Zstd }
}

/// The first interrupt cancels what the agent does, the second one ends the program, whatever holds it up.
pub(crate) async fn interrupts(mut interrupts: Signal, agent: Agent) {
    interrupts.recv().await;
    // The turn is cancelled even where the log cannot say so; its end tells that.
    let _ = agent.cancel(Cause::User, true).await;
    interrupts.recv().await;
    std::process::exit(130);
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

/// A new session's directory, as every log has it: absolute, without links.
fn cwd(args: &Run, around: &Surroundings) -> anyhow::Result<String> {
    // Where nothing is known of the current folder, the system's own idea of it counts.
    let said = around.cwd.join(args.cwd.as_deref().unwrap_or(Path::new(".")));
    let cwd = said.canonicalize();
    let cwd = cwd.with_context(|| {
        format!("the folder {} cannot be used; say another with --cwd", said.display())
    })?;
    if !cwd.is_dir() {
        anyhow::bail!("{} is no folder; say another with --cwd", cwd.display());
    }
    let utf8 =
        cwd.to_str().with_context(|| format!("{} is not UTF-8, as a log has it", cwd.display()))?;
    Ok(utf8.to_owned())
}
