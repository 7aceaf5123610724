//! One JSON value where it stands: checked once, then split without being checked again.
//!
//! A line of a log is passed over by a parser when it is read. Whatever is asked of it later only looks for the ends of
//! values that are known to be there, and passes over the texts in them as fast as memory is searched.

use std::borrow::Cow;
use std::fmt;

use memchr::{memchr, memchr2};
use serde_json::value::RawValue;

use crate::cursor::{every, zeros};
use crate::json::{read, unescaped_bytes};
use crate::parts::{Part, first};
use crate::{Json, Object};

/// The text of one JSON value, byte for byte, borrowed from a text that was checked.
#[derive(Clone, Copy)]
pub struct Raw<'a> {
    text: &'a str,
    /// Where its parts stand, where that was written down.
    parts: Option<&'a [Part]>,
}

impl<'a> Raw<'a> {
    /// Checks that `text` is one value, and takes it without the space around it.
    ///
    /// # Errors
    /// When it is anything else.
    pub fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        let raw: &RawValue = serde_json::from_str(text)?;
        Ok(Self::trusted(raw.get()))
    }

    /// Takes text that is known to be one value.
    pub(crate) fn trusted(text: &'a str) -> Self {
        Self { text, parts: None }
    }

    /// The same value, and where its parts stand.
    pub(crate) fn with_parts(self, parts: Option<&'a [Part]>) -> Self {
        Self { parts, ..self }
    }

    /// The same value where it stands in a copy of its text.
    pub(crate) fn copied(self, text: &'a Json) -> Self {
        let same = self.text.len() == text.as_str().len();
        Self { text: text.as_str(), parts: self.parts.filter(|_| same) }
    }

    /// The text.
    pub fn get(self) -> &'a str {
        self.text
    }

    /// The members, where the value is an object.
    pub fn object(self) -> Option<Object<'a>> {
        self.members().map(Object::of)
    }

    /// The items, where the value is a list.
    pub fn items(self) -> Option<impl Iterator<Item = Raw<'a>>> {
        let mut values = self.text.starts_with('[').then_some(Values { whole: self, at: 1 })?;
        Some(std::iter::from_fn(move || values.next()))
    }

    /// The same, where nothing but numbers counts: of a list with any other item, at least one comes out as no number.
    pub(crate) fn words(self) -> Option<impl Iterator<Item = &'a str>> {
        let inside = self.text.strip_prefix('[')?.strip_suffix(']')?.trim_ascii();
        let words = inside.split(',').map(str::trim_ascii);
        Some(words.take(if inside.is_empty() { 0 } else { usize::MAX }))
    }

    /// The members one by one, each with its name as it was written.
    pub(crate) fn members(self) -> Option<impl Iterator<Item = (Raw<'a>, Raw<'a>)>> {
        let mut values = self.text.starts_with('{').then_some(Values { whole: self, at: 1 })?;
        Some(std::iter::from_fn(move || Some((values.next()?, values.next()?))))
    }

    /// The text that a string stands for, lone surrogates as U+FFFD; none where the value is no string.
    pub fn text(self) -> Option<Cow<'a, str>> {
        let quoted = self.text.strip_prefix('"')?.strip_suffix('"')?;
        // Names and the like are shorter than what a search for far bytes takes to begin.
        let escaped = match quoted.len() {
            ..16 => quoted.bytes().any(|byte| byte == b'\\'),
            _ => memchr(b'\\', quoted.as_bytes()).is_some(),
        };
        match escaped {
            false => Some(Cow::Borrowed(quoted)),
            true => read::<String>(self.text).ok().map(Cow::Owned),
        }
    }

    /// How long that text is, in UTF-8 bytes.
    pub(crate) fn text_bytes(self) -> Option<usize> {
        let quoted = self.text.strip_prefix('"')?.strip_suffix('"')?;
        Some(unescaped_bytes(quoted))
    }

    /// Whether the value is a string.
    pub(crate) fn is_string(self) -> bool {
        self.text.starts_with('"')
    }

    /// Whether the value is a number.
    pub(crate) fn is_number(self) -> bool {
        self.text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
    }
}

impl PartialEq for Raw<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Raw<'_> {}

impl fmt::Debug for Raw<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text)
    }
}

impl<'a> From<&'a Json> for Raw<'a> {
    fn from(json: &'a Json) -> Self {
        Self::trusted(json.as_str())
    }
}

impl<'a> From<&'a RawValue> for Raw<'a> {
    fn from(raw: &'a RawValue) -> Self {
        Self::trusted(raw.get())
    }
}

/// The values of a list, or the names and values of an object in turn.
struct Values<'a> {
    whole: Raw<'a>,
    at: usize,
}

impl<'a> Values<'a> {
    fn next(&mut self) -> Option<Raw<'a>> {
        if let Some(parts) = &mut self.whole.parts {
            let (text, parts) = first(self.whole.text, parts)?;
            return Some(Raw { text, parts });
        }
        let bytes = self.whole.text.as_bytes();
        let between = |byte: &u8| matches!(byte, b',' | b':' | b' ' | b'\t' | b'\n' | b'\r');
        while bytes.get(self.at).is_some_and(between) {
            self.at += 1;
        }
        let start = self.at;
        self.at = match bytes.get(start)? {
            b'"' => end_of_string(bytes, start),
            b'{' | b'[' => end_of_nest(bytes, start),
            b'}' | b']' => return None,
            _ => end_of_word(bytes, start),
        };
        self.whole.text.get(start..self.at).map(Raw::trusted)
    }
}

