//! `compact`: a summary in the place of what a session's model has read so far.

use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use dsh_agent::{CompactError, Compacted, Compaction};
use dsh_session::{Encoding, SessionId};
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};

use crate::args::{Compact, Globals};
use crate::exit::Exit;
use crate::harness::{self, Harness, Options};
use crate::surroundings::Surroundings;
use crate::visible::Line;
use crate::{find, model, run, settings};

/// Compacts one session; what it did goes to `out`, notices go to `err`.
pub(crate) async fn compact(
    args: &Compact,
    globals: &Globals,
    around: &Surroundings,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let root = find::root(&args.common)?;
    let sessions = harness::sessions(&root, Encoding::Zstd);
    let id = find::session(&sessions, &args.session).await?;
    let cwd = sessions.store().read_header(&id)?.cwd;
    let flags = args.answering.flags();
    let here = settings::here(globals, around, &flags, cwd.as_deref().map(Path::new), err)?;
    let model = model::choose(&here.settings, around).await?;
    let compaction = settled(&here.settings.compaction)?;
    let options = Options { compaction, ..Options::with(&here.settings.plugins, around) };
    let harness = Harness::open(&root, options).await?;
    let agent = harness.resume(&id, model).await?;
    let interrupts = tokio::spawn(run::interrupts(signal(SignalKind::interrupt())?, agent.clone()));
    let done = agent.compact(args.focus.as_deref()).await;
    interrupts.abort();
    let written = agent.when_idle().await;
    match done {
        Err(CompactError::Cancelled(_)) => {
            writeln!(err, "dsh-wasm: cancelled; the session is as it was")?;
            return Ok(Exit::Interrupted);
        }
        Err(error @ CompactError::Summary(_)) => {
            return Err(error).context("the session is as it was, and its log says why");
        }
        done => say(&id, done?.as_ref(), args.common.json, out)?,
    }
    written?;
    Ok(Exit::Done)
}

/// What the settings say about compaction.
pub(crate) fn settled(said: &dsh_config::Compaction) -> anyhow::Result<Compaction> {
    let compaction = Compaction::new(said.threshold, said.retain, said.max_tokens)
        .context("`compaction.threshold` and `compaction.retain` do not fit together")?;
    Ok(if said.auto { compaction } else { compaction.only_when_asked() })
}

fn say(
    id: &SessionId,
    done: Option<&Compacted>,
    json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    #[derive(Serialize)]
    struct Row<'a> {
        session: &'a SessionId,
        uri: String,
        messages: usize,
        before: Option<u64>,
        after: Option<u64>,
    }
    if json {
        let row = Row {
            session: id,
            uri: find::uri(id),
            messages: done.map_or(0, |done| done.nodes),
            before: done.map(|done| done.before),
            after: done.map(|done| done.after),
        };
        writeln!(out, "{}", serde_json::to_string(&row)?)?;
        return Ok(());
    }
    let named = id.to_string();
    match done {
        Some(Compacted { nodes, before, after, .. }) => writeln!(
            out,
            "{}: {nodes} messages gave way to a summary; ~{before} tokens before, ~{after} after",
            Line(&named)
        )?,
        None => writeln!(
            out,
            "{}: nothing to sum up before its newest message; the session is as it was",
            Line(&named)
        )?,
    }
    Ok(())
}
