//! `mentions`: what could be mentioned in a session.

use std::io::Write;

use anyhow::Context as _;
use dsh_plugin_host::{Candidate, Target};
use dsh_session::SessionId;
use serde::Serialize;

use crate::args::{Globals, Mentions};
use crate::exit::Exit;
use crate::harness::{Harness, Options};
use crate::surroundings::Surroundings;
use crate::visible::Line;
use crate::{find, settings};

/// Lists the candidates, best first.
pub(crate) async fn mentions(
    args: &Mentions,
    globals: &Globals,
    around: &Surroundings,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let root = find::root(&args.common)?;
    let harness =
        Harness::open(&root, Options::with(&settings::own(globals, around)?.plugins, around))
            .await?;
    let id = find::session(harness.sessions(), &args.target).await?;
    let header = harness.sessions().store().read_header(&id)?;
    let plugin = harness.mentions().context("no plugin completes mentions here")?;
    let target = Target { session: id.escaped().to_owned(), cwd: header.cwd };
    let query = args.query.as_deref().unwrap_or_default();
    let candidates = plugin.candidates(harness.services(), &target, query, None);
    let candidates = tokio::select! {
        candidates = candidates => candidates?,
        _ = tokio::signal::ctrl_c() => return Ok(Exit::Interrupted),
    };
    for candidate in &candidates {
        write(out, candidate, args.common.json)?;
    }
    if candidates.is_empty() && !args.common.json {
        writeln!(out, "No other session matches. `dsh-wasm sessions` lists them all.")?;
    }
    Ok(Exit::Done)
}

/// A candidate, as `--json` tells it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Offered<'a> {
    session: &'a SessionId,
    uri: String,
    label: &'a str,
    cwd: Option<&'a str>,
    created_at: u64,
    mention: &'a str,
}

fn write(out: &mut dyn Write, candidate: &Candidate, json: bool) -> anyhow::Result<()> {
    let Candidate { session, label, cwd, created_at, mention } = candidate;
    let id = SessionId::from_escaped(session)
        .context("the plugin offers an id that names no session")?;
    if json {
        let created_at = *created_at;
        let line = Offered {
            session: &id,
            uri: find::uri(&id),
            label,
            cwd: cwd.as_deref(),
            created_at,
            mention,
        };
        let line = serde_json::to_string(&line)?;
        writeln!(out, "{line}")?;
        return Ok(());
    }
    let shown = id.to_string();
    writeln!(out, "{}", Line(label))?;
    let place = cwd.as_deref().unwrap_or("no directory");
    writeln!(out, "  {} · {} · {}", Line(&shown), Line(place), find::date(*created_at))?;
    writeln!(out, "  {}", Line(mention))?;
    Ok(())
}
