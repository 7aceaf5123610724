//! `session_list`: the order of sessions, and what can be mentioned of a real root.

use std::fs;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use dsh_plugin_host::Failure;
use dsh_session::{Encoding, Header, Sessions, Store, log_path, newest_first};
use serde_json::{Value, json};

use super::candidates;
use crate::replayed;
use crate::scripted::Scripted;
use crate::subject::Subject;
use crate::vector::{Got, Vector};
use crate::wtf16;

pub(super) async fn run(subject: &Subject, vector: &Vector) -> Result<Got> {
    let persisted = vector.input("persisted").as_array().context("nothing persisted")?;
    let persisted = persisted.iter().map(replayed::header).collect::<Result<Vec<_>>>()?;
    match vector.input_str("op")? {
        "list" => list(vector, persisted),
        "candidates" => {
            let sessions = of_root(vector, &persisted).await?;
            candidates::candidates(subject, vector, sessions).await
        }
        other => bail!("unknown op {other}"),
    }
}

/// Sessions on disk and open ones, merged.
fn list(vector: &Vector, persisted: Vec<Header>) -> Result<Got> {
    let live = vector.input("live").as_array().context("nothing live")?;
    let live = live.iter().map(|live| replayed::header(live.get("header").unwrap_or(live)));
    let live = live.collect::<Result<Vec<_>>>()?;
    let same = |one: &Header, other: &Header| one.id == other.id;
    let conflicts =
        |header: &Header| live.iter().any(|live| same(live, header) && !live.agrees_with(header));
    if persisted.iter().any(conflicts) {
        let outcome = Err("SESSION_QUERY_SOURCE_CONFLICT".to_owned());
        return Ok(Got { outcome, seen: Default::default() });
    }
    let mut sessions = persisted.clone();
    let known = |header: &&Header| !persisted.iter().any(|persisted| same(persisted, header));
    sessions.extend(live.iter().filter(known).cloned());
    newest_first(&mut sessions, |header| header);
    let rows = sessions.iter().map(|header| {
        Ok(json!({
            "id": wtf16::id(header.id.escaped())?,
            "createdAt": header.created_at,
            "live": live.iter().any(|live| same(live, header)),
            "persisted": persisted.iter().any(|persisted| same(persisted, header)),
        }))
    });
    let sessions = json!({ "sessions": rows.collect::<Result<Value>>()? });
    Ok(Got { outcome: Ok(sessions), seen: Default::default() })
}

/// What `dsh-session` answers about a root that holds the vector's logs.
async fn of_root(vector: &Vector, persisted: &[Header]) -> Result<Scripted> {
    let root = tempfile::tempdir()?;
    for header in persisted {
        let id = wtf16::id(header.id.escaped())?;
        let events = vector.input("logs").get(id.as_str().unwrap_or_default());
        let mut log = header.line();
        for event in events.and_then(Value::as_array).into_iter().flatten() {
            log.push('\n');
            log.push_str(&wtf16::json(event));
        }
        log.push('\n');
        let path = log_path(root.path(), header, Encoding::Raw);
        let path = path.context("a session without a path")?;
        fs::create_dir_all(path.parent().context("a log in no directory")?)?;
        fs::write(path, log)?;
    }
    let store = Store::new(root.path(), Encoding::Raw, Arc::new(|| 0));
    let sessions = Sessions::new(store);
    let listed: Vec<_> = sessions.list().await?.sessions.into_iter().collect();
    let ids: Vec<_> = listed.iter().map(|record| record.header.id.clone()).collect();
    let mut scripted = Scripted::default();
    for (id, title) in ids.iter().zip(sessions.titles(&ids).await) {
        let title = title.map(|title| title.map(|title| title.title));
        let title = title.map_err(|error| Failure::new("unreadable", error.to_string()));
        scripted.titles.insert(id.escaped().to_owned(), title);
    }
    let headers = listed.into_iter().map(|record| dsh_plugin_host::Header {
        id: record.header.id.escaped().to_owned(),
        created_at: record.header.created_at,
        cwd: record.header.cwd,
        ..Default::default()
    });
    scripted.list = Some(headers.collect());
    Ok(scripted)
}
