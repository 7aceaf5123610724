//! `prestep`: a batch through a chain of this one plugin.

use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use async_trait::async_trait;
use dsh_plugin_host::{
    Chain, Decision, Entered, Failure, Message, Plugin, PreStepCall, Rejection, Rest,
};
use serde_json::{Value, json};

use super::prepare;
use crate::scripted::{self, Scripted};
use crate::subject::{self, Subject};
use crate::vector::{Got, Skip, Vector};
use crate::wtf16;

pub(super) async fn run(subject: &Subject, vector: &Vector) -> Result<Got> {
    let surfaces = vector.input("surfaces");
    let delayed = |script: &Value| script.get("delay").is_some();
    if vector.name.starts_with("error-precedence/")
        && surfaces.as_object().is_some_and(|surfaces| surfaces.values().any(delayed))
    {
        return Err(Skip::OrderOfReads.into());
    }
    let mut sessions = prepare::scripted(surfaces)?;
    sessions.abort = subject::abort(vector.input("signal"))?;
    let decision = vector.input("decision");
    let (messages, rest) = match decision.get("kind").and_then(Value::as_str) {
        Some("enter") => (decision.get("messages").context("no messages")?, None),
        Some("reject") => {
            let rest: Arc<dyn Rest> = Arc::new(Rejecting(decision.clone()));
            (vector.input("incoming"), Some(rest))
        }
        _ => bail!("neither enter nor reject: {decision}"),
    };
    let messages = messages.as_array().context("no batch")?;
    handle(subject, vector, sessions, messages, rest, |decision| {
        Ok(json!({ "decision": decision }))
    })
    .await
}

/// The rest of a chain that rejects as the vector says.
struct Rejecting(Value);

#[async_trait]
impl Rest for Rejecting {
    fn name(&self) -> &str {
        "the rest of the chain"
    }

    async fn pre_step(&self, _: Decision) -> Result<Decision, Failure> {
        let details = Some(self.0.to_string());
        Ok(Decision::Reject(Rejection { by: self.name().to_owned(), reason: None, details }))
    }
}

/// Passes a batch through the plugin.
pub(super) async fn handle(
    subject: &Subject,
    vector: &Vector,
    sessions: Scripted,
    messages: &[Value],
    rest: Option<Arc<dyn Rest>>,
    value: impl FnOnce(Value) -> Result<Value>,
) -> Result<Got> {
    let agent = vector.input("agent");
    let session = agent.get("id").and_then(Value::as_str).context("no agent")?;
    let batch = messages.iter().map(message).collect::<Result<Vec<_>>>()?;
    let mut step = PreStepCall::new(wtf16::spelling(session), 1, 1, batch);
    step.cwd = agent.get("cwd").and_then(Value::as_str).map(str::to_owned);
    step.rest = rest;
    let call =
        async |plugin: Plugin, services| Chain::new([plugin]).pre_step(&services, step).await;
    let value = |decided| value(decision(decided, messages)?);
    subject.call(vector.input("config"), sessions, call, value).await
}

fn message(message: &Value) -> Result<Message> {
    let id = message.get("id").and_then(Value::as_str).context("a message without an id")?;
    let source = message.get("source").context("a message without a source")?;
    let blocks = message.get("content").and_then(Value::as_array).context("no content")?;
    let blocks = blocks.iter().map(prepare::block).collect::<Result<Vec<_>>>()?;
    Ok(Message::new(id, scripted::source(source)?, wtf16::json(source), blocks))
}

/// A decision as vectors have it. What the plugin did not change is as it was.
fn decision(decision: Decision, batch: &[Value]) -> Result<Value> {
    let entered = match decision {
        Decision::Reject(rejection) => {
            let details = rejection.details.context("a rejection without its details")?;
            return wtf16::value(&details);
        }
        Decision::Enter(entered) => entered,
    };
    let original = |index: usize| batch.get(index).cloned().context("a message of no batch");
    let messages = entered.into_iter().map(|entered| match entered {
        Entered::Batch { index } => original(index),
        Entered::Edited { index, edits } => {
            let mut message = original(index)?;
            for edit in edits {
                let block = message.pointer_mut(&format!("/content/{}", edit.block));
                let block = block.and_then(Value::as_object_mut).context("an edit of no block")?;
                if block.len() > 2 {
                    return Err(Skip::Shape("a text block with other members").into());
                }
                block.insert("text".into(), Value::from(&*edit.text));
            }
            Ok(message)
        }
        Entered::Context(context) => {
            prepare::context(&context.id, &context.facts, &context.content)
        }
    });
    Ok(json!({ "kind": "enter", "messages": messages.collect::<Result<Value>>()? }))
}
