//! One module per imported interface: what a guest can call, answered from the state of its store.

pub(crate) mod agents;
pub(crate) mod config;
pub(crate) mod invocations;
pub(crate) mod log;
pub(crate) mod messages;
pub(crate) mod pre_step;
pub(crate) mod query;
pub(crate) mod tools;

use crate::bindings::session::types as wit;
use crate::error::Failure;
use crate::message::{Block, Source};
use crate::state::State;

/// The interface has types only.
impl wit::Host for State {}

impl From<Failure> for wit::Failure {
    fn from(Failure { code, message, details }: Failure) -> wit::Failure {
        wit::Failure { code, message, details }
    }
}

impl From<wit::Failure> for Failure {
    fn from(wit::Failure { code, message, details }: wit::Failure) -> Failure {
        Failure { code, message, details }
    }
}

impl From<&Source> for wit::Source {
    fn from(source: &Source) -> wit::Source {
        match source {
            Source::User => wit::Source::User,
            Source::Plugin(id) => wit::Source::Plugin(id.clone()),
            Source::Checkpoint => wit::Source::Checkpoint,
            Source::Other(kind) => wit::Source::Other(kind.clone()),
        }
    }
}

impl From<&Block> for wit::Block {
    fn from(block: &Block) -> wit::Block {
        match block {
            Block::Text(text) => wit::Block::Text(text.as_ref().to_owned()),
            Block::Other(json) => wit::Block::Other(json.as_ref().to_owned()),
        }
    }
}

/// Bytes that a block brought over the boundary.
pub(crate) fn block_bytes(block: &wit::Block) -> usize {
    let (wit::Block::Text(text) | wit::Block::Other(text)) = block;
    text.len()
}

/// Bytes that a failure brought over the boundary.
pub(crate) fn failure_bytes(failure: &wit::Failure) -> usize {
    let details = failure.details.as_ref().map_or(0, String::len);
    failure.code.len() + failure.message.len() + details
}
