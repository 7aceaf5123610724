//! `title`: the latest of a log, and how one is made of a text.

use anyhow::{Context as _, Result, bail};
use dsh_session::{Title, TitleSource, fallback_title, normalize_title};
use serde_json::{Value, json};

use crate::replayed;
use crate::vector::{Got, Skip, Vector};
use crate::wtf16;

pub(super) fn run(vector: &Vector) -> Result<Got> {
    let number = |name: &str| {
        let number = vector.input(name).as_u64().and_then(|number| usize::try_from(number).ok());
        number.with_context(|| format!("{name} is no number"))
    };
    let outcome = match vector.input_str("op")? {
        "fold" => return fold(vector),
        "normalize" => {
            let text = wtf16::text(vector.input_str("text")?)?;
            normalize_title(&text, number("maxBytes")?)
        }
        "fallback" => {
            let text = wtf16::text(vector.input_str("text")?)?;
            fallback_title(&text, number("maxWords")?, number("maxBytes")?)
        }
        other => bail!("unknown op {other}"),
    };
    Ok(Got { outcome: Ok(json!({ "title": outcome })), seen: Default::default() })
}

fn fold(vector: &Vector) -> Result<Got> {
    let mut events = replayed::events(vector.input("events"))?.to_vec();
    let no_number = |seq: &Value| !seq.is_u64();
    for event in &mut events {
        // A fold takes any type; a log takes an unknown one where it is marked.
        if event.get("type").and_then(Value::as_str) != Some("session/title") {
            let members = event.as_object_mut().context("an event that is no object")?;
            members.insert("ignorable".into(), true.into());
        }
        let seqs = event.pointer("/data/messageSeqs");
        if seqs.is_some_and(|seqs| seqs.as_array().is_none_or(|seqs| seqs.iter().any(no_number))) {
            return Err(Skip::Shape("places in a log that are no numbers").into());
        }
    }
    let replayed = replayed::replay(&replayed::session_id("titled")?, &events)?;
    let outcome = match replayed.replay.title() {
        Ok(title) => Ok(json!({ "title": title.as_ref().map(title_value) })),
        Err(_) => Err("UNREADABLE".to_owned()),
    };
    Ok(Got { outcome, seen: Default::default() })
}

fn title_value(title: &Title) -> Value {
    json!({
        "title": title.title,
        "messageSeqs": title.messages,
        "source": source_value(&title.source),
        "eventSeq": title.seq,
        "updatedAt": title.updated_at,
    })
}

fn source_value(source: &TitleSource) -> Value {
    match source {
        TitleSource::Fallback => json!({ "kind": "fallback" }),
        TitleSource::User => json!({ "kind": "user" }),
        TitleSource::Provider { provider, model: None } => {
            json!({ "kind": "provider", "provider": provider })
        }
        TitleSource::Provider { provider, model: Some((of, name)) } => {
            json!({ "kind": "provider", "provider": provider, "model": { "provider": of, "model": name } })
        }
    }
}
