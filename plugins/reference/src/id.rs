//! A session's id, as `JSON.stringify` writes it between the quotes.
//!
//! That spelling holds every JavaScript string, lone surrogates included, and
//! two ids are the same session exactly when their spellings are equal.

use std::borrow::Cow;

/// A session's id in its JSON spelling.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionId(String);

impl SessionId {
    /// The id of this spelling, which is taken as it is: one that
    /// `JSON.stringify` would not write names no session.
    pub fn new(spelling: impl Into<String>) -> Self {
        Self(spelling.into())
    }

    /// The id whose spelling stands in the quotes of `json`; none where
    /// `JSON.stringify` would have written another text for it.
    pub fn from_json(json: &str) -> Option<Self> {
        let spelling = json.strip_prefix('"')?.strip_suffix('"')?;
        is_canonical(spelling).then(|| Self(spelling.to_owned()))
    }

    /// The spelling.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The spelling as it was given to [`new`](Self::new).
    pub fn into_string(self) -> String {
        self.0
    }

    /// The id as a JSON string, quotes included.
    pub fn to_json(&self) -> String {
        format!("\"{}\"", self.0)
    }

    /// The id as people read it; a lone surrogate reads as U+FFFD.
    pub fn to_text(&self) -> Cow<'_, str> {
        if !self.0.contains('\\') {
            return Cow::Borrowed(&self.0);
        }
        let mut text = String::with_capacity(self.0.len());
        let mut rest = self.0.as_str();
        while let Some((plain, escape)) = rest.split_once('\\') {
            text.push_str(plain);
            let (char, after) = unescape(escape);
            text.push(char);
            rest = after;
        }
        text.push_str(rest);
        Cow::Owned(text)
    }
}

/// The character that the escape after a backslash stands for, and what follows it.
fn unescape(escape: &str) -> (char, &str) {
    let mut chars = escape.chars();
    let char = match chars.next() {
        Some('b') => '\u{8}',
        Some('f') => '\u{c}',
        Some('n') => '\n',
        Some('r') => '\r',
        Some('t') => '\t',
        Some('u') => {
            let Some((unit, after)) = code_unit(chars.as_str()) else {
                return (char::REPLACEMENT_CHARACTER, chars.as_str());
            };
            return (char::from_u32(unit.into()).unwrap_or(char::REPLACEMENT_CHARACTER), after);
        }
        Some(char) => char,
        None => char::REPLACEMENT_CHARACTER,
    };
    (char, chars.as_str())
}

/// Four lower-case hexadecimal digits, and what follows them.
fn code_unit(text: &str) -> Option<(u16, &str)> {
    let (digits, after) = text.split_at_checked(4)?;
    let lower = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let unit = lower.then(|| u16::from_str_radix(digits, 16).ok())??;
    Some((unit, after))
}

/// Whether `JSON.stringify` writes exactly this between the quotes.
fn is_canonical(spelling: &str) -> bool {
    let mut rest = spelling;
    // A high surrogate right before a low one is a pair, which is written as a character.
    let mut after_high = false;
    while let Some(char) = rest.chars().next() {
        let high = std::mem::take(&mut after_high);
        rest = match char {
            '"' | '\u{0}'..='\u{1f}' => return false,
            '\\' => {
                let mut escape = rest.chars();
                escape.next();
                match escape.next() {
                    Some('"' | '\\' | 'b' | 'f' | 'n' | 'r' | 't') => escape.as_str(),
                    Some('u') => match code_unit(escape.as_str()) {
                        Some((0x08 | 0x09 | 0x0a | 0x0c | 0x0d, _)) => return false,
                        Some((0x00..=0x1f, after)) => after,
                        Some((0xdc00..=0xdfff, _)) if high => return false,
                        Some((unit @ 0xd800..=0xdfff, after)) => {
                            after_high = unit < 0xdc00;
                            after
                        }
                        _ => return false,
                    },
                    _ => return false,
                }
            }
            plain => rest.split_at(plain.len_utf8()).1,
        };
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_spelling_of_stringify_is_an_id() {
        for good in [
            r#""""#,
            r#""plain/ü😀\u2028 not special""#,
            r#""\"\\\b\f\n\r\t\u0000\u001f""#,
            r#""\ud800""#,
            r#""\udc00\ud800""#,
            r#""\ud800😀""#,
        ] {
            let raw = good.replace(r"\u2028 not special", "\u{2028}\u{7f}");
            assert!(SessionId::from_json(&raw).is_some(), "{raw}");
        }
        for bad in [
            "",
            "\"",
            "plain",
            "1",
            "\"a\" ",
            "\"\n\"",
            "\"\u{0}\"",
            r#""a"b""#,
            r#""\/""#,
            r#""\u0041""#,
            r#""\u000A""#,
            r#""\u000a""#,
            r#""\u007f""#,
            r#""\uD800""#,
            r#""\ud83d\ude00""#,
            r#""\u12""#,
            r#""\""#,
        ] {
            assert_eq!(SessionId::from_json(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_id_reads_unescaped_and_a_lone_surrogate_as_a_replacement() {
        let read = |spelling: &str| SessionId::new(spelling).to_text().into_owned();
        assert_eq!(read(r#"a\"b\\c\n\u0001/é"#), "a\"b\\c\n\u{1}/é");
        assert_eq!(read(r"\ud800x\udc00"), "\u{fffd}x\u{fffd}");
    }

    #[test]
    fn a_spelling_that_is_none_still_reads() {
        for broken in [r"\", r"\u", r"\u12", r"x\uzzzz", r"\é"] {
            assert!(!SessionId::new(broken).to_text().is_empty());
        }
    }
}
