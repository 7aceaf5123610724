//! `sessions`: what there is.

use std::io::Write;

use dsh_session::{Encoding, Record};
use serde_json::json;

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
            writeln!(out, "{}", line(record, title.as_deref(), broken.as_deref()))?;
        } else {
            describe(out, record, title.as_deref(), broken.as_deref())?;
        }
    }
    for broken in &listing.unreadable {
        let (file, reason) = (broken.path.display().to_string(), broken.why.to_string());
        if args.common.json {
            writeln!(out, "{}", json!({ "file": file, "error": reason }))?;
        } else {
            writeln!(err, "cannot be read: {}: {}", Line(&file), Line(&reason))?;
        }
    }
    if found == 0 && !args.common.json {
        let shown = root.display().to_string();
        writeln!(out, "No session here ({}). `dsh-wasm run \"PROMPT\"` starts one.", Line(&shown))?;
    }
    Ok(Exit::Done)
}

fn matches(record: &Record, title: Option<&str>, query: &str) -> bool {
    let id = record.header.id.to_string();
    let texts = [Some(&*id), record.header.cwd.as_deref(), title];
    texts.into_iter().flatten().any(|text| text.to_lowercase().contains(query))
}

fn line(record: &Record, title: Option<&str>, error: Option<&str>) -> serde_json::Value {
    let header = &record.header;
    let mut line = json!({
        "session": header.id, "uri": find::uri(&header.id), "title": title, "cwd": header.cwd,
        "createdAt": header.created_at, "parent": header.parent,
    });
    if let (Some(error), Some(members)) = (error, line.as_object_mut()) {
        members.insert("error".to_owned(), error.into());
    }
    line
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
    match broken {
        Some(reason) => writeln!(out, "  cannot be read whole: {}", Line(reason)),
        None => Ok(()),
    }
}
