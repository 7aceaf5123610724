//! Messages as the embedder gives them, and what a chain of plugins made of them.

use std::sync::Arc;

/// One identified, frozen user-role message. Cheap to clone; a plugin reads its content only when it asks.
#[derive(Clone, Debug)]
pub struct Message(pub(crate) Arc<Parts>);

#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) id: String,
    pub(crate) source: Source,
    pub(crate) facts: Arc<str>,
    pub(crate) content: Vec<Block>,
}

impl Message {
    /// A message with its source twice: `source` is what plugins match on, `facts` is its whole JSON object as
    /// logged, `kind` included. Lone surrogates of a text are expected as U+FFFD.
    #[must_use]
    pub fn new(
        id: impl Into<String>,
        source: Source,
        facts: impl Into<Arc<str>>,
        content: Vec<Block>,
    ) -> Message {
        Message(Arc::new(Parts { id: id.into(), source, facts: facts.into(), content }))
    }

    /// Unique in its session.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// Who it speaks for.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.0.source
    }

    /// The source as logged, a JSON object.
    #[must_use]
    pub fn facts(&self) -> &str {
        &self.0.facts
    }

    /// Its blocks in order.
    #[must_use]
    pub fn content(&self) -> &[Block] {
        &self.0.content
    }
}

/// One piece of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// Plain text.
    Text(Arc<str>),
    /// Any other block as its JSON object.
    Other(Arc<str>),
}

impl Block {
    /// A text block.
    #[must_use]
    pub fn text(text: impl Into<Arc<str>>) -> Block {
        Block::Text(text.into())
    }

    /// Its text; none for a block that is not text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Block::Text(text) => Some(text),
            Block::Other(_) => None,
        }
    }
}

/// Who a message speaks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The person at the keyboard.
    User,
    /// A plugin, by its id.
    Plugin(String),
    /// The marker that compaction leaves on its checkpoint.
    Checkpoint,
    /// Any other kind, by name.
    Other(String),
}

/// What becomes of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Open no step.
    Reject(Rejection),
    /// Enter with exactly these messages, in this order.
    Enter(Vec<Entered>),
}

/// Why no step is opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rejection {
    /// Who rejected: a plugin's id, or whatever name the embedder gives to its own links.
    pub by: String,
    /// For the person.
    pub reason: Option<String>,
    /// A JSON object for programs.
    pub details: Option<String>,
}

/// A message that enters a step, by where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entered {
    /// A message of the batch, as it was.
    Batch {
        /// Its place in the batch, from zero.
        index: usize,
    },
    /// A message of the batch with other texts: same id, same source.
    Edited {
        /// Its place in the batch, from zero.
        index: usize,
        /// In order of blocks, each block at most once. Every other block stays byte for byte.
        edits: Vec<Edit>,
    },
    /// New context.
    Context(Context),
}

/// New text for one text block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The block's place in the message, from zero.
    pub block: usize,
    /// What it says now.
    pub text: Arc<str>,
    /// The plugin that changed it last.
    pub plugin: String,
}

/// A context message, with its provenance stamped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// Made by [`Services::new_message_id`](crate::Services::new_message_id).
    pub id: String,
    /// The plugin that added it.
    pub plugin: String,
    /// Its blocks in order.
    pub content: Vec<Block>,
    /// Its source in the log, a JSON object on one line.
    pub facts: Arc<str>,
}
