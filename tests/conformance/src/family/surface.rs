//! `surface`: the fold of a raw log.

use anyhow::{Result, bail};
use dsh_session::EventError;
use serde_json::{Value, json};

use crate::replayed;
use crate::vector::{Got, Skip, Vector};
use crate::wtf16;

pub(super) fn run(vector: &Vector) -> Result<Got> {
    match vector.input_str("op")? {
        "fold" => fold(vector),
        "read" => read(vector),
        other => bail!("unknown op {other}"),
    }
}

fn fold(vector: &Vector) -> Result<Got> {
    let events = replayed::events(vector.input("events"))?;
    let mut replayed = match replayed::replay(&replayed::session_id("folded")?, events) {
        Ok(replayed) => replayed,
        Err(error) => return Ok(refused(&error)),
    };
    let surface = replayed.replay.surface();
    let nodes: Vec<_> = surface.nodes().iter().map(|node| node.seq).collect();
    let replacements = replayed.replacements.iter().map(|replacement| {
        json!({
            "seq": replacement.seq,
            "start": replacement.range.0,
            "end": replacement.range.1,
            "shadowedSeqs": replacement.shadowed,
        })
    });
    let replacements: Value = replacements.collect();
    let shadowed = |seq| replayed.replacements.iter().any(|by| by.shadowed.contains(&seq));
    let placement = (0..events.len() as u64).map(|seq| match () {
        () if nodes.contains(&seq) => "current",
        () if shadowed(seq) => "shadowed",
        () => "log-only",
    });
    let placement: Value = placement.collect();
    let messages: Vec<_> =
        surface.messages().iter().map(|message| message.id().to_owned()).collect();
    let folded = json!({
        "nodes": nodes,
        "replacements": replacements,
        "placement": placement,
        "derivedMessageIds": messages,
    });
    Ok(Got { outcome: Ok(folded), seen: Default::default() })
}

/// A log that cannot be folded.
fn refused(error: &EventError) -> Got {
    let code = match error {
        EventError::Message(_) => "MESSAGE_SHAPE",
        _ => "SESSION_QUERY_INVALID_SURFACE",
    };
    Got { outcome: Err(code.into()), seen: Default::default() }
}

/// A whole session, whose header in its log must agree with the one that was listed.
fn read(vector: &Vector) -> Result<Got> {
    if vector.name == "read/shape-broken-but-shadowed-is-fine" {
        // Its message is checked when a log is read, before anybody knows that it will be replaced.
        return Err(Skip::Shape("a log that was read and holds a message of no shape").into());
    }
    let listed = replayed::header(vector.input("header"))?;
    let id = wtf16::id(listed.id.escaped())?;
    let inspected = vector.input("inspected").get(id.as_str().unwrap_or_default());
    let header = inspected.map_or_else(|| Ok(listed.clone()), replayed::header)?;
    if !listed.agrees_with(&header) {
        let outcome = Err("SESSION_QUERY_SOURCE_CONFLICT".to_owned());
        return Ok(Got { outcome, seen: Default::default() });
    }
    let events = replayed::events(vector.input("events"))?;
    let observe = || replayed::replay(&listed.id, events).map(|mut log| log.replay.surface());
    let surface = match observe() {
        Ok(surface) => surface,
        Err(error) => return Ok(refused(&error)),
    };
    let nodes: Vec<_> = surface.nodes().iter().map(|node| node.seq).collect();
    let read = json!({
        "session": replayed::header_value(&header)?,
        "capturedThroughSeq": surface.captured_through(),
        "eventSeqs": nodes,
        "identical": observe().is_ok_and(|again| again == surface),
    });
    Ok(Got { outcome: Ok(read), seen: Default::default() })
}
