//! The seam `references`: mentions as values, and snapshots of what they name.

use std::sync::Arc;

use crate::bindings::exports::references as wit;
use crate::bindings::session::types::Block as WitBlock;
use crate::capability::block_bytes;
use crate::error::{CallError, Cause, Refusal};
use crate::json::object;
use crate::message::Block;
use crate::plugin::Plugin;
use crate::services::Services;
use crate::state::State;

const PARSE: &str = "dsh:agent/references.parse";
const FORMAT: &str = "dsh:agent/references.format";
const PREPARE: &str = "dsh:agent/references.prepare";

/// A session that is referred to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Its id.
    pub session: String,
    /// What people read; none stands for the id.
    pub label: Option<String>,
}

/// Text with its mentions made readable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// What people read.
    pub text: String,
    /// What the mentions named, in order.
    pub references: Vec<Reference>,
}

/// Content with what it refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// As it went in.
    pub content: Vec<Block>,
    /// None where nothing was referenced.
    pub snapshot: Option<Snapshot>,
}

/// Content and source of a context message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Its blocks in order.
    pub content: Vec<Block>,
    /// Its source, a JSON object on one line, stamped as that of any context message of the plugin.
    pub facts: Arc<str>,
}

impl Plugin {
    /// Finds the mentions in one text.
    ///
    /// # Errors
    ///
    /// The plugin's own failure, or whatever else ended the call.
    pub async fn parse(&self, services: &Services, text: &str) -> Result<Parsed, CallError> {
        let (this, text) = (self.clone(), text.to_owned());
        let parsed = self
            .call(self.state(services, None), services, PARSE, move |store, instance| {
                Box::pin(async move {
                    let Some(seam) = &this.seams().references else {
                        return Ok(Err(Cause::NotExported));
                    };
                    let guest = seam.load(&mut *store, &instance)?;
                    let parsed = guest.call_parse(&mut *store, &text).await?;
                    let state = store.data_mut();
                    match parsed {
                        Ok(parsed) => {
                            let bytes = parsed.references.iter().map(bytes).sum::<usize>();
                            state.output(parsed.text.len() + bytes)?;
                            Ok(Ok(parsed))
                        }
                        Err(failure) => Ok(Err(Cause::Failed(state.failure(failure)?))),
                    }
                })
            })
            .await?;
        let wit::Parsed { text, references } = parsed;
        Ok(Parsed { text, references: references.into_iter().map(Reference::from).collect() })
    }

    /// The canonical mention of `reference`.
    ///
    /// # Errors
    ///
    /// Whatever ended the call; the plugin cannot fail by itself.
    pub async fn format(
        &self,
        services: &Services,
        reference: &Reference,
    ) -> Result<String, CallError> {
        let (this, reference) = (self.clone(), wit::Reference::from(reference));
        self.call(self.state(services, None), services, FORMAT, move |store, instance| {
            Box::pin(async move {
                let Some(seam) = &this.seams().references else {
                    return Ok(Err(Cause::NotExported));
                };
                let guest = seam.load(&mut *store, &instance)?;
                let mention = guest.call_format(&mut *store, &reference).await?;
                store.data_mut().output(mention.len())?;
                Ok(Ok(mention))
            })
        })
        .await
    }

    /// Reads what `references` name and makes one snapshot of it, for the session `target`.
    ///
    /// # Errors
    ///
    /// The plugin's own failure, or whatever else ended the call; there is no partial snapshot.
    pub async fn prepare(
        &self,
        services: &Services,
        target: &str,
        content: &[Block],
        references: &[Reference],
    ) -> Result<Prepared, CallError> {
        let session = target;
        let (this, target) = (self.clone(), target.to_owned());
        let content: Vec<WitBlock> = content.iter().map(WitBlock::from).collect();
        let references: Vec<wit::Reference> = references.iter().map(wit::Reference::from).collect();
        self.call(self.state(services, Some(session)), services, PREPARE, move |store, instance| {
            Box::pin(async move {
                let Some(seam) = &this.seams().references else {
                    return Ok(Err(Cause::NotExported));
                };
                let guest = seam.load(&mut *store, &instance)?;
                let call = guest.call_prepare(&mut *store, &target, &content, &references);
                let prepared = call.await?;
                let state = store.data_mut();
                match prepared {
                    Ok(prepared) => Ok(Ok(state.prepared(prepared)?)),
                    Err(failure) => Ok(Err(Cause::Failed(state.failure(failure)?))),
                }
            })
        })
        .await
    }
}

impl State {
    fn prepared(&mut self, prepared: wit::Prepared) -> wasmtime::Result<Prepared> {
        let content = self.blocks(prepared.content)?;
        let Some(wit::Snapshot { content: inner, facts }) = prepared.snapshot else {
            return Ok(Prepared { content, snapshot: None });
        };
        let inner = self.blocks(inner)?;
        self.output(facts.len())?;
        let facts = self
            .stamped(&facts, None)
            .map_err(|fault| Refusal::Facts { reason: fault.to_string() })?;
        Ok(Prepared { content, snapshot: Some(Snapshot { content: inner, facts: facts.into() }) })
    }

    fn blocks(&mut self, blocks: Vec<WitBlock>) -> wasmtime::Result<Vec<Block>> {
        self.output(blocks.iter().map(block_bytes).sum())?;
        let block = |block| match block {
            WitBlock::Text(text) => Ok(Block::Text(text.into())),
            WitBlock::Other(json) => match object(&json) {
                Ok(json) => Ok(Block::Other(json.into())),
                Err(reason) => Err(Refusal::Block { reason }.into()),
            },
        };
        blocks.into_iter().map(block).collect()
    }
}

fn bytes(reference: &wit::Reference) -> usize {
    let label = reference.label.as_ref().map_or(0, String::len);
    size_of::<wit::Reference>() + reference.session.len() + label
}

impl From<&Reference> for wit::Reference {
    fn from(reference: &Reference) -> wit::Reference {
        let Reference { session, label } = reference.clone();
        wit::Reference { session, label }
    }
}

impl From<wit::Reference> for Reference {
    fn from(reference: wit::Reference) -> Reference {
        let wit::Reference { session, label } = reference;
        Reference { session, label }
    }
}
