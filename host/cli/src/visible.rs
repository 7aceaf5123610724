//! Text of strangers on a terminal: what could move the cursor, hide or reorder is shown by its code point.

use std::fmt::{self, Write as _};

/// One line: line breaks and tabs are shown too.
pub(crate) struct Line<'a>(pub &'a str);

/// Several lines: line breaks and tabs stay.
pub struct Lines<'a>(pub &'a str);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|char| show(f, char))
    }
}

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|char| match char {
            '\n' | '\t' => f.write_char(char),
            _ => show(f, char),
        })
    }
}

fn show(f: &mut fmt::Formatter<'_>, char: char) -> fmt::Result {
    if acts(char) { write!(f, "<U+{:04X}>", char as u32) } else { f.write_char(char) }
}

/// Whether `char` does something to a terminal or to the text around it instead of showing.
///
/// Controls (C0, DEL, C1), line and paragraph separators, everything that sets direction, what has no width but the
/// two joiners (emoji and several scripts need those), and the tag characters.
fn acts(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_fool_a_reader_is_shown() {
        assert_eq!(
            Line("a\u{202e}b\u{1b}[2J\r\n\u{9b}").to_string(),
            "a<U+202E>b<U+001B>[2J<U+000D><U+000A><U+009B>"
        );
        assert_eq!(
            Line("\u{2066}\u{200f}\u{feff}\u{e0041}").to_string(),
            "<U+2066><U+200F><U+FEFF><U+E0041>"
        );
    }

    #[test]
    fn ordinary_text_stays() {
        let text = "日本 é 👩\u{200d}💻 نص \u{fffd}";
        assert_eq!(Line(text).to_string(), text);
    }

    #[test]
    fn lines_keep_their_breaks() {
        assert_eq!(Lines("a\n\tb\r\n").to_string(), "a\n\tb<U+000D>\n");
    }
}