/// Behind the string that begins at `start`.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(next) = quote_or_escape(bytes, at) {
        at = next;
        if bytes.get(at) == Some(&b'"') {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

/// Where the next quote or backslash stands, from `at` on. Most are near: the search for far ones begins late.
fn quote_or_escape(bytes: &[u8], mut at: usize) -> Option<usize> {
    for _ in 0..NEAR {
        let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) else { break };
        let word = u64::from_le_bytes(*word);
        let found = zeros(word ^ every(b'"')) | zeros(word ^ every(b'\\'));
        if found != 0 {
            return Some(at + (found.trailing_zeros() / 8) as usize);
        }
        at += 8;
    }
    Some(at + memchr2(b'"', b'\\', bytes.get(at..)?)?)
}

/// Words of eight bytes that are looked at one by one.
const NEAR: usize = 2;

/// Behind the object or list that begins at `start`, however deep it is.
fn end_of_nest(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    let mut depth = 0_usize;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = end_of_string(bytes, at);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth <= 1 => return at + 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// Behind the number or the word that begins at `start`.
fn end_of_word(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
    start + rest.iter().position(ends).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes a value apart and puts it together again, without the space between its tokens.
    fn rebuilt(raw: Raw<'_>) -> String {
        let joined = |parts: Vec<String>| parts.join(",");
        if let Some(members) = raw.members() {
            let member = |(name, value): (Raw<'_>, _)| format!("{}:{}", name.get(), rebuilt(value));
            return format!("{{{}}}", joined(members.map(member).collect()));
        }
        match raw.items() {
            Some(items) => format!("[{}]", joined(items.map(rebuilt).collect())),
            None => raw.get().to_owned(),
        }
    }

    #[test]
    fn every_value_is_found_where_it_stands() {
        for tight in [
            "0",
            "-1.5e3",
            "true",
            r#""""#,
            r#""a\\""#,
            r#""]}\",{[""#,
            "[]",
            "{}",
            r#"[[],{},"",[[1],2],null]"#,
            r#"{"a\"":{"b":[1,{"c":"}"}],"":false},"a\"":-0}"#,
            r#"{"\\":"\\\\","é":"\ud83d"}"#,
        ] {
            assert_eq!(rebuilt(Raw::parse(tight).unwrap()), tight);
            // Space may stand between any two tokens; these hold no such byte in a string but the third from the top.
            if !tight.contains("]}\\\"") {
                let loose = tight.replace(',', " ,\t").replace(':', "\n: ").replace(']', "\r]");
                let loose = format!(" {loose} ");
                assert_eq!(rebuilt(Raw::parse(&loose).unwrap()), tight);
            }
        }
    }

    #[test]
    fn a_string_ends_at_its_own_quote_however_long_it_is() {
        for length in 0..40 {
            for (inner, bytes) in
                [("", 0), (r#"\""#, 1), (r"\\", 1), (r"\u0041", 1), (r"\ud83d\ude00", 4), ("é", 2)]
            {
                let text =
                    format!("[\"{}{inner}{}\",1]", "a".repeat(length), "b".repeat(length % 7));
                let items: Vec<_> = Raw::parse(&text).unwrap().items().unwrap().collect();
                assert_eq!(items.len(), 2, "{text}");
                assert_eq!(items[1].get(), "1");
                assert_eq!(items[0].text_bytes(), Some(length + length % 7 + bytes));
            }
        }
    }

    #[test]
    fn a_list_of_numbers_is_its_words() {
        let words = |text| Raw::parse(text).unwrap().words().map(Iterator::collect::<Vec<_>>);
        assert_eq!(words("[1, -2 ,3e0]").unwrap(), ["1", "-2", "3e0"]);
        assert_eq!(words("[ ]").unwrap(), [""; 0]);
        assert_eq!(words("{}"), None);
        for other in [r#"["1,2"]"#, "[[1],2]", r#"[{"a":1,"b":2}]"#, "[1,null]"] {
            assert!(
                words(other).unwrap().iter().any(|word| word.parse::<f64>().is_err()),
                "{other}"
            );
        }
    }

    #[test]
    fn what_is_no_container_has_no_parts() {
        for text in ["1", "null", r#""{}""#] {
            let raw = Raw::parse(text).unwrap();
            assert!(raw.object().is_none() && raw.items().is_none(), "{text}");
        }
        assert!(Raw::parse("[]").unwrap().object().is_none());
        assert!(Raw::parse("{}").unwrap().items().is_none());
    }

    #[test]
    fn only_one_whole_value_is_taken() {
        for text in ["", "1 2", "[1", "{\"a\"}", "\"\\x\"", "\"a\tb\"", "01", "nul"] {
            assert!(Raw::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = format!("[{}{},1]", "[".repeat(100_000), "]".repeat(100_000));
        let lengths: Vec<_> =
            Raw::parse(&deep).unwrap().items().unwrap().map(|it| it.get().len()).collect();
        assert_eq!(lengths, [200_000, 1]);
    }
}
