//! Cutting a text to its two ends, and saying how much is missing.
//!
//! Byte for byte what the published client does, its artefacts included: a
//! byte order mark at the start of an end is not shown, and the search for the
//! longest cut that fits takes for granted that a longer one never fits where
//! a shorter one did not, though for characters of several bytes it may.

/// The two ends of a text: all of it, or as much as a cut can need.
#[derive(Debug, Clone, Copy)]
pub struct Ends<'a> {
    /// UTF-8 bytes of the whole text.
    pub bytes: u64,
    /// What it begins with.
    pub head: &'a str,
    /// What it ends with.
    pub tail: &'a str,
}

/// A text cut to its ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// What is shown.
    pub text: String,
    /// UTF-8 bytes that were left out.
    pub omitted: u64,
}

impl<'a> Ends<'a> {
    /// The head of at most `head` bytes and the tail of at most `tail`, both of whole characters.
    fn at(self, head: usize, tail: usize) -> (&'a str, &'a str) {
        let (head, _) = self.head.split_at(self.head.floor_char_boundary(head));
        let start = self.tail.len().saturating_sub(tail);
        (head, self.tail.split_at(self.tail.ceil_char_boundary(start)).1)
    }

    /// The longest cut that fits into `target` bytes with a notice of what it
    /// leaves out; an empty one where none does.
    ///
    /// Each end must hold half of `target`, rounded up, or all of the text.
    pub fn cut_with_notice(self, target: u64) -> Cut {
        let (mut least, mut most) = (0, target);
        let mut best = None;
        while least <= most {
            let kept = least + (most - least) / 2;
            let (head, tail) = self.at(size(kept.div_ceil(2)), size(kept / 2));
            let omitted = self.bytes - (head.len() + tail.len()) as u64;
            let (shown_head, shown_tail) = (without_mark(head), without_mark(tail));
            let notice = notice(omitted);
            if (shown_head.len() + shown_tail.len() + notice.len()) as u64 <= target {
                best = Some((shown_head, shown_tail, notice, omitted));
                least = kept + 1;
            } else if kept == 0 {
                break;
            } else {
                most = kept - 1;
            }
        }
        match best {
            Some((head, tail, notice, omitted)) => {
                Cut { text: [head, tail, &notice].concat(), omitted }
            }
            None => Cut { text: String::new(), omitted: self.bytes },
        }
    }
}

/// What stands at the end of a shortened text.
pub(crate) fn notice(omitted: u64) -> String {
    format!("\n[… omitted {omitted} UTF-8 bytes …]")
}

/// Cuts a text to at most `head` bytes of its start and `tail` of its end, of
/// whole characters; one that fits into both together stays whole.
pub fn head_and_tail(text: &str, head: usize, tail: usize) -> Cut {
    if text.len() <= head.saturating_add(tail) {
        return Cut { text: without_mark(text).to_owned(), omitted: 0 };
    }
    let (head, tail) = Ends { bytes: text.len() as u64, head: text, tail: text }.at(head, tail);
    let omitted = (text.len() - head.len() - tail.len()) as u64;
    Cut { text: [without_mark(head), without_mark(tail)].concat(), omitted }
}

/// A text as JavaScript's `TextDecoder` reads it, which swallows one byte order mark.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// A number of bytes as an index; what is beyond memory is beyond any text.
fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_cut_at_characters() {
        let cut = |text, head, tail| {
            let Cut { text, omitted } = head_and_tail(text, head, tail);
            (text, omitted)
        };
        assert_eq!(cut("abcdefgh", 3, 2), ("abcgh".into(), 3));
        assert_eq!(cut("abcdef", 3, 3), ("abcdef".into(), 0));
        assert_eq!(cut("日本語", 2, 2), (String::new(), 9));
        assert_eq!(cut("日本語", 4, 4), ("日語".into(), 3));
        assert_eq!(cut("\u{feff}ab", 10, 10), ("ab".into(), 0));
    }

    #[test]
    fn a_notice_counts_against_the_target() {
        let text = "0123456789".repeat(20);
        let ends = Ends { bytes: 200, head: &text, tail: &text };
        let cut = ends.cut_with_notice(60);
        assert_eq!(cut.text, "01234567890127890123456789\n[… omitted 174 UTF-8 bytes …]");
        assert_eq!(cut.omitted, 174);
        assert_eq!(ends.cut_with_notice(30), Cut { text: String::new(), omitted: 200 });
    }

    #[test]
    fn half_of_the_target_is_enough_of_each_end() {
        let text = "日a本é語😀".repeat(40);
        for target in 0..text.len() {
            let bytes = text.len() as u64;
            let half = target.div_ceil(2);
            let (head, tail) = Ends { bytes, head: &text, tail: &text }.at(half, half);
            let all = Ends { bytes, head: &text, tail: &text }.cut_with_notice(target as u64);
            assert_eq!(Ends { bytes, head, tail }.cut_with_notice(target as u64), all);
        }
    }
}
