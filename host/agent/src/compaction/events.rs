//! The events that a compaction leaves in the log, each with exactly the members of the contract in their order.

use serde::Serialize;

use dsh_session::{Draft, Json, Message, SurfaceOp};

use super::span::Span;
use super::summary::Summary;
use crate::lifecycle::draft;
use crate::{LogError, ReplyBlock, Usage};

/// One compaction: the first members of all its events.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Bracket {
    /// Unique in the session.
    pub(super) compaction_id: String,
    /// The command that asked for it; none where it happens by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) source_command_id: Option<String>,
    /// The turn that it happens in; none between turns.
    #[serde(skip)]
    pub(super) turn: Option<u64>,
}

impl Bracket {
    pub(super) fn start(&self) -> Result<Draft, LogError> {
        #[derive(Serialize)]
        struct Data<'a> {
            #[serde(flatten)]
            bracket: &'a Bracket,
            turn: Option<u64>,
        }
        draft("compaction/start", &Data { bracket: self, turn: self.turn })
    }

    pub(super) fn summary(&self, summary: &Summary, span: &Span) -> Result<Draft, LogError> {
        #[derive(Serialize)]
        struct Range {
            start: u64,
            end: u64,
        }
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Data<'a> {
            #[serde(flatten)]
            bracket: &'a Bracket,
            summary: Vec<&'a ReplyBlock>,
            raw_output: &'a [ReplyBlock],
            llm_stream_call: bool,
            shadowed_range: Option<Range>,
            shadowed_seqs: &'a [u64],
            shadowed_token_count: u64,
            provider: &'a str,
            model: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            max_tokens: Option<u64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            usage: Option<Usage>,
        }
        let config = &summary.config;
        draft(
            "compaction/summary",
            &Data {
                bracket: self,
                summary: summary.texts().collect(),
                raw_output: &summary.blocks,
                llm_stream_call: true,
                shadowed_range: span.range().map(|(start, end)| Range { start, end }),
                shadowed_seqs: &span.seqs,
                shadowed_token_count: span.tokens,
                provider: &config.provider,
                model: &config.model,
                max_tokens: config.max_tokens,
                usage: summary.usage,
            },
        )
    }

    /// The message that stands for the span from here on.
    pub(super) fn checkpoint(&self, id: &str, summary: &Summary) -> Result<Message, LogError> {
        #[derive(Serialize)]
        struct Source<'a> {
            kind: &'static str,
            plugin: &'static str,
            #[serde(flatten)]
            bracket: &'a Bracket,
        }
        let source = Json::of(&Source { kind: "plugin", plugin: "compact", bracket: self })?;
        let mut content = vec![crate::tool::text_block(PREFACE)?];
        for text in summary.texts() {
            content.push(Json::of(text)?);
        }
        content.push(crate::tool::text_block(CLOSING)?);
        Ok(Message::user(id, &source, &content)?)
    }

    pub(super) fn end(&self, error: Option<&str>) -> Result<Draft, LogError> {
        #[derive(Serialize)]
        struct Data<'a> {
            #[serde(flatten)]
            bracket: &'a Bracket,
            turn: Option<u64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            error: Option<&'a str>,
        }
        draft("compaction/end", &Data { bracket: self, turn: self.turn, error })
    }
}

/// The event that puts `checkpoint` in the place of `span`; it cites what it was made from, and all that it shadows.
pub(super) fn replacement(checkpoint: &Message, made_from: [u64; 2], span: &Span) -> Option<Draft> {
    let (start, end) = span.range()?;
    let sources = made_from.into_iter().chain(span.seqs.iter().copied()).collect();
    let draft = Draft::node("user/message", checkpoint.json().clone(), Some(sources));
    Some(Draft { surface_op: Some(SurfaceOp::Replace { start, end }), ..draft })
}

/// What stands before a summary, for the model; its last line opens the tag that [`CLOSING`] ends.
const PREFACE: &str = "\
The beginning of this conversation was too long to keep. Below stands a summary of it, made automatically. \
Take what it says as known and go on from the messages that follow it; do not answer or repeat the summary itself.

<compacted-summary>";

const CLOSING: &str = "</compacted-summary>";

/// The events of a command that a person gave, around what it does.
pub(super) struct Command {
    id: String,
}

impl Command {
    pub(super) fn new(id: String) -> Self {
        Self { id }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// `args` is what the person typed after the command's name.
    pub(super) fn run(&self, args: &str) -> Result<Draft, LogError> {
        #[derive(Serialize)]
        struct Source {
            kind: &'static str,
        }
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Data<'a> {
            command_id: &'a str,
            name: &'static str,
            args: &'a str,
            source: Source,
        }
        let source = Source { kind: "user" };
        draft("command/run", &Data { command_id: &self.id, name: "compact", args, source })
    }

    /// `made` is the event that it led to, where it succeeded.
    pub(super) fn done(&self, text: &str, made: Option<u64>) -> Result<Draft, LogError> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Data<'a> {
            command_id: &'a str,
            kind: &'static str,
            text: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            source_event_seq: Option<u64>,
        }
        let kind = if made.is_some() { "success" } else { "error" };
        let (command_id, source_event_seq) = (&*self.id, made);
        draft("command/done", &Data { command_id, kind, text, source_event_seq })
    }
}
