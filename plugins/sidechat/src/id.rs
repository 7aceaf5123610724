//! Session ids inside the facts of a message.

use serde_json::value::RawValue;

/// A session's id as JSON, from the text between the quotes, which is how it crosses the boundary.
///
/// Never decoded: an id can hold half a surrogate pair.
pub(crate) fn json(id: &str) -> Result<Box<RawValue>, serde_json::Error> {
    RawValue::from_string(format!("\"{id}\""))
}

/// The text between the quotes; none where it is no JSON string.
pub(crate) fn text(json: &RawValue) -> Option<&str> {
    json.get().strip_prefix('"')?.strip_suffix('"')
}
