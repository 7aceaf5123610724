//! `dsh:agent/messages`: messages and the step as handles, and the only ways to make a message.

use wasmtime::component::Resource;

use super::block_bytes;
use crate::bindings::agent::messages as wit;
use crate::bindings::session::types::{
    Block as WitBlock, Failure as WitFailure, Source as WitSource,
};
use crate::chain::Step;
use crate::error::Failure;
use crate::grants::RESERVED_KINDS;
use crate::item::{Handle, Item};
use crate::json::{Object, object};
use crate::message::{Block, Context, Edit, Source};
use crate::state::State;

impl wit::Host for State {}

impl wit::HostMessage for State {
    fn id(&mut self, this: Resource<Handle>) -> wasmtime::Result<String> {
        self.host_call(0)?;
        Ok(self.table.get(&this)?.message.id().to_owned())
    }

    fn source(&mut self, this: Resource<Handle>) -> wasmtime::Result<WitSource> {
        self.host_call(0)?;
        Ok(self.table.get(&this)?.message.source().into())
    }

    fn facts(&mut self, this: Resource<Handle>) -> wasmtime::Result<String> {
        self.host_call(0)?;
        Ok(self.table.get(&this)?.message.facts().to_owned())
    }

    fn content(&mut self, this: Resource<Handle>) -> wasmtime::Result<Vec<WitBlock>> {
        self.host_call(0)?;
        let content = self.table.get(&this)?.message.content();
        let bytes = content.iter().map(|(Block::Text(text) | Block::Other(text))| text.len()).sum();
        self.input(bytes_of(bytes))?;
        Ok(content.iter().map(WitBlock::from).collect())
    }

    fn texts(&mut self, this: Resource<Handle>) -> wasmtime::Result<Vec<Option<String>>> {
        self.host_call(0)?;
        let texts = self.table.get(&this)?.message.content().iter().map(Block::as_text);
        self.input(bytes_of(texts.clone().flatten().map(str::len).sum()))?;
        Ok(texts.map(|text| text.map(str::to_owned)).collect())
    }

    fn with_texts(
        &mut self,
        this: Resource<Handle>,
        edits: Vec<wit::Edit>,
    ) -> wasmtime::Result<Result<Resource<Handle>, WitFailure>> {
        self.host_call(edits.iter().map(|edit| edit.text.len()).sum())?;
        let item = self.table.get(&this)?.clone();
        match self.edited(&item, edits) {
            Ok(item) => Ok(Ok(self.push(item)?)),
            Err(failure) => Ok(Err(failure.into())),
        }
    }

    fn context(
        &mut self,
        content: Vec<WitBlock>,
        facts: String,
    ) -> wasmtime::Result<Result<Resource<Handle>, WitFailure>> {
        self.host_call(content.iter().map(block_bytes).sum::<usize>() + facts.len())?;
        match self.own_context(content, &facts, None) {
            Ok(context) => Ok(Ok(self.push(Item::of_context(context))?)),
            Err(failure) => Ok(Err(failure.into())),
        }
    }

    fn drop(&mut self, this: Resource<Handle>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

impl wit::HostStep for State {
    fn current(&mut self) -> wasmtime::Result<Option<Resource<Step>>> {
        self.host_call(0)?;
        match self.link.as_ref().map(|link| link.step()) {
            Some(step) => Ok(Some(self.push(step)?)),
            None => Ok(None),
        }
    }

    fn session(&mut self, this: Resource<Step>) -> wasmtime::Result<String> {
        self.host_call(0)?;
        Ok(self.table.get(&this)?.session().to_owned())
    }

    fn cwd(&mut self, this: Resource<Step>) -> wasmtime::Result<Option<String>> {
        self.host_call(0)?;
        Ok(self.table.get(&this)?.cwd().map(str::to_owned))
    }

    fn turn(&mut self, this: Resource<Step>) -> wasmtime::Result<u64> {
        self.host_call(0)?;
        Ok(self.table.get(&this)?.turn())
    }

    fn index(&mut self, this: Resource<Step>) -> wasmtime::Result<u64> {
        self.host_call(0)?;
        Ok(self.table.get(&this)?.index())
    }

    fn drop(&mut self, this: Resource<Step>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

impl State {
    fn edited(&self, item: &Handle, edits: Vec<wit::Edit>) -> Result<Handle, Failure> {
        if *item.message.source() != Source::User {
            return Err(Failure::new("not-direct", "only a user message's texts can be changed"));
        }
        if edits.is_empty() {
            return Ok(item.clone());
        }
        if !self.capabilities.rewrite_user {
            let message = "to change a user's text takes the grant `rewrite-user`";
            return Err(Failure::new("not-granted", message));
        }
        let plugin = &self.asker.plugin;
        let edits = edits.into_iter().map(|wit::Edit { index, text }| Edit {
            block: index as usize,
            text: text.into(),
            plugin: plugin.clone(),
        });
        item.edited(edits.collect())
            .ok_or_else(|| Failure::new("no-such-block", "an edit's index is no text block's"))
    }

    /// A context message of this plugin, stamped; `key` goes into its facts.
    pub(crate) fn own_context(
        &self,
        content: Vec<WitBlock>,
        facts: &str,
        key: Option<&str>,
    ) -> Result<Context, Failure> {
        let invalid = |what: &str, reason: String| {
            Failure::new(
                "invalid-json",
                format!("{what} is not the object that it must be: {reason}"),
            )
        };
        let block = |block| match block {
            WitBlock::Text(text) => Ok(Block::Text(text.into())),
            WitBlock::Other(json) => match object(&json) {
                Ok(json) => Ok(Block::Other(json.into())),
                Err(reason) => Err(invalid("a block", reason)),
            },
        };
        let content = content.into_iter().map(block).collect::<Result<_, _>>()?;
        let facts = self.stamped(facts, key).map_err(|fault| match fault {
            Fault::Json(reason) => invalid("`facts`", reason),
            Fault::Kind(message) => Failure::new("not-granted", message),
        })?;
        let services = self.services.as_ref();
        let id = services.map(|lent| (lent.new_message_id)()).unwrap_or_default();
        let plugin = self.asker.plugin.clone();
        Ok(Context { id, plugin, content, facts: facts.into() })
    }

    /// The source of a context message of this plugin: never anybody else's.
    pub(crate) fn stamped(&self, facts: &str, key: Option<&str>) -> Result<String, Fault> {
        let mut facts = Object::parse(facts).map_err(Fault::Json)?;
        let Some(kind) = facts.string("kind") else {
            return Err(Fault::Json("it has no `kind`, or one that is no string".to_owned()));
        };
        if kind == "plugin" {
            let stamp = facts.set_string("plugin", &self.asker.plugin);
            stamp.map_err(|err| Fault::Json(err.to_string()))?;
        } else if RESERVED_KINDS.contains(&kind.as_str()) {
            return Err(Fault::Kind(format!("the kind {kind:?} speaks for somebody else")));
        } else if !self.capabilities.message_kinds.contains(&kind) {
            return Err(Fault::Kind(format!(
                "the kind {kind:?} has to be declared and granted as a message kind"
            )));
        }
        if let Some(key) = key {
            facts.set_string("key", key).map_err(|err| Fault::Json(err.to_string()))?;
        }
        facts.text().map_err(|err| Fault::Json(err.to_string()))
    }
}

/// Why facts cannot be a context message's.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error("{0}")]
    Json(String),
    #[error("{0}")]
    Kind(String),
}

fn bytes_of(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}
