//! `retention`: what of a conversation fits into a budget, seen in the snapshot of one reference.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use dsh_plugin_host::{Block, Plugin, Prepared, Reference};
use serde_json::{Value, json};

use crate::scripted::{Scripted, ScriptedSurface};
use crate::subject::{self, Subject};
use crate::vector::{Got, Vector};
use crate::wtf16;

pub(super) async fn run(subject: &Subject, vector: &Vector) -> Result<Got> {
    let snapshot = vector.input("snapshot");
    let session = snapshot.pointer("/session/id").and_then(Value::as_str).context("no session")?;
    let session = wtf16::spelling(session);
    let label = Some(wtf16::text(vector.input_str("label")?)?);
    let mut sessions = Scripted::default();
    sessions.surfaces.insert(session.clone(), Ok(Arc::new(ScriptedSurface::of(snapshot)?)));
    // Another session than the one that is cited.
    let target = format!("{session} is cited here");
    let references = [Reference { session, label }];
    let call =
        async |plugin: Plugin, services| plugin.prepare(&services, &target, &[], &references).await;
    let config = json!({ "maxReferenceBytes": vector.input("maxBytes") });
    subject.call(&config, sessions, call, |prepared| value(&prepared)).await
}

/// The data of the one session in the snapshot, and what its source says of it.
fn value(prepared: &Prepared) -> Result<Value> {
    let snapshot = prepared.snapshot.as_ref().context("no snapshot")?;
    let [Block::Text(text)] = &*snapshot.content else { anyhow::bail!("not one text") };
    let text = subject::without_prose(text)?;
    let data = text.strip_prefix("<PROSE>[").and_then(|text| text.strip_suffix("]<PROSE>"));
    let data = data.context("not an array of one session")?;
    let facts = subject::facts(&snapshot.facts)?;
    let row = facts.pointer("/references/0").context("no reference in the source")?;
    let names = [
        "compacted",
        "originalMessages",
        "retainedMessages",
        "omittedMessages",
        "omittedBytes",
        "truncated",
    ];
    let stats: serde_json::Map<_, _> = names
        .into_iter()
        .map(|name| (name.to_owned(), row.get(name).cloned().unwrap_or_default()))
        .collect();
    Ok(json!({ "json": data, "bytes": data.len(), "stats": stats }))
}
