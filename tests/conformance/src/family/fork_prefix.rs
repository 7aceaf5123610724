//! `fork_prefix`: what a fork inherits, and what closes an interrupted turn.

use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use dsh_session::{
    Encoding, Event, Events, ForkError, Header, Store, StoreError, completed_turns,
    fork_after_turn, fork_at, tool_pairing,
};
use serde_json::{Value, json};

use crate::replayed::{self, Replayed};
use crate::vector::{Got, Skip, Vector};
use crate::wtf16;

pub(super) async fn run(vector: &Vector) -> Result<Got> {
    let source = replayed::session_id("src")?;
    let log = replayed::replay(&source, replayed::events(vector.input("events"))?)?;
    let events = Events::from(log.events.clone());
    let outcome = match vector.input_str("op")? {
        "store_fork" => store_fork(vector, events).await?,
        "completed_turn_prefix" => {
            let length = completed_turns(&events);
            Ok(json!({ "prefix_length": length, "has_seed": length > 0 }))
        }
        "host_fork" => {
            if vector.input("atSeq").as_f64().is_some_and(|at| at.fract() != 0.0) {
                return Err(Skip::Shape("a place in a log that is no integer").into());
            }
            host_fork(vector, &events)
        }
        "closers" => {
            let closers = log.replay.closers();
            let closers = closers.iter().map(closer).collect::<Result<Value>>()?;
            Ok(json!({ "closers": closers }))
        }
        "pairing" => pairing(log),
        other => bail!("unknown op {other}"),
    };
    Ok(Got { outcome: outcome.map_err(str::to_owned), seen: Default::default() })
}

/// A person's fork: whole turns.
fn host_fork(vector: &Vector, events: &Events) -> Result<Value, &'static str> {
    let length =
        fork_after_turn(events, vector.input("atSeq").as_u64()).map_err(|_| "fork-unavailable")?;
    let events = events.to_vec();
    let last = length.checked_sub(1).and_then(|last| events.get(last));
    Ok(json!({
        "prefix_length": length,
        "seed_length_header": length,
        "last_type": last.map(|event| &*event.kind),
    }))
}

/// A fork that is written and read back.
async fn store_fork(vector: &Vector, mut events: Events) -> Result<Result<Value, &'static str>> {
    let length = match fork_at(&events, boundary(vector)) {
        Ok(length) => length,
        Err(ForkError::OpenTurn) => return Ok(Err("OPEN_TURN")),
        Err(_) => return Ok(Err("INVALID_BOUNDARY")),
    };
    let root = tempfile::tempdir()?;
    let store = Store::new(root.path(), Encoding::Raw, Arc::new(|| 0));
    let cwd = vector.input("cwd").as_str().map(str::to_owned);
    // What is there beforehand: the source, and whatever the vector says.
    for id in ["src"].into_iter().chain(vector.input("existing").as_str()) {
        let header = Header::new(replayed::session_id(id)?, 0, cwd.clone());
        // A session without an event has no file.
        store.create(header, Some(Events::default()))?.commit().await?;
    }
    let id = replayed::session_id(vector.input("child").as_str().unwrap_or("child"))?;
    let mut header = Header::new(id.clone(), 0, cwd);
    header.parent = Some(replayed::session_id("src")?);
    header.seed_length = Some(length as u64);
    events.truncate(length);
    let child = match store.create(header, Some(events)) {
        Err(StoreError::Exists(_)) => return Ok(Err("SESSION_ALREADY_EXISTS")),
        child => child?,
    };
    child.commit().await?;
    drop(child);
    let mut log: Vec<Event> = Vec::new();
    let child = store.read(&id, &mut log)?;
    let surface: Vec<_> = child.surface.nodes().iter().map(|node| node.seq).collect();
    let mut header = replayed::header_value(&child.header)?;
    let first_live = child.header.seed_length;
    if let Some(header) = header.as_object_mut() {
        header.remove("createdAt");
    }
    Ok(Ok(json!({
        "prefix_length": length,
        "child_log_length": log.len(),
        "child_last_type": log.last().map(|event| &*event.kind),
        "first_live_seq": first_live,
        "child_surface": surface,
        "header": header,
    })))
}

/// The boundary of a vector; none means the end, and what is no place is past any end.
fn boundary(vector: &Vector) -> Option<u64> {
    vector.input_json("boundary").ok()?;
    Some(vector.input("boundary").as_u64().unwrap_or(u64::MAX))
}

fn pairing(mut log: Replayed) -> Result<Value, &'static str> {
    let surface = log.replay.surface();
    let cuts = tool_pairing(&surface).ok_or("CORRUPT_PAIRING")?;
    let nodes: Vec<_> = surface.nodes().iter().map(|node| node.seq).collect();
    let before: Vec<_> = cuts.iter().map(|cut| cut.before).collect();
    let after: Vec<_> = cuts.iter().map(|cut| cut.after).collect();
    Ok(json!({ "nodes": nodes, "before": before, "after": after }))
}

/// An event as vectors have it, its wording left out.
fn closer(event: &Event) -> Result<Value> {
    let mut data = wtf16::value(event.data.as_str())?;
    if let Some(text) = data.pointer_mut("/message/content/0/content/0/text") {
        *text = "<PROSE>".into();
    }
    let mut value = json!({
        "type": &*event.kind,
        "seq": event.seq,
        "time": event.time,
        "data": data,
    });
    let members = value.as_object_mut().context("no object")?;
    if event.surface_op.is_some() {
        members.insert("surfaceOp".into(), "append".into());
    }
    if let Some(sources) = &event.sources {
        members.insert("sourceEventSeqs".into(), json!(sources));
    }
    Ok(value)
}
