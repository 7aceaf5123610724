//! Messages: identified, frozen, and kept as they were logged.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use serde::Serialize;
use thiserror::Error;

use crate::survey::Survey;
use crate::{Json, Object, Raw};

/// One message of a log, an inbox or a request.
///
/// It keeps its JSON as it is; id, role and source are read at once, blocks when somebody asks for them, so that a
/// long conversation is held once and not twice. Clones share everything.
#[derive(Clone)]
pub struct Message(Arc<Inner>);

struct Inner {
    json: Json,
    id: Box<str>,
    role: Role,
    source: Source,
    survey: Survey,
    blocks: OnceLock<Box<[Block]>>,
}

/// Who speaks, in the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A prompt, context, or a tool's result.
    User,
    /// The model.
    Assistant,
}

/// Who a message speaks for (contracts §1.3).
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// Such as `user`, `plugin`, `model`, `tool`, `session-reference`.
    pub kind: Arc<str>,
    /// The plugin's name, where the kind is `plugin`.
    pub plugin: Option<Arc<str>>,
    /// The whole object, `kind` included.
    pub facts: Json,
}

/// One piece of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// Plain text.
    Text(Arc<str>),
    /// The model's own thinking.
    Reasoning(Arc<str>),
    /// The model asks for a tool.
    ToolCall(ToolCall),
    /// What a tool gave.
    ToolResult(ToolResult),
    /// Anything else, such as an image.
    Other(Json),
}

/// A tool call as the model made it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// Links it to its result.
    pub id: Arc<str>,
    /// The tool.
    pub name: Arc<str>,
    /// JSON text, as the model wrote it; it may not parse.
    pub arguments: Arc<str>,
}

/// What a tool gave.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// The call that it answers.
    pub call: Arc<str>,
    /// What the model reads.
    pub content: Arc<[Block]>,
    /// Whether it tells of a failure.
    pub is_error: bool,
}

/// Why JSON is no message (contracts §1.3, shape rules).
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the message {0}")]
pub struct MessageError(pub(crate) &'static str);

impl Message {
    /// Reads a logged message.
    ///
    /// # Errors
    /// When it has no id, role, source kind or list of blocks.
    pub fn parse(json: Json) -> Result<Self, MessageError> {
        Self::read(json.clone(), Raw::from(&json))
    }

    /// The same, where `raw` is the message and may know where its parts stand.
    pub(crate) fn read(json: Json, raw: Raw<'_>) -> Result<Self, MessageError> {
        let message = raw.object().ok_or(MessageError("is not an object"))?;
        let id: Box<str> = message.str("id").ok_or(MessageError("has no id"))?.into();
        if id.is_empty() {
            return Err(MessageError("has an empty id"));
        }
        let role = match message.str("role").as_deref() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            _ => return Err(MessageError("has a role other than `user` and `assistant`")),
        };
        let source = Source::parse(&message, &json)?;
        let blocks = message.items("content").ok_or(MessageError("has no list of blocks"))?;
        let survey = Survey::of(blocks);
        let blocks = OnceLock::new();
        Ok(Self(Arc::new(Inner { json, id, role, source, survey, blocks })))
    }

    /// A message of the user role: `source` an object with a `kind`, `content` its blocks, each an object.
    ///
    /// # Errors
    /// When a part does not have its shape.
    pub fn user(id: &str, source: &Json, content: &[Json]) -> Result<Self, MessageError> {
        #[derive(Serialize)]
        struct Written<'a> {
            content: &'a [Json],
            source: &'a Json,
            role: &'static str,
            id: &'a str,
        }
        Self::written(&Written { content, source, role: "user", id })
    }

    /// A message of the assistant: `source` an object of kind `model`, `content` its blocks.
    ///
    /// # Errors
    /// When a part does not have its shape.
    pub fn assistant(id: &str, source: &Json, content: &[Json]) -> Result<Self, MessageError> {
        #[derive(Serialize)]
        struct Written<'a> {
            role: &'static str,
            content: &'a [Json],
            source: &'a Json,
            id: &'a str,
        }
        Self::written(&Written { role: "assistant", content, source, id })
    }

    fn written<T: Serialize>(written: &T) -> Result<Self, MessageError> {
        Self::parse(Json::of(written).map_err(|_| MessageError("cannot be written as JSON"))?)
    }

    /// The message as it is logged.
    pub fn json(&self) -> &Json {
        &self.0.json
    }

    /// Unique in its session; the same in inbox, log and request.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// Who speaks.
    pub fn role(&self) -> Role {
        self.0.role
    }

    /// Who it speaks for.
    pub fn source(&self) -> &Source {
        &self.0.source
    }

    /// Its pieces in order; the message keeps what was read.
    pub fn blocks(&self) -> &[Block] {
        self.0.blocks.get_or_init(|| self.read_blocks().into())
    }

    /// Whether it has no blocks.
    pub fn is_empty(&self) -> bool {
        self.0.survey.blocks == 0
    }

    /// The ids of the calls that the model makes in it.
    pub(crate) fn calls(&self) -> &[Arc<str>] {
        &self.0.survey.calls
    }

    /// The call that its only block is the result of.
    pub(crate) fn answers(&self) -> Option<&str> {
        self.0.survey.answers.as_deref()
    }

    fn read_blocks(&self) -> Vec<Block> {
        self.raw_blocks().map(Block::read).collect()
    }

    /// Its text blocks joined by newlines; an empty block still adds its newline.
    pub fn text(&self) -> String {
        let texts: Vec<_> = self.raw_blocks().filter_map(text_of).collect();
        texts.join("\n")
    }

    /// How long [`text`](Self::text) is, in UTF-8 bytes.
    pub fn text_bytes(&self) -> usize {
        self.0.survey.text_bytes
    }

    /// The blocks where they stand.
    fn raw_blocks(&self) -> impl Iterator<Item = Raw<'_>> {
        let message = self.0.json.object().ok();
        message.and_then(|message| message.items("content")).into_iter().flatten()
    }

    /// The same message with the texts of some blocks changed; everything else stays byte for byte.
    ///
    /// # Errors
    /// When an index is no text block.
    pub fn with_texts(&self, edits: &[(usize, &str)]) -> Result<Self, MessageError> {
        let unwritable = |_| MessageError("cannot be written as JSON");
        let message = self.0.json.object().map_err(unwritable)?;
        let mut content = message.list("content").unwrap_or_default();
        for (index, text) in edits {
            let (Some(block), Some(Block::Text(_))) =
                (content.get_mut(*index), self.blocks().get(*index))
            else {
                return Err(MessageError("has no text block at that index"));
            };
            let text = Json::of(text).map_err(unwritable)?;
            let changed = block.object().map_err(unwritable)?.with("text", &text);
            *block = changed;
        }
        Self::parse(message.with("content", &Json::of(&content).map_err(unwritable)?))
    }
}

