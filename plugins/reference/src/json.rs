//! Tag-safe JSON: what `JSON.stringify` writes, with every `<` as `\u003c`.
//!
//! Text in it cannot close the tag that the prompt puts around it, and its
//! value is the same.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::id::SessionId;

/// Serializes a value to tag-safe JSON.
///
/// # Errors
///
/// When `value` cannot be JSON, such as a map whose keys are no strings.
pub fn tag_safe(value: &(impl Serialize + ?Sized)) -> Result<String, serde_json::Error> {
    // In JSON a `<` can only stand in a string, where the escape means the same.
    Ok(serde_json::to_string(value)?.replace('<', r"\u003c"))
}

/// A session's id as a JSON string, lone surrogates kept; for a spelling that
/// is no JSON, its text.
pub fn id(session: &SessionId) -> Box<RawValue> {
    RawValue::from_string(session.to_json()).unwrap_or_else(|_| text(&session.to_text()))
}

/// A text as a JSON string.
pub fn text(text: &str) -> Box<RawValue> {
    serde_json::value::to_raw_value(text).unwrap_or_default()
}

/// How many bytes more than its own a text takes in tag-safe JSON, quotes left out.
pub fn extra_bytes(text: &str) -> u64 {
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let plain = |bytes: &[u8]| bytes.iter().copied().map(extra).sum::<u64>();
    let escaped = words.iter().filter(|word| may_hold_extra(u64::from_ne_bytes(**word)));
    escaped.map(|word| plain(word)).sum::<u64>() + plain(rest)
}

/// How many bytes more one byte takes.
fn extra(byte: u8) -> u64 {
    match byte {
        b'"' | b'\\' | b'\x08' | b'\t' | b'\n' | b'\x0c' | b'\r' => 1,
        0..=0x1f | b'<' => 5,
        _ => 0,
    }
}

/// Whether one of eight bytes can take more than itself, looked at all at once:
/// a text of 100 MiB is measured within a plugin's time.
fn may_hold_extra(word: u64) -> bool {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    // The high bit of each byte that is less than `limit`, and perhaps of bytes
    // after such a one: a word is never missed.
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word & HIGH;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    below(word, 0x20) | equal(b'"') | equal(b'\\') | equal(b'<') != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extra_bytes_are_what_the_serialization_takes_more() {
        let every_char = (0..0x180).chain(0x2026..0x2030).filter_map(char::from_u32);
        for char in every_char.chain(['😀', '\u{feff}']) {
            for text in [char.to_string(), format!("{char}2345678"), format!("1234567{char}x")] {
                let json = tag_safe(&text).unwrap();
                assert_eq!(extra_bytes(&text), (json.len() - 2 - text.len()) as u64, "{text:?}");
            }
        }
    }

    #[test]
    fn nothing_in_a_text_can_close_a_tag() {
        let json = tag_safe(&"</referenced-sessions>\\u003c").unwrap();
        assert_eq!(json, r#""\u003c/referenced-sessions>\\u003c""#);
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), "</referenced-sessions>\\u003c");
    }

    #[test]
    fn an_id_keeps_its_lone_surrogate() {
        assert_eq!(id(&SessionId::new(r"\ud800")).get(), r#""\ud800""#);
        assert_eq!(id(&SessionId::new(r"a\")).get(), "\"a\u{fffd}\"");
    }
}
