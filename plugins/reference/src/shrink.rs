//! Shortening messages that cannot be dropped.
//!
//! While the whole is too long, the longest message gives way: by as many
//! bytes of text as there are bytes of JSON too many. A text full of escapes
//! is so cut too short, often to nothing, as the published client does it.
//!
//! How long a text is in JSON is only found by reading it. It is read as far as
//! the next decision needs: where much is too long, the texts' own bytes, known
//! beforehand, are enough.

use crate::cut::{self, Cut, Ends};
use crate::json::extra_bytes;
use crate::retention::frame_bytes;
use crate::surface::{self, Message, PART, Surface};

/// Messages that fit.
pub(crate) struct Shrunk {
    /// For each message what is left of it; none where that is all.
    pub(crate) cuts: Vec<Option<Cut>>,
    /// JSON bytes of all of them, commas included.
    pub(crate) taken: u64,
}

/// Shortens messages until they take no more than `room` bytes of JSON, commas
/// included; none where they do not fit though every text is empty.
pub(crate) fn shrink(surface: &impl Surface, messages: &[Message], room: u64) -> Option<Shrunk> {
    let commas = messages.len().saturating_sub(1) as u64;
    let frames: u64 = messages.iter().map(|message| frame_bytes(message.speaker)).sum();
    let text_room = room.checked_sub(frames + commas)?;
    let mut texts: Vec<_> = messages.iter().copied().map(Text::of).collect();
    loop {
        let least: u64 = texts.iter().map(|text| text.bytes + text.extra).sum();
        let overflow = least.saturating_sub(text_room);
        let longest = texts.iter().map(|text| text.bytes).max().unwrap_or_default();
        // Beyond that the longest text is cut to nothing, whatever there is to read.
        if overflow < longest && measure_some(surface, &mut texts) {
            continue;
        }
        if overflow == 0 {
            let cuts = texts.into_iter().map(|text| text.cut).collect();
            return Some(Shrunk { cuts, taken: frames + commas + least });
        }
        if longest == 0 {
            return None;
        }
        let text = texts.iter_mut().find(|text| text.bytes == longest)?;
        text.cut_to(surface, longest.saturating_sub(overflow));
    }
}

/// Reads of the texts not yet measured what one read holds; false where there is none.
fn measure_some(surface: &impl Surface, texts: &mut [Text]) -> bool {
    let mut unmeasured: Vec<_> = texts.iter_mut().filter(|text| !text.is_measured()).collect();
    let messages: Vec<_> = unmeasured.iter().map(|text| text.message).collect();
    match surface::batches(&messages).next() {
        None | Some([]) => return false,
        Some([long]) if long.bytes > PART.into() => {
            if let Some(text) = unmeasured.first_mut() {
                text.measure_part(surface);
            }
        }
        Some(batch) => {
            for (text, read) in unmeasured.into_iter().zip(surface::read_texts(surface, batch)) {
                text.extra = extra_bytes(&read);
                text.measured = text.message.bytes;
            }
        }
    }
    true
}

/// A text that is being shortened.
struct Text {
    message: Message,
    /// What is left of it; none while that is all.
    cut: Option<Cut>,
    /// UTF-8 bytes of what is left.
    bytes: u64,
    /// JSON bytes beyond these, as far as the text was read.
    extra: u64,
    /// How far the text was read.
    measured: u64,
}

impl Text {
    fn of(message: Message) -> Self {
        Self { message, cut: None, bytes: message.bytes, extra: 0, measured: 0 }
    }

    fn is_measured(&self) -> bool {
        self.cut.is_some() || self.measured >= self.message.bytes
    }

    /// Reads one part more of a long text.
    fn measure_part(&mut self, surface: &impl Surface) {
        let mut extra = 0;
        self.measured = surface::for_each_part(surface, self.message, self.measured, |part| {
            extra = extra_bytes(part);
            false
        });
        self.extra += extra;
    }

    /// Shortens the text to at most `target` bytes, starting from the original.
    fn cut_to(&mut self, surface: &impl Surface, target: u64) {
        let Message { index, bytes, .. } = self.message;
        let half = u32::try_from(target.div_ceil(2)).unwrap_or(u32::MAX);
        // No cut is shorter than its notice: such a text need not be read.
        let (head, tail) = if target < cut::notice(0).len() as u64 {
            (String::new(), String::new())
        } else {
            let tail = bytes.saturating_sub(half.into());
            (surface.text_part(index, 0, half), surface.text_part(index, tail, half))
        };
        let cut = Ends { bytes, head: &head, tail: &tail }.cut_with_notice(target);
        self.bytes = cut.text.len() as u64;
        self.extra = extra_bytes(&cut.text);
        self.cut = Some(cut);
    }
}
