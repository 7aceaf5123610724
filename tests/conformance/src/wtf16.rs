//! Strings of the vectors, which may hold lone surrogates.
//!
//! JavaScript's strings can hold half a surrogate pair, and no Rust string can.
//! In a vector that is read here, each lone surrogate U+D800 to U+DFFF stands
//! as the private-use character U+FD800 to U+FDFFF; a vector that holds one of
//! those itself is refused.

use std::borrow::Cow;

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::vector::Skip;

/// The distance from a surrogate to the character that stands for it.
const PLANE: u32 = 0xf_0000;

/// Reads JSON with lone surrogates in its strings.
///
/// # Errors
///
/// For what is not JSON otherwise, and for a character that stands for another here.
pub fn value(json: &str) -> Result<Value> {
    ensure!(!json.chars().any(|char| surrogate(char).is_some()), "a reserved character: {json}");
    let mut text = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        text.push_str(before);
        let unit = code_unit(escape);
        let paired = matches!(unit, Some(0xd800..=0xdbff))
            && matches!(escape.get(6..).and_then(code_unit), Some(0xdc00..=0xdfff));
        let length = match unit {
            Some(unit) if paired => {
                let low = escape.get(6..).and_then(code_unit).unwrap_or_default();
                let char = 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                let reserved = char::from_u32(char).and_then(surrogate).is_some();
                ensure!(!reserved, "a reserved character: {json}");
                12
            }
            Some(unit @ 0xd800..=0xdfff) => {
                text.extend(char::from_u32(PLANE + unit));
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            Some(_) => 6,
            None => 2,
        };
        let (kept, after) = escape.split_at_checked(length).unwrap_or((escape, ""));
        text.push_str(kept);
        rest = after;
    }
    text.push_str(rest);
    Ok(serde_json::from_str(&text)?)
}

/// The code unit whose `\uXXXX` a text begins with.
fn code_unit(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

/// The surrogate that a character stands for.
fn surrogate(char: char) -> Option<u32> {
    let unit = u32::from(char).checked_sub(PLANE)?;
    (0xd800..=0xdfff).contains(&unit).then_some(unit)
}

/// A text as a component gets it.
///
/// # Errors
///
/// For a text that none can get.
pub fn text(text: &str) -> Result<String, Skip> {
    if text.chars().any(|char| surrogate(char).is_some()) {
        return Err(Skip::LoneSurrogateInText);
    }
    Ok(text.to_owned())
}

/// A text with each lone surrogate as U+FFFD, as an encoder of UTF-8 writes it.
pub fn encoded(text: &str) -> String {
    let encode = |char| surrogate(char).map_or(char, |_| char::REPLACEMENT_CHARACTER);
    text.chars().map(encode).collect()
}

/// A session's id as `JSON.stringify` writes it between the quotes.
pub fn spelling(id: &str) -> String {
    let json = Value::from(id).to_string();
    let spelling = json.strip_prefix('"').and_then(|json| json.strip_suffix('"'));
    escaped(spelling.unwrap_or_default()).into_owned()
}

/// A value as JSON, each lone surrogate escaped again.
pub fn json(value: &Value) -> String {
    escaped(&value.to_string()).into_owned()
}

fn escaped(json: &str) -> Cow<'_, str> {
    if !json.chars().any(|char| surrogate(char).is_some()) {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len());
    for char in json.chars() {
        match surrogate(char) {
            Some(unit) => text.push_str(&format!("\\u{unit:04x}")),
            None => text.push(char),
        }
    }
    Cow::Owned(text)
}

/// The id that a spelling stands for, lone surrogates kept.
///
/// # Errors
///
/// For a spelling that is no JSON.
pub fn id(spelling: &str) -> Result<Value> {
    value(&format!("\"{spelling}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lone_surrogate_comes_back_as_it_was() {
        for json in [r#""\ud800""#, r#""\udc00\ud800x""#, r#""\ud83d😀""#, r#""\\ud800""#] {
            assert_eq!(super::json(&value(json).unwrap()), json);
        }
        assert_eq!(value(r#""\ud83d\ude00""#).unwrap(), "😀");
        assert_eq!(value(r#""\ud83d\ud83d\ude00""#).unwrap(), "\u{fd83d}😀");
    }

    #[test]
    fn a_character_that_stands_for_another_is_refused() {
        assert!(value("\"\u{fd800}\"").is_err());
        assert!(value(r#""\udbb6\udc00""#).is_err());
        assert!(value(r#""\udbb5\udfff""#).is_ok());
    }

    #[test]
    fn an_id_keeps_it_and_a_text_cannot() {
        let Value::String(lone) = value(r#""a\"\ud800""#).unwrap() else { panic!() };
        assert_eq!(spelling(&lone), r#"a\"\ud800"#);
        assert_eq!(id(r#"a\"\ud800"#).unwrap(), lone.as_str());
        assert_eq!(encoded(&lone), "a\"\u{fffd}");
        assert!(text(&lone).is_err());
    }
}
