//! What of a conversation fits into a budget of JSON bytes.
//!
//! Oldest messages go first; checkpoints and the newest message stay. Where
//! these alone are too long, they are shortened.
//!
//! A message is measured before it is read: its text takes at least its own
//! bytes in JSON, so one that cannot fit is never copied in.

use crate::cut::Cut;
use crate::json::extra_bytes;
use crate::shrink::{Shrunk, shrink};
use crate::surface::{self, Message, Speaker, Surface};

/// What was kept of a conversation.
#[derive(Debug, PartialEq, Eq)]
pub struct Retained {
    /// The kept messages in surface order.
    pub conversation: Vec<Line>,
    /// How it compares to the whole.
    pub stats: Stats,
}

/// One kept message.
#[derive(Debug, PartialEq, Eq)]
pub struct Line {
    /// Who it speaks for.
    pub speaker: Speaker,
    /// Its text, perhaps shortened.
    pub text: String,
}

/// How what was kept compares to the whole conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Whether a compaction's summary is among the messages.
    pub compacted: bool,
    /// Messages in the whole.
    pub original_messages: u64,
    /// Messages kept, shortened ones included.
    pub retained_messages: u64,
    /// UTF-8 bytes of text left out, dropped messages and shortened ones together.
    pub omitted_bytes: u64,
}

impl Stats {
    /// Messages dropped.
    pub fn omitted_messages(&self) -> u64 {
        self.original_messages - self.retained_messages
    }

    /// Whether anything at all is missing.
    pub fn truncated(&self) -> bool {
        self.omitted_messages() > 0 || self.omitted_bytes > 0
    }
}

/// Keeps what fits into `budget` bytes of tag-safe JSON, of which `fixed` are
/// taken by what stands around the messages; none where nothing does.
pub fn retain(surface: &impl Surface, fixed: u64, budget: u64) -> Option<Retained> {
    let room = budget.checked_sub(fixed)?;
    let outline = Outline::of(surface, room)?;
    let Shrunk { cuts, mut taken } = shrink(surface, &outline.essential, room)?;
    let mut kept = outline.essential;
    if cuts.iter().all(Option::is_none) {
        let newer = newest_that_fit(surface, &kept, &mut taken, room);
        kept.extend(newer);
        kept.sort_unstable_by_key(|message| message.index);
    }
    let kept_bytes: u64 = kept.iter().map(|message| message.bytes).sum();
    let cut_bytes: u64 = cuts.iter().flatten().map(|cut| cut.omitted).sum();
    let stats = Stats {
        compacted: outline.compacted,
        original_messages: outline.messages,
        retained_messages: kept.len() as u64,
        omitted_bytes: outline.bytes - kept_bytes + cut_bytes,
    };
    Some(Retained { conversation: lines(surface, &kept, cuts), stats })
}

/// A conversation seen from afar.
struct Outline {
    /// How many messages it has.
    messages: u64,
    /// UTF-8 bytes of all their texts.
    bytes: u64,
    /// Whether one of them is a checkpoint.
    compacted: bool,
    /// What is never dropped: checkpoints, and the newest message.
    essential: Vec<Message>,
}

impl Outline {
    /// The outline; none where the checkpoints alone are too many for `room`, however short.
    fn of(surface: &impl Surface, room: u64) -> Option<Self> {
        let mut outline = Self { messages: 0, bytes: 0, compacted: false, essential: Vec::new() };
        let mut newest = None;
        let mut least = 0;
        for message in surface::oldest_first(surface) {
            outline.messages += 1;
            outline.bytes += message.bytes;
            newest = Some(message);
            if message.speaker == Speaker::Checkpoint {
                outline.compacted = true;
                outline.essential.push(message);
                least += frame_bytes(message.speaker);
                if least > room {
                    return None;
                }
            }
        }
        outline.essential.extend(newest.filter(|message| message.speaker != Speaker::Checkpoint));
        Some(outline)
    }
}

/// JSON bytes of a message with an empty text.
pub(crate) fn frame_bytes(speaker: Speaker) -> u64 {
    r#"{"role":"","text":""}"#.len() as u64 + role(speaker).len() as u64
}

/// The role that a speaker's message shows.
pub(crate) fn role(speaker: Speaker) -> &'static str {
    if speaker == Speaker::Assistant { "assistant" } else { "user" }
}

/// The newest messages that fit beside the essential ones, without a gap.
fn newest_that_fit(
    surface: &impl Surface,
    essential: &[Message],
    taken: &mut u64,
    room: u64,
) -> Vec<Message> {
    let kept = |message: &Message| {
        essential.binary_search_by_key(&message.index, |essential| essential.index).is_ok()
    };
    let mut older = surface::newest_first(surface).filter(|message| !kept(message)).peekable();
    let mut fitting = Vec::new();
    loop {
        // As many as fit if none of their characters needs an escape.
        let mut least = *taken;
        let mut batch = Vec::new();
        while let Some(message) = older.next_if(|message| {
            let bytes = least + 1 + frame_bytes(message.speaker) + message.bytes;
            bytes <= room && (batch.is_empty() || bytes - *taken <= surface::PART.into())
        }) {
            least += 1 + frame_bytes(message.speaker) + message.bytes;
            batch.push(message);
        }
        if batch.is_empty() {
            return fitting;
        }
        for (message, text) in batch.iter().zip(surface::read_texts(surface, &batch)) {
            let bytes = 1 + frame_bytes(message.speaker) + message.bytes + extra_bytes(&text);
            if *taken + bytes > room {
                return fitting;
            }
            *taken += bytes;
            fitting.push(*message);
        }
    }
}

/// The kept messages with their texts, of which some were cut.
fn lines(surface: &impl Surface, kept: &[Message], mut cuts: Vec<Option<Cut>>) -> Vec<Line> {
    cuts.resize(kept.len(), None);
    let whole = kept.iter().zip(&cuts).filter(|(_, cut)| cut.is_none());
    let whole: Vec<_> = whole.map(|(message, _)| *message).collect();
    let mut texts = surface::read_texts(surface, &whole).into_iter();
    let text =
        |cut: Option<Cut>| cut.map_or_else(|| texts.next().unwrap_or_default(), |cut| cut.text);
    let speakers = kept.iter().map(|message| message.speaker);
    let texts: Vec<_> = cuts.into_iter().map(text).collect();
    speakers.zip(texts).map(|(speaker, text)| Line { speaker, text }).collect()
}
