//! `candidates`: what can be mentioned, ranked and filtered.

use anyhow::{Context as _, Result, bail};
use dsh_plugin_host::{Candidate, Plugin, Target};
use serde_json::{Map, Value, json};

use crate::scripted::{self, Scripted, failure};
use crate::subject::{self, Subject};
use crate::vector::{Got, Skip, Vector};
use crate::wtf16;

pub(super) async fn run(subject: &Subject, vector: &Vector) -> Result<Got> {
    let records = vector.input("records").as_array().context("no records")?;
    let list = records.iter().map(scripted::header).collect::<Result<Vec<_>>>()?;
    let mut sessions = Scripted::default();
    sessions.abort = subject::abort(vector.input("signal"))?;
    sessions.list = vector.input("listFails").is_null().then_some(list);
    if !vector.input("titlesFail").is_null() {
        return Err(Skip::Shape("reading titles fails as a whole").into());
    }
    for (id, title) in vector.input("titles").as_object().into_iter().flatten() {
        let title = match title {
            Value::Null => Ok(None),
            Value::String(title) => Ok(Some(wtf16::text(title)?)),
            _ => Err(failure()),
        };
        sessions.titles.insert(wtf16::spelling(id), title);
    }
    candidates(subject, vector, sessions).await
}

/// Lists the candidates for the agent of a vector.
pub(super) async fn candidates(
    subject: &Subject,
    vector: &Vector,
    sessions: Scripted,
) -> Result<Got> {
    let agent = vector.input("agent");
    let id = agent.get("id").and_then(Value::as_str).context("no agent")?;
    let cwd = agent.get("cwd").and_then(Value::as_str).map(str::to_owned);
    let target = Target { session: wtf16::spelling(id), cwd };
    let query = wtf16::text(vector.input("query").as_str().unwrap_or_default())?;
    let limit = limit(vector.input("limit"))?;
    // A client's view of them has what it puts into the prompt.
    let with_mention = match vector.input_str("op")? {
        "remote" => true,
        "list" | "candidates" => false,
        other => bail!("unknown op {other}"),
    };
    let call =
        async |plugin: Plugin, services| plugin.candidates(&services, &target, &query, limit).await;
    let value = |found: Vec<Candidate>| {
        let found = found.iter().map(|candidate| candidate_value(candidate, with_mention));
        Ok(json!({ "candidates": found.collect::<Result<Value>>()? }))
    };
    subject.call(vector.input("config"), sessions, call, value).await
}

/// A limit as a component gets it; one beyond its numbers is no limit in practice.
fn limit(limit: &Value) -> Result<Option<u32>> {
    const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;
    match limit {
        Value::Null => Ok(None),
        limit => match limit.as_u64() {
            Some(limit @ 0..=MAX_SAFE_INTEGER) => {
                Ok(Some(u32::try_from(limit).unwrap_or(u32::MAX)))
            }
            _ => Err(Skip::Shape("a limit that is no unsigned integer").into()),
        },
    }
}

fn candidate_value(candidate: &Candidate, with_mention: bool) -> Result<Value> {
    let mut members = Map::new();
    members.insert("sessionId".into(), wtf16::id(&candidate.session)?);
    members.insert("label".into(), Value::from(&*candidate.label));
    members.insert("createdAt".into(), candidate.created_at.into());
    if let Some(cwd) = &candidate.cwd {
        members.insert("cwd".into(), Value::from(&**cwd));
    }
    if with_mention {
        members.insert("mention".into(), Value::from(&*candidate.mention));
    }
    Ok(members.into())
}
