//! `surface`: the fold of a raw log.

use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::replayed;
use crate::vector::{Got, Vector};

const INVALID_SURFACE: &str = "SESSION_QUERY_INVALID_SURFACE";

pub(super) fn run(vector: &Vector) -> Result<Got> {
    match vector.input_str("op")? {
        "fold" => fold(vector),
        "read" => bail!("not yet"),
        other => bail!("unknown op {other}"),
    }
}

fn fold(vector: &Vector) -> Result<Got> {
    let events = replayed::events(vector.input("events"))?;
    let mut replayed = match replayed::replay(&replayed::session_id("folded")?, events) {
        Ok(replayed) => replayed,
        Err(_) => {
            return Ok(Got { outcome: Err(INVALID_SURFACE.into()), seen: Default::default() });
        }
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
