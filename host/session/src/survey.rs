//! What a fold asks of every message, seen in one look at its blocks.

use std::sync::Arc;

use crate::{Object, Raw};

/// What the blocks of a message come to, without what they hold.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// How many there are.
    pub(crate) blocks: usize,
    /// UTF-8 bytes of the texts of the text blocks, joined by newlines.
    pub(crate) text_bytes: usize,
    /// The ids of the calls, in order.
    pub(crate) calls: Box<[Arc<str>]>,
    /// The call that the only block is the result of.
    pub(crate) answers: Option<Box<str>>,
}

impl Survey {
    /// Looks at each block once. Blocks that have not the shape of their type count as blocks alone.
    pub(crate) fn of<'a>(blocks: impl Iterator<Item = Raw<'a>>) -> Self {
        let mut survey = Self::default();
        let mut texts = 0;
        let mut calls = Vec::new();
        for raw in blocks {
            survey.blocks += 1;
            survey.answers = None;
            let Some(block) = raw.object() else { continue };
            match block.str("type").as_deref() {
                Some("text") => {
                    if let Some(bytes) = block.get("text").and_then(Raw::text_bytes) {
                        survey.text_bytes += bytes;
                        texts += 1;
                    }
                }
                Some("tool-call") => calls.extend(call(&block)),
                Some("tool-result") if survey.blocks == 1 => survey.answers = answered(&block),
                _ => {}
            }
        }
        survey.text_bytes += usize::saturating_sub(texts, 1);
        survey.calls = calls.into();
        survey
    }
}

/// The id of a call.
fn call(block: &Object<'_>) -> Option<Arc<str>> {
    let is_text = |name| block.get(name).is_some_and(Raw::is_string);
    block.text("id").filter(|_| is_text("name") && is_text("arguments"))
}

/// The call that a result answers.
fn answered(block: &Object<'_>) -> Option<Box<str>> {
    block.get("content").filter(|content| content.get().starts_with('['))?;
    Some(block.str("toolCallId")?.into())
}

#[cfg(test)]
mod tests {
    use crate::{Block, Json, Message};

    /// The survey says of these blocks what reading them says.
    #[track_caller]
    fn check(blocks: &[&str]) {
        let content: Vec<Json> = blocks.iter().map(|block| Json::parse(block).unwrap()).collect();
        let source = Json::parse(r#"{"kind":"user"}"#).unwrap();
        let message = Message::user("m", &source, &content).unwrap();
        let calls = message.blocks().iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call.id.clone()),
            _ => None,
        });
        assert_eq!(message.calls(), calls.collect::<Vec<_>>());
        let answers = match message.blocks() {
            [Block::ToolResult(result)] => Some(&*result.call),
            _ => None,
        };
        assert_eq!(message.answers(), answers);
        assert_eq!(message.text_bytes(), message.text().len());
        assert_eq!(message.is_empty(), blocks.is_empty());
    }

    const TEXT: &str = r#"{"type":"text","text":"a\n\ud83d\u00e9"}"#;
    const CALL: &str = r#"{"type":"tool-call","id":"c1","name":"t","arguments":"{}"}"#;
    const RESULT: &str = r#"{"type":"tool-result","toolCallId":"c1","content":[]}"#;

    #[test]
    fn it_agrees_with_what_the_blocks_read_as() {
        check(&[]);
        check(&[TEXT]);
        check(&[TEXT, r#"{"type":"text","text":""}"#, CALL, TEXT, CALL]);
        check(&[RESULT]);
        check(&[RESULT, RESULT]);
        check(&[TEXT, RESULT]);
    }

    #[test]
    fn a_block_of_another_shape_than_its_type_says_nothing() {
        check(&["3", r#"{"type":"text"}"#, r#"{"type":"text","text":1}"#, r#"{"text":"a"}"#]);
        check(&[r#"{"type":"tool-call","id":"c1","name":"t"}"#]);
        check(&[r#"{"type":"tool-call","id":1,"name":"t","arguments":""}"#]);
        check(&[r#"{"type":"tool-result","toolCallId":"c1"}"#]);
        check(&[r#"{"type":"tool-result","toolCallId":"c1","content":{}}"#]);
        check(&[r#"{"type":"tool-result","content":[]}"#]);
    }
}