/// The text of a logged block, where it is a text block.
fn text_of(raw: Raw<'_>) -> Option<Cow<'_, str>> {
    let block = raw.object()?;
    block.str("text").filter(|_| block.str("type").as_deref() == Some("text"))
}

impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        self.0.json == other.0.json
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.json.fmt(f)
    }
}

impl Source {
    /// Whether the message is the person's own: a prompt or steering.
    pub fn is_user(&self) -> bool {
        &*self.kind == "user"
    }

    /// Whether the message is the checkpoint of a compaction (contracts §3).
    pub fn is_checkpoint(&self) -> bool {
        &*self.kind == "plugin" && self.plugin.as_deref() == Some("compact")
    }

    /// The key under which a plugin's message is in its session once; none where it has none, or is no plugin's.
    pub fn key(&self) -> Option<Arc<str>> {
        let keyed = &*self.kind == "plugin" && self.plugin.is_some();
        self.facts.object().ok().filter(|_| keyed)?.text("key")
    }

    /// The source of a message whose text is `json`.
    fn parse(message: &Object<'_>, json: &Json) -> Result<Self, MessageError> {
        let facts = message.get("source").ok_or(MessageError("has no source"))?;
        let members = facts.object().ok_or(MessageError("has a source that is not an object"))?;
        let kind: Arc<str> =
            members.text("kind").ok_or(MessageError("has a source without a kind"))?;
        if kind.is_empty() {
            return Err(MessageError("has a source with an empty kind"));
        }
        let plugin = members.text("plugin");
        Ok(Self { kind, plugin, facts: json.part(facts) })
    }
}

impl Block {
    /// Reads a logged block; one that has not the shape of its type is [`Block::Other`].
    pub fn parse(json: Json) -> Self {
        Self::read(Raw::from(&json))
    }

    fn read(raw: Raw<'_>) -> Self {
        let block = raw.object();
        let result =
            block.as_ref().filter(|block| block.str("type").as_deref() == Some("tool-result"));
        let known = match result {
            Some(block) => Self::read_result(block),
            None => block.and_then(|block| Self::read_simple(&block)),
        };
        known.unwrap_or_else(|| Self::Other(raw.into()))
    }

    fn read_simple(block: &Object<'_>) -> Option<Self> {
        Some(match &*block.str("type")? {
            "text" => Self::Text(block.text("text")?),
            "reasoning" => Self::Reasoning(block.text("text")?),
            "tool-call" => Self::ToolCall(ToolCall {
                id: block.text("id")?,
                name: block.text("name")?,
                arguments: block.text("arguments")?,
            }),
            _ => return None,
        })
    }

    /// Results do not nest: one within another is no block that anybody writes, and stays as it is.
    fn read_result(block: &Object<'_>) -> Option<Self> {
        let content = block.items("content")?.map(|raw| {
            let known = raw.object().and_then(|block| Self::read_simple(&block));
            known.unwrap_or_else(|| Self::Other(raw.into()))
        });
        Some(Self::ToolResult(ToolResult {
            call: block.text("toolCallId")?,
            content: content.collect(),
            is_error: block.read("isError").unwrap_or(false),
        }))
    }

    /// The text, where it is a text block.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}
