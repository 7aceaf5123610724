//! `run`: one turn, shown as it happens.

mod shower;

use std::io::{self, Read as _, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use dsh_agent::{Agent, Cause, Model, Target};
use dsh_model::{Echo, Script, Scripted};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::args::Run;
use crate::exit::Exit;
use crate::find;
use crate::harness::{Harness, Options};
use crate::outcome::Outcome;
use shower::Shower;

/// Runs one turn; the reply goes to `out`, notices go to `err`. A prompt that reached nobody is given back.
pub(crate) async fn run(
    args: Run,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let prompt = prompt(&args)?;
    let mut shown = Shower::new(out, err, args.common.json);
    match turn(&args, &prompt, &mut shown).await {
        Ok(exit) => Ok(exit),
        Err(error) => {
            shown.failed(&error, &prompt)?;
            Ok(Exit::Failed)
        }
    }
}

async fn turn(args: &Run, prompt: &str, shown: &mut Shower<'_>) -> anyhow::Result<Exit> {
    if prompt.trim().is_empty() {
        anyhow::bail!("there is nothing to send: the prompt is empty");
    }
    let model = model(&args.model)?;
    let root = find::root(&args.common)?;
    let encoding = args.encoding.map(Into::into);
    let harness = Harness::open(&root, Options { encoding, ..Options::standard() }).await?;
    let (agent, new) = match &args.session {
        Some(said) => {
            let id = find::session(harness.sessions(), said).await?;
            (harness.resume(&id, model).await?, false)
        }
        None => (harness.create(Some(cwd(args)?), model).await?, true),
    };
    shown.session(&agent.live().header().id, new)?;
    let message = agent.prompt(prompt)?;
    let id = message.id().to_owned();
    let interrupts = tokio::spawn(interrupts(signal(SignalKind::interrupt())?, agent.clone()));
    let ended = shown.follow(&agent, message).await;
    interrupts.abort();
    ended?;
    // What a turn before it left waiting would be sent by whoever comes next, unasked.
    let waits = agent.remove(&id).await?.is_some();
    let waiting = agent.waiting(Target::NextTurn).len() + agent.waiting(Target::NextStep).len();
    let end = agent.last_turn().context("the turn left no end in the log")?;
    let resolves = harness.resolves_mentions();
    shown.end(&Outcome::of(&end.end), prompt, waits, waiting, resolves)
}

/// The first interrupt cancels the turn, the second one ends the program, whatever holds it up.
async fn interrupts(mut interrupts: Signal, agent: Agent) {
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

/// A new session's directory, as every log has it: absolute, without links.
fn cwd(args: &Run) -> anyhow::Result<String> {
    let said = args.cwd.as_deref().unwrap_or(Path::new("."));
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
