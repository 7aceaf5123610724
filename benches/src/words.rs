//! Prose without meaning, with what real prose has: code, links, line ends, quotes, other scripts.

use crate::chance::Chance;

const WORDS: [&str; 16] = [
    "the",
    "parser",
    "returns",
    "a",
    "value",
    "when",
    "called.",
    "See",
    "(above),",
    "会话",
    "and",
    "then",
    "`code`",
    "\"quoted\"",
    "[link](https://example.com)",
    "\n",
];

/// `count` words, each with what separates it from the next.
pub(crate) fn pieces(chance: &mut Chance, count: u64) -> Vec<String> {
    (0..count).map(|_| format!("{} ", chance.pick(&WORDS))).collect()
}

/// Prose of exactly `bytes` bytes, the same for the same seed.
pub fn prose(bytes: usize, seed: u64) -> String {
    let mut chance = Chance::new(seed);
    let mut text = String::with_capacity(bytes + 32);
    while text.len() < bytes {
        text.push_str(chance.pick(&WORDS));
        text.push(' ');
    }
    let end = text.floor_char_boundary(bytes);
    text.truncate(end);
    text.extend(std::iter::repeat_n('.', bytes - end));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_has_its_length_and_depends_on_its_seed_alone() {
        for bytes in [0, 1, 255, 256, 4097] {
            assert_eq!(prose(bytes, 3).len(), bytes);
        }
        assert_eq!(prose(500, 1), prose(500, 1));
        assert_ne!(prose(500, 1), prose(500, 2));
    }
}
