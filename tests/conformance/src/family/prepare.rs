//! `prepare`: references held as values, and the settings that bound them.

use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use dsh_plugin_host::{Block, Plugin, Prepared, Reference};
use serde_json::{Value, json};

use crate::scripted::{Scripted, ScriptedSurface, failure};
use crate::subject::{self, INVALID_CONFIG, NEW_ID, Subject};
use crate::vector::{Got, Skip, Vector};
use crate::wtf16;

pub(super) async fn run(subject: &Subject, vector: &Vector) -> Result<Got> {
    match vector.input_str("op")? {
        "prepare" => {
            let mut sessions = scripted(vector.input("surfaces"))?;
            sessions.abort = subject::abort(vector.input("signal"))?;
            prepare(subject, vector, sessions).await
        }
        "config" => config(subject, vector).await,
        other => bail!("unknown op {other}"),
    }
}

/// Settings are checked when a plugin is loaded.
async fn config(subject: &Subject, vector: &Vector) -> Result<Got> {
    let outcome = match subject.load(vector.input("config")).await? {
        Ok(_) => Ok(json!({ "accepted": true })),
        Err(_) => Err(INVALID_CONFIG.to_owned()),
    };
    Ok(Got { outcome, seen: Default::default() })
}

/// Sessions whose surfaces are as a vector has them.
pub(super) fn scripted(surfaces: &Value) -> Result<Scripted> {
    let mut sessions = Scripted::default();
    for (id, script) in surfaces.as_object().into_iter().flatten() {
        let surface = match (script.get("snapshot"), script.get("fail")) {
            (Some(snapshot), _) => {
                let surface: Arc<dyn dsh_plugin_host::Surface> =
                    Arc::new(ScriptedSurface::of(snapshot)?);
                Ok(surface)
            }
            (None, Some(_)) => Err(failure()),
            (None, None) => bail!("a surface without a script"),
        };
        sessions.surfaces.insert(wtf16::spelling(id), surface);
    }
    Ok(sessions)
}

/// Prepares the references of a vector.
pub(super) async fn prepare(subject: &Subject, vector: &Vector, sessions: Scripted) -> Result<Got> {
    let target = vector.input("agent").get("id").and_then(Value::as_str).context("no agent")?;
    let target = wtf16::spelling(target);
    let references = vector.input("references").as_array().context("no references")?;
    let references = references.iter().map(reference).collect::<Result<Vec<_>>>()?;
    let blocks = vector.input("content").as_array().context("no content")?;
    let content = blocks.iter().map(block).collect::<Result<Vec<_>>>()?;
    let call = async |plugin: Plugin, services| {
        plugin.prepare(&services, &target, &content, &references).await
    };
    subject.call(vector.input("config"), sessions, call, |prepared| prepared_value(&prepared)).await
}

fn reference(reference: &Value) -> Result<Reference> {
    let shape = Skip::Shape("a reference that is not an id and a label");
    let id = reference.get("sessionId").and_then(Value::as_str).ok_or(shape)?;
    let label = match reference.get("label") {
        None => None,
        Some(label) => Some(wtf16::text(label.as_str().ok_or(shape)?)?),
    };
    Ok(Reference { session: wtf16::spelling(id), label })
}

/// A block as a component gets it.
pub(super) fn block(block: &Value) -> Result<Block> {
    match (block.get("type").and_then(Value::as_str), block.get("text")) {
        (Some("text"), Some(Value::String(text))) => Ok(Block::text(wtf16::text(text)?)),
        _ => Ok(Block::Other(wtf16::json(block).into())),
    }
}

/// A block as a vector has it.
pub(super) fn block_value(block: &Block) -> Result<Value> {
    Ok(match block {
        Block::Text(text) => json!({ "type": "text", "text": &**text }),
        Block::Other(json) => wtf16::value(json)?,
    })
}

fn prepared_value(prepared: &Prepared) -> Result<Value> {
    let content = prepared.content.iter().map(block_value).collect::<Result<Value>>()?;
    let context = match &prepared.snapshot {
        None => Value::Null,
        Some(snapshot) => context(NEW_ID, &snapshot.facts, &snapshot.content)?,
    };
    Ok(json!({ "content": content, "context": context }))
}

/// A snapshot as the message that vectors have, our words left out.
pub(super) fn context(id: &str, facts: &str, content: &[Block]) -> Result<Value> {
    let [Block::Text(text)] = content else { bail!("a snapshot is one text: {content:?}") };
    Ok(json!({
        "source": subject::facts(facts)?,
        "content": [{ "type": "text", "text": subject::without_prose(text)? }],
        "role": "user",
        "id": id,
    }))
}
