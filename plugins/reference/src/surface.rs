//! What a snapshot reads of another session, and how the reading is bounded.

use crate::id::SessionId;

/// Most nodes in one page.
const PAGE: u32 = 2_048;

/// Most bytes of text read at once; a longer text is read in parts of it.
pub const PART: u32 = 128 * 1024;

/// Who a node speaks for, as far as a snapshot cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// The person.
    User,
    /// The compaction that summed up what came before. It reads as the user's.
    Checkpoint,
    /// The model.
    Assistant,
    /// Tools and plugins, whose nodes a snapshot leaves out: a snapshot that
    /// the session itself had cited is not passed on.
    Other,
}

/// One node of a surface, without its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// Who it speaks for.
    pub speaker: Speaker,
    /// UTF-8 bytes of its text.
    pub bytes: u64,
}

/// One observation of a session's surface, which never changes.
pub trait Surface {
    /// The session's id, from its header.
    fn session(&self) -> SessionId;
    /// The session's absolute working directory; none where it has none.
    fn cwd(&self) -> Option<String>;
    /// The newest event seen by the observation; none in an empty log.
    fn captured_through(&self) -> Option<u64>;
    /// How many nodes it has.
    fn length(&self) -> u32;
    /// At most `limit` nodes from `start`.
    fn nodes(&self, start: u32, limit: u32) -> Vec<Node>;
    /// The texts of the nodes at `indexes`, in the order asked.
    fn texts(&self, indexes: &[u32]) -> Vec<String>;
    /// At most `limit` bytes of one node's text from byte `start`, both ends
    /// moved inward to characters.
    fn text_part(&self, index: u32, start: u64, limit: u32) -> String;
}

/// One message of the conversation that a snapshot shows: a node that speaks
/// for the user, a checkpoint or the model, and has text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// The node's place in the surface.
    pub index: u32,
    /// Who it speaks for; never [`Speaker::Other`].
    pub speaker: Speaker,
    /// UTF-8 bytes of its text; never 0.
    pub bytes: u64,
}

impl Message {
    fn of(index: u32, node: Node) -> Option<Self> {
        let shown = node.speaker != Speaker::Other && node.bytes > 0;
        shown.then_some(Self { index, speaker: node.speaker, bytes: node.bytes })
    }
}

/// The messages of a surface, oldest first, read page by page.
pub fn oldest_first(surface: &impl Surface) -> impl Iterator<Item = Message> {
    (0..surface.length()).step_by(PAGE as usize).flat_map(move |start| page(surface, start))
}

/// The messages of a surface, newest first, read page by page.
pub fn newest_first(surface: &impl Surface) -> impl Iterator<Item = Message> {
    let starts = (0..surface.length()).step_by(PAGE as usize).rev();
    starts.flat_map(move |start| page(surface, start).rev())
}

/// The messages of the page that begins at `start`.
fn page(surface: &impl Surface, start: u32) -> impl DoubleEndedIterator<Item = Message> {
    let indexes = start..start.saturating_add(PAGE);
    let nodes: Vec<_> = indexes.zip(surface.nodes(start, PAGE)).collect();
    nodes.into_iter().filter_map(|(index, node)| Message::of(index, node))
}

/// The texts of messages, in the order asked, in reads of at most [`PART`]
/// bytes or one message.
pub fn read_texts(surface: &impl Surface, messages: &[Message]) -> Vec<String> {
    let mut texts = Vec::with_capacity(messages.len());
    for batch in batches(messages) {
        match batch {
            [long] if long.bytes > PART.into() => {
                let mut text = String::new();
                for_each_part(surface, *long, 0, |part| {
                    text.push_str(part);
                    true
                });
                texts.push(text);
            }
            batch => {
                let indexes: Vec<_> = batch.iter().map(|message| message.index).collect();
                texts.extend(surface.texts(&indexes));
            }
        }
    }
    texts
}

/// Reads one message's text from byte `start`, part by part, until `see`
/// returns false. Returns how far it came.
pub fn for_each_part(
    surface: &impl Surface,
    message: Message,
    start: u64,
    mut see: impl FnMut(&str) -> bool,
) -> u64 {
    let mut at = start;
    while at < message.bytes {
        let part = surface.text_part(message.index, at, PART);
        // A text shorter than its node said would be read for ever.
        if part.is_empty() {
            return message.bytes;
        }
        at += part.len() as u64;
        if !see(&part) {
            break;
        }
    }
    at
}

/// Runs of messages of at most [`PART`] bytes of text each; a longer message is a run of its own.
pub fn batches(messages: &[Message]) -> impl Iterator<Item = &[Message]> {
    let mut rest = messages;
    std::iter::from_fn(move || {
        let mut bytes = 0_u64;
        let fits = |message: &&Message| {
            bytes = bytes.saturating_add(message.bytes);
            bytes <= PART.into()
        };
        let count = rest.iter().take_while(fits).count().max(1);
        let (batch, after) = rest.split_at_checked(count)?;
        rest = after;
        Some(batch)
    })
}
