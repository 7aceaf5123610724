//! `mention_parse`: the grammar of mentions, both ways.

use anyhow::{Result, bail};
use dsh_plugin_host::{Parsed, Plugin, Reference};
use serde_json::{Value, json};

use crate::scripted::Scripted;
use crate::subject::Subject;
use crate::vector::{Got, Vector};
use crate::wtf16;

pub(super) async fn run(subject: &Subject, vector: &Vector) -> Result<Got> {
    match vector.input_str("op")? {
        "parse" => {
            let text = wtf16::text(vector.input_str("text")?)?;
            let call = async |plugin: Plugin, services| plugin.parse(&services, &text).await;
            subject.call(&Value::Null, Scripted::default(), call, |read| parsed(&read)).await
        }
        "format" => {
            let session = wtf16::spelling(vector.input_str("sessionId")?);
            let label = vector.input("label").as_str().map(wtf16::text).transpose()?;
            let reference = Reference { session, label };
            let call = async |plugin: Plugin, services| {
                let mention = plugin.format(&services, &reference).await?;
                let read = plugin.parse(&services, &mention).await?;
                Ok((mention, read))
            };
            let value = |(mention, read): (String, Parsed)| {
                Ok(json!({ "mention": mention, "reparsed": parsed(&read)? }))
            };
            subject.call(&Value::Null, Scripted::default(), call, value).await
        }
        other => bail!("unknown op {other}"),
    }
}

fn parsed(parsed: &Parsed) -> Result<Value> {
    let references = parsed.references.iter().map(|Reference { session, label }| {
        let id = wtf16::id(session)?;
        // No label is the id as a label.
        let label = label.as_ref().map_or_else(|| id.clone(), |label| Value::from(&**label));
        Ok(json!({ "sessionId": id, "label": label }))
    });
    let references = references.collect::<Result<Value>>()?;
    Ok(json!({ "text": parsed.text, "references": references }))
}
