//! `sessions`: what there is.

use std::io::Write;

use dsh_session::{Encoding, Header, Record, SessionId};
use serde::Serialize;

use crate::args::Sessions;
use crate::exit::Exit;
use crate::visible::Line;
use crate::{find, harness};

/// Lists the sessions, newest first; logs that cannot be read are told on `err`.
pub(crate) async fn sessions(
    args: &Sessions,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let root = find::root(&args.common)?;
    let sessions = harness::sessions(&root, Encoding::Zstd);
    let listing = sessions.list().await?;
    let ids: Vec<_> = listing.sessions.iter().map(|record| record.header.id.clone()).collect();
    let titles = sessions.titles(&ids).await;
    let query = args.query.as_deref().unwrap_or_default().to_lowercase();
    let mut found = 0;
    for (record, title) in listing.sessions.iter().zip(titles) {
        let (title, broken) = match title {
            Ok(title) => (title.map(|title| title.title), None),
            Err(reason) => (None, Some(reason.to_string())),
        };
        if !matches(record, title.as_deref(), &query) {
            continue;
        }
        found += 1;
        if args.common.json {
            writeln!(out, "{}", line(record, title.as_deref(), broken.as_deref())?)?;
        } else {
            describe(out, record, title.as_deref(), broken.as_deref())?;
        }
    }
    for broken in &listing.unreadable {
        let (file, reason) = (broken.path.display().to_string(), broken.why.to_string());
        if args.common.json {
            let broken = Broken { file: &file, error: &reason };
            writeln!(out, "{}", serde_json::to_string(&broken)?)?;
        } else {
            writeln!(err, "cannot be read: {}: {}", Line(&file), Line(&reason))?;
        }
    }
    if found == 0 && !args.common.json {
        let root = root.display().to_string();
        let root = Line(&root);
        match args.query.as_deref() {
            Some(query) if !listing.sessions.is_empty() => {
                writeln!(out, "No session in {root} matches {}.", Line(query))?;
            }
            _ => writeln!(out, "No session in {root}. `dsh-wasm run \"PROMPT\"` starts one.")?,
        }
    }
    Ok(Exit::Done)
}

fn matches(record: &Record, title: Option<&str>, query: &str) -> bool {
    let id = record.header.id.to_string();
    let texts = [Some(&*id), record.header.cwd.as_deref(), title];
    texts.into_iter().flatten().any(|text| text.to_lowercase().contains(query))
}

/// A session, as `--json` tells it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed<'a> {
    session: &'a SessionId,
    uri: String,
    title: Option<&'a str>,
    cwd: Option<&'a str>,
    created_at: u64,
    parent: Option<&'a SessionId>,
    /// Why the log cannot be read whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

/// A log that cannot be listed, as `--json` tells it.
#[derive(Serialize)]
struct Broken<'a> {
    file: &'a str,
    error: &'a str,
}

fn line(record: &Record, title: Option<&str>, error: Option<&str>) -> serde_json::Result<String> {
    let Header { id, created_at, cwd, parent, .. } = &record.header;
    serde_json::to_string(&Listed {
        session: id,
        uri: find::uri(id),
        title,
        cwd: cwd.as_deref(),
        created_at: *created_at,
        parent: parent.as_ref(),
        error,
    })
}

fn describe(
    out: &mut dyn Write,
    record: &Record,
    title: Option<&str>,
    broken: Option<&str>,
) -> std::io::Result<()> {
    let header = &record.header;
    writeln!(out, "{}", Line(title.unwrap_or("(no title)")))?;
    let (id, cwd) = (header.id.to_string(), header.cwd.as_deref().unwrap_or("no directory"));
    writeln!(out, "  {} · {} · {}", Line(&id), Line(cwd), find::date(header.created_at))?;
    if let Some(parent) = &header.parent {
        let how = if header.subagent { "a subagent's work for" } else { "goes out from" };
        writeln!(out, "  {how} {}", Line(&parent.to_string()))?;
    }
    // What cannot be typed is named by its URI.
    if header.id.escaped() != id || Line(&id).to_string() != id {
        writeln!(out, "  {}", find::uri(&header.id))?;
    }
    match broken {
        Some(reason) => writeln!(out, "  cannot be read whole: {}", Line(reason)),
        None => Ok(()),
    }
}
