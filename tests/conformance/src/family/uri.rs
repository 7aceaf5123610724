//! `uri`: the codec, through the mentions that hold a URI.

use anyhow::{Context as _, Result, bail};
use dsh_plugin_host::Reference;
use serde_json::{Value, json};

use crate::scripted::Scripted;
use crate::subject::Subject;
use crate::vector::{Got, Skip, Vector};
use crate::wtf16;

/// A label that needs no escape.
const LABEL: &str = "label";

pub(super) async fn run(subject: &Subject, vector: &Vector) -> Result<Got> {
    match vector.input_str("op")? {
        "encode" => encode(subject, vector).await,
        "decode" => decode(subject, vector).await,
        other => bail!("unknown op {other}"),
    }
}

/// The URI in the mention of the session; read back, it names the session again.
async fn encode(subject: &Subject, vector: &Vector) -> Result<Got> {
    let session = wtf16::spelling(vector.input_str("id")?);
    let reference = Reference { session, label: Some(LABEL.to_owned()) };
    let wanted = reference.clone();
    let call = async |plugin: dsh_plugin_host::Plugin, services| {
        let mention = plugin.format(&services, &reference).await?;
        let parsed = plugin.parse(&services, &mention).await?;
        Ok((mention, parsed))
    };
    let value = |(mention, parsed): (String, dsh_plugin_host::Parsed)| {
        anyhow::ensure!(parsed.references == [wanted], "read back as {:?}", parsed.references);
        let uri = mention.strip_prefix("@[label](").and_then(|rest| rest.strip_suffix(')'));
        Ok(json!({ "uri": uri.context("not a mention")? }))
    };
    subject.call(&Value::Null, Scripted::default(), call, value).await
}

/// A URI names a session where its mention is one as a whole.
async fn decode(subject: &Subject, vector: &Vector) -> Result<Got> {
    let uri = vector.input("uri").as_str().ok_or(Skip::Shape("a URI that is no string"))?;
    let mention = format!("@[{LABEL}]({})", wtf16::text(uri)?);
    let call =
        async |plugin: dsh_plugin_host::Plugin, services| plugin.parse(&services, &mention).await;
    let mut got = subject
        .call(&Value::Null, Scripted::default(), call, |parsed| {
            let [Reference { session, .. }] = &*parsed.references else { return Ok(Value::Null) };
            if parsed.text != format!("@{LABEL}") {
                return Ok(Value::Null);
            }
            Ok(json!({ "id": wtf16::id(session)? }))
        })
        .await?;
    if got.outcome == Ok(Value::Null) {
        got.outcome = Err("SESSION_REFERENCE_INVALID_REFERENCE".into());
    }
    Ok(got)
}
