//! A chain of components, as the loop's pre-step.

use std::collections::BTreeSet;

use async_trait::async_trait;
use dsh_agent::{Decision, Failure, PreStep, StepInfo};
use dsh_plugin_host as host;
use dsh_plugin_host::{CallError, Cause, Chain, Entered, PreStepCall, Services};
use dsh_session::{Block, Json, Message, MessageError, Source};

/// The chain in which a session's steps stand.
pub struct Sandbox {
    /// The plugins, outermost first.
    pub chain: Chain,
    /// What their calls are lent.
    pub services: Services,
    /// The session's absolute working directory.
    pub cwd: Option<String>,
}

#[async_trait]
impl PreStep for Sandbox {
    async fn pre_step(&self, step: StepInfo, batch: Vec<Message>) -> Result<Decision, Failure> {
        let messages = batch.iter().map(offered).collect();
        let mut call = PreStepCall::new(step.session.escaped(), step.turn, step.step, messages);
        call.cwd.clone_from(&self.cwd);
        match self.chain.pre_step(&self.services, call).await.map_err(failure)? {
            host::Decision::Reject(rejection) => Ok(Decision::Reject {
                reason: rejection.reason,
                details: rejection.details.and_then(|details| Json::parse(&details).ok()),
                by: Some(rejection.by),
            }),
            host::Decision::Enter(entered) => {
                let messages = entered.into_iter().map(|entered| message(&batch, entered));
                Ok(Decision::Enter(messages.collect::<Result<_, _>>()?))
            }
        }
    }
}

/// The message as plugins see it.
fn offered(message: &Message) -> host::Message {
    let logged: Vec<Json> =
        message.json().object().ok().and_then(|m| m.read("content")).unwrap_or_default();
    let content = message.blocks().iter().zip(logged).map(|(block, logged)| match block {
        Block::Text(text) => host::Block::Text(text.clone()),
        _ => host::Block::Other(logged.as_str().into()),
    });
    let source = message.source();
    host::Message::new(message.id(), spoken_for(source), source.facts.as_str(), content.collect())
}

/// Who a message speaks for, in the host's words.
pub(super) fn spoken_for(source: &Source) -> host::Source {
    if source.is_user() {
        host::Source::User
    } else if source.is_checkpoint() {
        host::Source::Checkpoint
    } else if let (true, Some(plugin)) = (&*source.kind == "plugin", &source.plugin) {
        host::Source::Plugin(plugin.to_string())
    } else {
        host::Source::Other(source.kind.to_string())
    }
}

/// The message that enters, as it will be logged.
fn message(batch: &[Message], entered: Entered) -> Result<Message, Failure> {
    let unknown = || Failure::new("refused", "a message enters that was not claimed");
    match entered {
        Entered::Batch { index } => batch.get(index).cloned().ok_or_else(unknown),
        Entered::Edited { index, edits } => {
            let original = batch.get(index).ok_or_else(unknown)?;
            let texts: Vec<_> = edits.iter().map(|edit| (edit.block, &*edit.text)).collect();
            let plugins: BTreeSet<&str> = edits.iter().map(|edit| &*edit.plugin).collect();
            marked(&original.with_texts(&texts).map_err(unloggable)?, &plugins)
        }
        Entered::Context(added) => context(&added),
    }
}

/// The changed message, with the plugins that changed it beside its source: every view can name them, and dsh reads
/// past it.
fn marked(message: &Message, plugins: &BTreeSet<&str>) -> Result<Message, Failure> {
    let plugins = Json::of(plugins).map_err(unloggable)?;
    let source = message.source().facts.object().map_err(unloggable)?.with("rewrittenBy", &plugins);
    let message = message.json().object().map_err(unloggable)?.with("source", &source);
    Message::parse(message).map_err(unloggable)
}

/// A context message of a plugin as it is logged.
pub(super) fn context(context: &host::Context) -> Result<Message, Failure> {
    let facts = Json::parse(&context.facts).map_err(unloggable)?;
    let content: Result<Vec<Json>, _> = context.content.iter().map(block).collect();
    Message::user(&context.id, &facts, &content.map_err(unloggable)?).map_err(unloggable)
}

fn block(block: &host::Block) -> Result<Json, serde_json::Error> {
    match block {
        host::Block::Text(text) => {
            Json::of(&serde_json::json!({ "type": "text", "text": &**text }))
        }
        host::Block::Other(json) => Json::parse(json),
    }
}

fn unloggable(err: impl Into<Unloggable>) -> Failure {
    let Unloggable(reason) = err.into();
    Failure::new(
        "refused",
        format!("what the plugins made of the message cannot be logged: {reason}"),
    )
}

struct Unloggable(String);

impl From<MessageError> for Unloggable {
    fn from(err: MessageError) -> Self {
        Self(err.to_string())
    }
}

impl From<serde_json::Error> for Unloggable {
    fn from(err: serde_json::Error) -> Self {
        Self(err.to_string())
    }
}

/// A plugin's own failure keeps its code and words; every other one names the plugin, the export and the cause.
fn failure(err: CallError) -> Failure {
    let said = err.to_string();
    let CallError { plugin, cause, .. } = err;
    let (code, message, details) = match cause {
        Cause::Failed(failure) => (failure.code, failure.message, failure.details),
        Cause::Limit(_) => ("limit".to_owned(), said, None),
        Cause::Refused(_) => ("refused".to_owned(), said, None),
        Cause::Quarantined { .. } => ("quarantined".to_owned(), said, None),
        _ => ("trap".to_owned(), said, None),
    };
    let details = details.and_then(|details| Json::parse(&details).ok());
    Failure { code, message, details, by: Some(plugin) }
}
