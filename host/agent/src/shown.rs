//! What a person sees of a session: its events, without what is bookkeeping.

use serde::Deserialize;

use dsh_session::{Event, Json, Message, ToolCall};

use crate::{Chunk, REJECTED, Retry, TurnEnd};

/// One thing to show, as it happens.
///
/// Texts come from the log: they may hold control characters, and a shower escapes them.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    /// A turn began; they count from 1.
    TurnStarted(u64),
    /// A prompt, steering, context or the checkpoint of a compaction joined history; its source says which.
    Message(Message),
    /// The model says more.
    Text(String),
    /// The model thinks more.
    Reasoning(String),
    /// The model failed, and is asked again after a while.
    Retrying(Retry),
    /// A tool starts.
    ToolCall(ToolCall),
    /// A tool is done: one block of the message tells what it gave.
    ToolResult(Message),
    /// The session is called otherwise.
    Title(String),
    /// A plugin rejected a step; the end of the turn follows.
    Rejected {
        /// For people.
        reason: Option<String>,
        /// Who rejected it.
        plugin: Option<String>,
    },
    /// The model is asked for a summary of what came before.
    Compacting,
    /// The summary is there; the checkpoint that holds it follows.
    Compacted {
        /// How many nodes of the surface give way.
        nodes: usize,
        /// How many tokens they had, estimated.
        tokens: u64,
    },
    /// A compaction failed, for this reason, and the surface is as it was.
    CompactionFailed(String),
    /// A turn is over.
    TurnEnded(u64, TurnEnd),
}

impl Shown {
    /// What `event` shows; none where it is bookkeeping, or has not the shape of its type.
    pub fn of(event: &Event) -> Option<Self> {
        #[derive(Deserialize)]
        struct ChunkData {
            chunk: Chunk,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct CallData {
            call_id: String,
            name: String,
            arguments: String,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct SummaryData {
            shadowed_seqs: Vec<u64>,
            shadowed_token_count: u64,
        }
        let data = &event.data;
        Some(match &*event.kind {
            "turn/start" => Self::TurnStarted(turn(data)?),
            "turn/end" => {
                let reason: Json = data.object().ok()?.read("reason")?;
                Self::TurnEnded(turn(data)?, TurnEnd::parse(&reason)?)
            }
            "user/message" | "context/message" => Self::Message(Message::parse(data.clone()).ok()?),
            "assistant/chunk" => match data.read::<ChunkData>().ok()?.chunk {
                Chunk::TextDelta { text, .. } => Self::Text(text),
                Chunk::ReasoningDelta { text, .. } => Self::Reasoning(text),
                _ => return None,
            },
            "llm/retry" => Self::Retrying(data.read().ok()?),
            "tool/call" => {
                let CallData { call_id, name, arguments } = data.read().ok()?;
                let (id, name) = (call_id.into(), name.into());
                Self::ToolCall(ToolCall { id, name, arguments: arguments.into() })
            }
            "tool/result" => {
                let message: Json = data.object().ok()?.read("message")?;
                Self::ToolResult(Message::parse(message).ok()?)
            }
            REJECTED => {
                let data = data.object().ok()?;
                let text = |key| data.text(key).map(|text| text.as_ref().to_owned());
                Self::Rejected { reason: text("reason"), plugin: text("plugin") }
            }
            "compaction/start" => Self::Compacting,
            "compaction/summary" => {
                let SummaryData { shadowed_seqs, shadowed_token_count } = data.read().ok()?;
                Self::Compacted { nodes: shadowed_seqs.len(), tokens: shadowed_token_count }
            }
            "compaction/end" => {
                Self::CompactionFailed(data.object().ok()?.text("error")?.as_ref().to_owned())
            }
            "session/title" => Self::Title(data.object().ok()?.text("title")?.as_ref().to_owned()),
            _ => return None,
        })
    }
}

fn turn(data: &Json) -> Option<u64> {
    data.object().ok()?.read("turn")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a recorded event of this type with these data shows.
    fn shown(kind: &str, data: &str) -> Option<Shown> {
        let draft = dsh_session::Draft::new(kind, Json::parse(data).unwrap());
        Shown::of(&draft.at(0, 0))
    }

    #[test]
    fn deltas_show_as_they_come() {
        let delta =
            r#"{"turn":1,"step":1,"chunk":{"type":"text-delta","index":1,"text":"a\ud83d"}}"#;
        assert_eq!(shown("assistant/chunk", delta), Some(Shown::Text("a\u{fffd}".into())));
        let end = r#"{"turn":1,"step":1,"chunk":{"type":"block-end","index":1,"block":{"type":"text","text":"a"}}}"#;
        assert_eq!(shown("assistant/chunk", end), None);
    }

    #[test]
    fn the_end_of_a_turn_shows_why() {
        let data = r#"{"turn":7,"reason":{"kind":"blocked"}}"#;
        let blocked = TurnEnd::Blocked { reason: None, plugin: None, details: None };
        assert_eq!(shown("turn/end", data), Some(Shown::TurnEnded(7, blocked)));
    }

    #[test]
    fn a_rejection_shows_its_reason() {
        let data = r#"{"turn":1,"step":1,"reason":"not today","plugin":"guard"}"#;
        let (reason, plugin) = (Some("not today".into()), Some("guard".into()));
        assert_eq!(shown(REJECTED, data), Some(Shown::Rejected { reason, plugin }));
    }

    #[test]
    fn a_compaction_shows_what_became_of_it() {
        let start = r#"{"compactionId":"c","turn":null}"#;
        assert_eq!(shown("compaction/start", start), Some(Shown::Compacting));
        let summary = r#"{"compactionId":"c","summary":[],"shadowedRange":{"start":7,"end":3},"shadowedSeqs":[7,3],"shadowedTokenCount":605,"provider":"p","model":"m"}"#;
        let compacted = Shown::Compacted { nodes: 2, tokens: 605 };
        assert_eq!(shown("compaction/summary", summary), Some(compacted));
        assert_eq!(shown("compaction/end", start), None);
        let failed = r#"{"compactionId":"c","turn":null,"error":"no summary today"}"#;
        let reason = "no summary today".to_owned();
        assert_eq!(shown("compaction/end", failed), Some(Shown::CompactionFailed(reason)));
    }

    #[test]
    fn bookkeeping_does_not_show() {
        assert_eq!(shown("step/start", r#"{"turn":1,"step":1}"#), None);
        assert_eq!(shown("turn/start", r#"{"turn":"one"}"#), None);
    }
}
