//! Puts a reply together from its chunks.

use std::collections::BTreeMap;

use crate::{BlockType, Chunk, Finish, ReplyBlock, Usage};

/// A reply as far as it has arrived (contracts §6.2).
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    /// By index, which is the order that the message has them in.
    blocks: BTreeMap<u64, ReplyBlock>,
    usage: Option<Usage>,
    finish: Option<Finish>,
    replay_state: Option<serde_json::Value>,
}

/// A reply that is over.
#[derive(Debug, PartialEq)]
pub(crate) struct Reply {
    pub(crate) blocks: Vec<ReplyBlock>,
    pub(crate) usage: Option<Usage>,
    pub(crate) finish: Finish,
    pub(crate) replay_state: Option<serde_json::Value>,
}

impl Assembler {
    /// Takes the next chunk.
    pub(crate) fn push(&mut self, chunk: &Chunk) {
        match chunk {
            Chunk::BlockStart { index, block_type } => {
                self.blocks.entry(*index).or_insert_with(|| empty(*block_type));
            }
            Chunk::TextDelta { index, text } => {
                if let ReplyBlock::Text { text: so_far } = self.block(*index, BlockType::Text) {
                    so_far.push_str(text);
                }
            }
            Chunk::ReasoningDelta { index, text } => {
                let block = self.block(*index, BlockType::Reasoning);
                if let ReplyBlock::Reasoning { text: so_far } = block {
                    so_far.push_str(text);
                }
            }
            Chunk::ToolCallDelta { index, id, name, arguments_delta } => {
                let block = self.block(*index, BlockType::ToolCall);
                if let ReplyBlock::ToolCall { id: call, name: tool, arguments } = block {
                    call.clone_from(id);
                    if let Some(name) = name {
                        tool.clone_from(name);
                    }
                    arguments.push_str(arguments_delta);
                }
            }
            Chunk::BlockEnd { index, block } => {
                self.blocks.insert(*index, block.clone());
            }
            Chunk::Usage { usage } => self.usage = Some(*usage),
            Chunk::Finish { reason, replay_state } => {
                self.finish = Some(reason.clone());
                self.replay_state.clone_from(replay_state);
            }
        }
    }

    /// The whole reply; a stream that ended without a finish counts as a stop.
    ///
    /// One that ran out of room loses its tool calls, whose arguments may be cut, and with them the replay state that
    /// was made for all of its blocks.
    pub(crate) fn finish(self) -> Reply {
        let Self { blocks, usage, finish, mut replay_state } = self;
        let finish = finish.unwrap_or(Finish::Stop);
        let mut blocks: Vec<ReplyBlock> = blocks.into_values().collect();
        if finish == Finish::MaxTokens {
            let before = blocks.len();
            blocks.retain(|block| !matches!(block, ReplyBlock::ToolCall { .. }));
            if blocks.len() < before {
                replay_state = None;
            }
        }
        Reply { blocks, usage, finish, replay_state }
    }

    /// What stays of a reply that was cut off: its text and thinking; none where nothing of it says anything.
    pub(crate) fn interrupt(self) -> Option<(Vec<ReplyBlock>, Option<Usage>)> {
        let says_something = |block: &ReplyBlock| match block {
            ReplyBlock::Text { text } | ReplyBlock::Reasoning { text } => !text.trim().is_empty(),
            ReplyBlock::ToolCall { .. } => false,
        };
        let blocks: Vec<ReplyBlock> = self.blocks.into_values().filter(says_something).collect();
        (!blocks.is_empty()).then_some((blocks, self.usage))
    }

    /// The block at `index`, opened where its start was left out.
    fn block(&mut self, index: u64, block_type: BlockType) -> &mut ReplyBlock {
        self.blocks.entry(index).or_insert_with(|| empty(block_type))
    }
}

fn empty(block_type: BlockType) -> ReplyBlock {
    match block_type {
        BlockType::Text => ReplyBlock::Text { text: String::new() },
        BlockType::Reasoning => ReplyBlock::Reasoning { text: String::new() },
        BlockType::ToolCall => ReplyBlock::ToolCall {
            id: String::new(),
            name: String::new(),
            arguments: String::new(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assembled(chunks: &[Chunk]) -> Assembler {
        let mut assembler = Assembler::default();
        chunks.iter().for_each(|chunk| assembler.push(chunk));
        assembler
    }

    fn text(index: u64, text: &str) -> Chunk {
        Chunk::TextDelta { index, text: text.into() }
    }

    fn thought(index: u64, text: &str) -> Chunk {
        Chunk::ReasoningDelta { index, text: text.into() }
    }

    fn call(index: u64, name: Option<&str>, piece: &str) -> Chunk {
        Chunk::ToolCallDelta {
            index,
            id: "c".into(),
            name: name.map(Into::into),
            arguments_delta: piece.into(),
        }
    }

    fn finished(reason: Finish) -> Chunk {
        Chunk::Finish { reason, replay_state: Some(1.into()) }
    }

    #[test]
    fn blocks_come_in_the_order_of_their_index() {
        let reply = assembled(&[text(1, "b"), thought(0, "a"), text(1, "c")]).finish();
        let thought = ReplyBlock::Reasoning { text: "a".into() };
        assert_eq!(reply.blocks, [thought, ReplyBlock::Text { text: "bc".into() }]);
        assert_eq!(reply.finish, Finish::Stop);
    }

    #[test]
    fn the_end_of_a_block_has_the_last_word() {
        let whole = ReplyBlock::Text { text: "whole".into() };
        let end = Chunk::BlockEnd { index: 0, block: whole.clone() };
        assert_eq!(assembled(&[text(0, "whol"), end]).finish().blocks, [whole]);
    }

    #[test]
    fn a_reply_without_room_loses_its_calls_and_their_state() {
        let chunks = [text(0, "a"), call(1, Some("bash"), "{"), finished(Finish::MaxTokens)];
        let reply = assembled(&chunks).finish();
        assert_eq!(reply.blocks, [ReplyBlock::Text { text: "a".into() }]);
        assert_eq!(reply.replay_state, None);
        let reply = assembled(&[text(0, "a"), finished(Finish::MaxTokens)]).finish();
        assert!(reply.replay_state.is_some());
    }

    #[test]
    fn a_call_keeps_the_name_of_its_first_piece() {
        let reply = assembled(&[call(0, Some("bash"), "{"), call(0, None, "}")]).finish();
        let whole =
            ReplyBlock::ToolCall { id: "c".into(), name: "bash".into(), arguments: "{}".into() };
        assert_eq!(reply.blocks, [whole]);
    }

    #[test]
    fn an_interrupted_reply_keeps_what_was_said_and_thought() {
        let chunks = [thought(0, "hm"), text(1, "so"), text(2, " \n"), call(3, Some("bash"), "{")];
        let (blocks, usage) = assembled(&chunks).interrupt().unwrap();
        let thought = ReplyBlock::Reasoning { text: "hm".into() };
        assert_eq!(blocks, [thought, ReplyBlock::Text { text: "so".into() }]);
        assert_eq!(usage, None);
    }

    #[test]
    fn an_interrupted_reply_that_says_nothing_leaves_nothing() {
        assert_eq!(assembled(&[text(0, "\n"), call(1, Some("bash"), "{")]).interrupt(), None);
    }
}
