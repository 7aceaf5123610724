//! A reply, and the chunks that it streams as.

use dsh_agent::{BlockType, Chunk, Finish, ReplyBlock, Request, Usage};
use dsh_session::Message;

/// Characters of a delta.
const PIECE: usize = 8;

/// Bytes that count as one token; a rough measure, since no tokenizer is at hand.
const BYTES_OF_A_TOKEN: usize = 4;

/// The chunks of a reply with these blocks: each opens and grows, then all are ended, as the real adapter does it.
///
/// One that `finish` does not allow to be whole breaks off instead.
pub(crate) fn chunks(
    blocks: &[ReplyBlock],
    finish: Option<Finish>,
    request: &Request,
) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    for (index, block) in (0..).zip(blocks) {
        grow(index, block, &mut chunks);
    }
    let Some(finish) = finish else {
        return chunks;
    };
    if !matches!(finish, Finish::Error { .. } | Finish::Aborted { .. }) {
        let ends = (0..).zip(blocks);
        chunks.extend(ends.map(|(index, block)| Chunk::BlockEnd { index, block: block.clone() }));
        chunks.push(Chunk::Usage { usage: usage(blocks, request) });
    }
    chunks.push(Chunk::Finish { reason: finish, replay_state: None });
    chunks
}

/// How a whole reply with these blocks finishes.
pub(crate) fn natural_finish(blocks: &[ReplyBlock]) -> Finish {
    let calls = blocks.iter().any(|block| matches!(block, ReplyBlock::ToolCall { .. }));
    if calls { Finish::ToolCalls } else { Finish::Stop }
}

fn grow(index: u64, block: &ReplyBlock, chunks: &mut Vec<Chunk>) {
    match block {
        ReplyBlock::Text { text } => {
            chunks.push(Chunk::BlockStart { index, block_type: BlockType::Text });
            chunks.extend(pieces(text).map(|text| Chunk::TextDelta { index, text }));
        }
        ReplyBlock::Reasoning { text } => {
            chunks.push(Chunk::BlockStart { index, block_type: BlockType::Reasoning });
            chunks.extend(pieces(text).map(|text| Chunk::ReasoningDelta { index, text }));
        }
        ReplyBlock::ToolCall { id, name, arguments } => {
            chunks.push(Chunk::BlockStart { index, block_type: BlockType::ToolCall });
            let pieces = std::iter::once(String::new()).chain(pieces(arguments));
            chunks.extend(pieces.map(|arguments_delta| {
                let (id, name) = (id.clone(), Some(name.clone()));
                Chunk::ToolCallDelta { index, id, name, arguments_delta }
            }));
        }
    }
}

fn pieces(text: &str) -> impl Iterator<Item = String> + '_ {
    let mut chars = text.chars().peekable();
    std::iter::from_fn(move || {
        chars.peek()?;
        Some(chars.by_ref().take(PIECE).collect())
    })
}

fn usage(blocks: &[ReplyBlock], request: &Request) -> Usage {
    let bytes = |block: &ReplyBlock| match block {
        ReplyBlock::Text { text } | ReplyBlock::Reasoning { text } => text.len(),
        ReplyBlock::ToolCall { arguments, .. } => arguments.len(),
    };
    let asked = request.messages.iter().map(Message::json).map(|json| json.as_str().len()).sum();
    Usage {
        input_tokens: tokens(asked),
        output_tokens: tokens(blocks.iter().map(bytes).sum()),
        cache_read_tokens: Some(0),
        ..Usage::default()
    }
}

fn tokens(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(BYTES_OF_A_TOKEN)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_never_cut_a_character() {
        let cut: Vec<String> = pieces("äöüäöüäöü").collect();
        assert_eq!(cut, ["äöüäöüäö", "ü"]);
        assert_eq!(pieces("").count(), 0);
    }

    #[test]
    fn tokens_are_rounded_up() {
        assert_eq!((tokens(0), tokens(1), tokens(8)), (0, 1, 2));
    }
}
