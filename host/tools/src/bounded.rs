//! Output that may be endless, kept within bounds: its beginning and its end.

use std::collections::VecDeque;

/// The first and the last bytes of a stream, and how many were between them.
#[derive(Debug)]
pub(crate) struct Bounded {
    /// Most bytes of each half.
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// Bytes that came and went.
    pub(crate) omitted: u64,
}

impl Bounded {
    /// Keeps `most` bytes.
    pub(crate) fn new(most: usize) -> Self {
        Self { half: most / 2, head: Vec::new(), tail: VecDeque::new(), omitted: 0 }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(head);
        // Of a part that is longer than the tail only its end can stay.
        let over = rest.len().saturating_sub(self.half);
        let rest = rest.get(over..).unwrap_or_default();
        let surplus = (self.tail.len() + rest.len()).saturating_sub(self.half);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
        self.omitted += (over + surplus) as u64;
    }

    /// As text: what is no UTF-8, and NUL, as U+FFFD; what was left out is said.
    pub(crate) fn text(mut self) -> String {
        let tail = self.tail.make_contiguous();
        let text = if self.omitted == 0 {
            self.head.extend_from_slice(tail);
            String::from_utf8_lossy(&self.head).into_owned()
        } else {
            // Both may have been cut within a character.
            let torn = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
            let start = tail.iter().position(|byte| !torn(byte)).unwrap_or_default().min(3);
            let ends = match std::str::from_utf8(&self.head) {
                Err(error) if error.error_len().is_none() => error.valid_up_to(),
                _ => self.head.len(),
            };
            let lost = self.omitted + (start + self.head.len() - ends) as u64;
            let head = String::from_utf8_lossy(self.head.get(..ends).unwrap_or_default());
            let tail = String::from_utf8_lossy(tail.get(start..).unwrap_or_default());
            format!("{head}\n[{lost} bytes left out here]\n{tail}")
        };
        text.replace('\0', "\u{fffd}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(parts: &[&str], most: usize, text: &str) {
        let mut bounded = Bounded::new(most);
        parts.iter().for_each(|part| bounded.push(part.as_bytes()));
        assert_eq!(bounded.text(), text);
    }

    #[test]
    fn what_fits_is_kept_whole() {
        check(&["abc", "def"], 6, "abcdef");
        check(&[], 6, "");
        check(&["é", "日本"], 8, "é日本");
    }

    #[test]
    fn the_middle_goes() {
        check(&["abcdefgh", "ij"], 6, "abc\n[4 bytes left out here]\nhij");
        check(&["a", "b", "c", "d", "e", "f", "g", "h"], 4, "ab\n[4 bytes left out here]\ngh");
    }

    #[test]
    fn no_character_is_torn() {
        check(&["aé", "xxxxxxx", "éb"], 4, "a\n[11 bytes left out here]\nb");
    }
}
