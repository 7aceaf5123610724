//! JSON that a guest hands over: checked, on one line, and otherwise as it was written.
//!
//! It is never decoded and written anew, as that would lose the order of keys, the spelling of numbers and the
//! escapes of lone surrogates.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

/// How deep a value may be nested. Half of what the common parsers take.
const DEPTH: usize = 64;

/// A JSON object's members in order, each value as written.
pub(crate) struct Object(Vec<(String, Box<RawValue>)>);

impl Object {
    /// Reads one JSON object. Of two members with one name, readers disagree on which counts: it is refused.
    pub(crate) fn parse(text: &str) -> Result<Object, String> {
        check_depth(text)?;
        serde_json::from_str(text).map_err(|err| err.to_string())
    }

    /// The value of `name`, if it is a string.
    pub(crate) fn string(&self, name: &str) -> Option<String> {
        let (_, value) = self.0.iter().find(|(key, _)| key == name)?;
        serde_json::from_str(value.get()).ok()
    }

    /// Sets `name` to a string, in its place or at the end.
    pub(crate) fn set_string(&mut self, name: &str, value: &str) -> serde_json::Result<()> {
        let value = serde_json::value::to_raw_value(value)?;
        match self.0.iter_mut().find(|(key, _)| key == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.to_owned(), value)),
        }
        Ok(())
    }

    /// The object on one line.
    pub(crate) fn text(&self) -> serde_json::Result<String> {
        let mut text = String::from("{");
        for (key, value) in &self.0 {
            if text.len() > 1 {
                text.push(',');
            }
            text.push_str(&serde_json::to_string(key)?);
            text.push(':');
            push_compact(&mut text, value.get());
        }
        text.push('}');
        Ok(text)
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut members: Vec<(String, Box<RawValue>)> = Vec::new();
                let mut names = std::collections::HashSet::new();
                while let Some((key, value)) = map.next_entry::<String, _>()? {
                    if !names.insert(key.clone()) {
                        return Err(A::Error::custom(format!("the member {key:?} comes twice")));
                    }
                    members.push((key, value));
                }
                Ok(Object(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// One JSON object on one line.
pub(crate) fn object(text: &str) -> Result<String, String> {
    Object::parse(text)?.text().map_err(|err| err.to_string())
}

/// Walks the brackets outside strings, before any parser sees the text.
fn check_depth(text: &str) -> Result<(), String> {
    let mut depth = 0usize;
    outside_strings(text, |byte| {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth <= DEPTH
    })
    .then_some(())
    .ok_or_else(|| format!("nested deeper than {DEPTH} levels"))
}

/// Calls `visit` with each byte outside strings until it says no.
fn outside_strings(text: &str, mut visit: impl FnMut(u8) -> bool) -> bool {
    let (mut in_string, mut escaped) = (false, false);
    for byte in text.bytes() {
        match (in_string, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => in_string = !in_string,
            (true, _) => {}
            (false, _) => {
                if !visit(byte) {
                    return false;
                }
            }
        }
    }
    true
}

/// Appends valid JSON without the blanks between its tokens.
fn push_compact(out: &mut String, json: &str) {
    let (mut in_string, mut escaped) = (false, false);
    out.extend(json.chars().filter(|c| {
        match (in_string, c) {
            (true, _) if escaped => escaped = false,
            (true, '\\') => escaped = true,
            (_, '"') => in_string = !in_string,
            _ => {}
        }
        in_string || !matches!(c, ' ' | '\t' | '\r' | '\n')
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_numbers_and_escapes_stay_as_written() {
        let text = "{ \"z\": 1.0e2,\n \"a\": [\"x \\ud800\", { \"k\": \"\\\" {\" }] }";
        let kept = r#"{"z":1.0e2,"a":["x \ud800",{"k":"\" {"}]}"#;
        assert_eq!(object(text).as_deref(), Ok(kept));
    }

    #[test]
    fn a_member_is_replaced_in_its_place() {
        let mut facts = Object::parse(r#"{"plugin":"forged","kind":"plugin"}"#).expect("parses");
        facts.set_string("plugin", "own").expect("writes");
        assert_eq!(facts.string("kind").as_deref(), Some("plugin"));
        assert_eq!(facts.text().expect("writes"), r#"{"plugin":"own","kind":"plugin"}"#);
    }

    #[test]
    fn what_is_not_one_object_is_refused() {
        for text in ["", "[]", "1", "{}{}", "{\"a\":1,\"a\":2}", "{\"a\":}", "{\"a\":1,}"] {
            assert!(object(text).is_err(), "{text}");
        }
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
        assert_eq!(object(&deep), Err("nested deeper than 64 levels".to_owned()));
    }
}
