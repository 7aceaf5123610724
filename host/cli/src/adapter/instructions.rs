//! Instruction files, as context that a step enters with.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use dsh_agent::{Decision, Failure, MessageIds, PreStep, StepInfo};
use dsh_config::Instructions;
use dsh_config::instructions::{Gathered, digest, gather};
use dsh_session::{Json, Live, Message};
use serde_json::json;

/// Who the context is from, in its source. No plugin can be called so: of a plugin's id a `:` is no part.
pub(crate) const INSTRUCTIONS: &str = "dsh-wasm:instructions";

/// What is read for a session's steps.
#[derive(Clone, Debug)]
pub struct InstructionFiles {
    /// Which files, and how much of them.
    pub wanted: Instructions,
    /// The folder of the person's own.
    pub user: Option<PathBuf>,
}

/// Decides as the rest does, and lets each step know the instruction files: as a message of its own, once, and again
/// when they say something else or a compaction has taken them out of the surface.
pub(crate) struct Instructed {
    pub(crate) rest: Arc<dyn PreStep>,
    pub(crate) files: InstructionFiles,
    /// The session, whose surface tells what its model was given.
    pub(crate) live: Live,
    pub(crate) ids: MessageIds,
}

#[async_trait]
impl PreStep for Instructed {
    async fn pre_step(&self, step: StepInfo, batch: Vec<Message>) -> Result<Decision, Failure> {
        let (first, owing) = (step.step == 1, batch.is_empty());
        let mut decision = self.rest.pre_step(step, batch).await?;
        if let Decision::Enter(entered) = &mut decision
            // A step that nothing enters does not begin, unless it carries results to the model.
            && (!entered.is_empty() || (owing && !first))
        {
            entered.extend(self.news().await?);
        }
        Ok(decision)
    }
}

impl Instructed {
    /// What the model has to be told; none where it knows.
    async fn news(&self) -> Result<Option<Message>, Failure> {
        let Some(cwd) = self.live.header().cwd.clone() else { return Ok(None) };
        let InstructionFiles { wanted, user } = self.files.clone();
        let gathering =
            tokio::task::spawn_blocking(move || gather(&wanted, cwd.as_ref(), user.as_deref()));
        let gathered =
            gathering.await.map_err(|error| Failure::new("instructions", error.to_string()))?;
        let text = gathered.text();
        let told = self.told();
        let text = match (text, &told) {
            (None, None) => return Ok(None),
            (None, Some(_)) => GONE.to_owned(),
            (Some(text), _) => text,
        };
        let digest = digest(&text);
        if told.as_ref() == Some(&digest) {
            return Ok(None);
        }
        // The first words of a session need not say what they supersede.
        let text =
            if told.is_some() && text != GONE { format!("{CHANGED}\n\n{text}") } else { text };
        self.message(&gathered, &text, &digest)
            .map(Some)
            .map_err(|error| Failure::new("instructions", error.to_string()))
    }

    /// The digest of what the model was given last and still sees.
    fn told(&self) -> Option<String> {
        let messages = self.live.messages();
        let own = |message: &&Message| message.source().plugin.as_deref() == Some(INSTRUCTIONS);
        let last = messages.iter().rev().find(own)?;
        last.source().facts.object().ok()?.read("digest")
    }

    fn message(&self, gathered: &Gathered, text: &str, digest: &str) -> anyhow::Result<Message> {
        let files = gathered.files.iter().map(|file| {
            let path = file.path.to_string_lossy();
            json!({ "path": path, "bytes": file.bytes, "used": file.text.len(), "digest": file.digest })
        });
        let source = json!({
            "kind": "plugin", "plugin": INSTRUCTIONS, "form": "instructions",
            "digest": digest, "files": files.collect::<Vec<_>>(),
        });
        let block = Json::of(&json!({ "type": "text", "text": text }))?;
        Ok(Message::user(&(self.ids)(), &Json::of(&source)?, &[block])?)
    }
}

const CHANGED: &str =
    "The instruction files have changed: what follows stands in place of all earlier ones.";

const GONE: &str = "There are no instruction files any more: earlier ones do not count.";

/// One line for each file that a message gives; none where it is not such a message.
pub(crate) fn summary(message: &Message) -> Option<Vec<String>> {
    let source = message.source();
    if source.plugin.as_deref() != Some(INSTRUCTIONS) {
        return None;
    }
    let files: Vec<serde_json::Value> = source.facts.object().ok()?.read("files")?;
    if files.is_empty() {
        return Some(vec!["no instruction files any more".to_owned()]);
    }
    let line = |file: &serde_json::Value| {
        let (used, bytes) = (file.get("used")?.as_u64()?, file.get("bytes")?.as_u64()?);
        let path = crate::visible::Line(file.get("path")?.as_str()?).to_string();
        Some(format!("{path} ({used} of {bytes} bytes)"))
    };
    files.iter().map(line).collect()
}
