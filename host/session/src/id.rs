//! Session ids: any JavaScript string, without loss.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// A session's id, kept as `JSON.stringify` writes it between the quotes.
///
/// An ordinary id reads as itself. One with quotes, control characters or lone surrogates reads escaped, so two ids
/// are the same session exactly when their escaped forms are equal. `Display` shows it to people instead: unescaped,
/// a lone surrogate as U+FFFD.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(Arc<str>);

impl SessionId {
    /// The id that reads `text`.
    pub fn new(text: &str) -> Self {
        Self(escape(text.as_bytes()).into())
    }

    /// The id whose escaped form is `escaped`; none where `JSON.stringify` would not write it so.
    pub fn from_escaped(escaped: &str) -> Option<Self> {
        let id = Self::from_json(&format!("\"{escaped}\""))?;
        (id.escaped() == escaped).then_some(id)
    }

    /// The id made of these UTF-16 code units.
    pub fn from_units(units: &[u16]) -> Self {
        let mut wtf8 = Vec::with_capacity(units.len());
        for unit in char::decode_utf16(units.iter().copied()) {
            match unit {
                Ok(char) => wtf8.extend(char.encode_utf8(&mut [0; 4]).as_bytes()),
                Err(lone) => wtf8.extend(encode_surrogate(lone.unpaired_surrogate())),
            }
        }
        Self(escape(&wtf8).into())
    }

    /// The form between the quotes.
    pub fn escaped(&self) -> &str {
        &self.0
    }

    /// The UTF-16 code units.
    pub fn units(&self) -> Vec<u16> {
        let wtf8 = unescape(&self.json()).unwrap_or_default();
        let mut units = Vec::with_capacity(wtf8.len());
        for piece in pieces(&wtf8) {
            match piece {
                Piece::Text(text) => units.extend(text.encode_utf16()),
                Piece::Surrogate(unit) => units.push(unit),
            }
        }
        units
    }

    fn json(&self) -> String {
        format!("\"{}\"", self.0)
    }

    fn from_json(json: &str) -> Option<Self> {
        Some(Self(escape(&unescape(json)?).into()))
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.contains('\\') {
            return f.write_str(&self.0);
        }
        f.write_str(&String::from_utf16_lossy(&self.units()))
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.json())
    }
}

impl Serialize for SessionId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json = self.json();
        let raw: &RawValue = serde_json::from_str(&json).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SessionId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(Wtf8).map(|wtf8| Self(escape(&wtf8).into()))
    }
}

/// The WTF-8 of one JSON string; none where `json` is anything else.
fn unescape(json: &str) -> Option<Vec<u8>> {
    struct Bytes(Vec<u8>);
    impl<'de> Deserialize<'de> for Bytes {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_bytes(Wtf8).map(Bytes)
        }
    }
    serde_json::from_str::<Bytes>(json).ok().map(|Bytes(wtf8)| wtf8)
}

/// Reads a JSON string as WTF-8, which serde_json gives to whoever asks for bytes.
struct Wtf8;

impl Visitor<'_> for Wtf8 {
    type Value = Vec<u8>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }
    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
        Ok(bytes.to_vec())
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<u8>, E> {
        Ok(text.as_bytes().to_vec())
    }
}

/// A stretch of WTF-8.
pub(crate) enum Piece<'a> {
    Text(&'a str),
    Surrogate(u16),
}

/// WTF-8 as its valid stretches and the lone surrogates between them.
pub(crate) fn pieces(mut wtf8: &[u8]) -> impl Iterator<Item = Piece<'_>> {
    std::iter::from_fn(move || {
        if let [0xed, high @ 0xa0..=0xbf, low, rest @ ..] = wtf8 {
            wtf8 = rest;
            return Some(Piece::Surrogate(
                0xd000 | u16::from(high & 0x3f) << 6 | u16::from(low & 0x3f),
            ));
        }
        let chunk = wtf8.utf8_chunks().next()?;
        // Only a surrogate ends a stretch early, and its first byte alone counts as invalid.
        wtf8 = wtf8.get(chunk.valid().len()..)?;
        (!chunk.valid().is_empty()).then_some(Piece::Text(chunk.valid()))
    })
}

fn encode_surrogate(unit: u16) -> [u8; 3] {
    let [high, low] = unit.to_be_bytes();
    [0xed, 0x80 | (high & 0x0f) << 2 | low >> 6, 0x80 | low & 0x3f]
}

/// WTF-8 as `JSON.stringify` writes it between the quotes.
fn escape(wtf8: &[u8]) -> String {
    let mut escaped = String::with_capacity(wtf8.len());
    for piece in pieces(wtf8) {
        match piece {
            Piece::Text(text) => text.chars().for_each(|char| escape_char(&mut escaped, char)),
            Piece::Surrogate(unit) => escape_unit(&mut escaped, unit),
        }
    }
    escaped
}

fn escape_char(escaped: &mut String, char: char) {
    match char {
        '"' => escaped.push_str("\\\""),
        '\\' => escaped.push_str("\\\\"),
        '\u{8}' => escaped.push_str("\\b"),
        '\t' => escaped.push_str("\\t"),
        '\n' => escaped.push_str("\\n"),
        '\u{c}' => escaped.push_str("\\f"),
        '\r' => escaped.push_str("\\r"),
        '\0'..='\u{1f}' => escape_unit(escaped, char as u16),
        _ => escaped.push(char),
    }
}

fn escape_unit(escaped: &mut String, unit: u16) {
    write!(escaped, "\\u{unit:04x}").expect("a string takes every write");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, escaped: &str, shown: &str) {
        let id: SessionId = serde_json::from_str(json).unwrap();
        assert_eq!(id.escaped(), escaped);
        assert_eq!(id.to_string(), shown);
        assert_eq!(SessionId::from_units(&id.units()), id);
        assert_eq!(SessionId::from_escaped(escaped).unwrap(), id);
        let written = serde_json::to_string(&id).unwrap();
        assert_eq!(written, format!("\"{escaped}\""));
    }

    #[test]
    fn an_ordinary_id_reads_as_itself() {
        check(r#""session-1""#, "session-1", "session-1");
        check(r#""日本/é\u0041 😀""#, "日本/éA 😀", "日本/éA 😀");
        check(r#""""#, "", "");
    }

    #[test]
    fn any_javascript_string_is_an_id() {
        check(r#""\ud800""#, r"\ud800", "\u{fffd}");
        check(r#""x\uDFFFy\ud83d""#, r"x\udfffy\ud83d", "x\u{fffd}y\u{fffd}");
        check(r#""\ud83d\ude00""#, "😀", "😀");
        check(r#""a\"b\n\u0001\u007f\/""#, "a\\\"b\\n\\u0001\u{7f}/", "a\"b\n\u{1}\u{7f}/");
    }

    #[test]
    fn another_spelling_names_no_session() {
        for spelling in [r"\u0041", r"\/", r"\uD800", "\"", "\\", "a\nb"] {
            assert_eq!(SessionId::from_escaped(spelling), None, "{spelling:?}");
        }
    }
}
