//! JSON text that is kept as it was written, lone surrogates included.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::de::{self, DeserializeOwned};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::{Object, Raw};

/// One JSON value as its text, byte for byte.
///
/// A log is written by JavaScript, whose strings may hold half a surrogate pair (`\ud83d`); no Rust string can. So
/// what a log holds stays text until somebody asks for a part of it, and only then a lone surrogate reads as U+FFFD.
///
/// Clones and parts of a value share one text.
#[derive(Clone)]
pub struct Json {
    shared: Arc<str>,
    start: usize,
    end: usize,
}

impl Json {
    /// Takes `text` as it is.
    ///
    /// # Errors
    /// When it is not exactly one JSON value.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        Raw::parse(text).map(Self::from)
    }

    /// Writes `value` as JSON.
    ///
    /// # Errors
    /// When `value` has no JSON form, such as a map whose keys are no strings.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        Ok(Self::from_trusted(serde_json::to_string(value)?))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.shared.get(self.start..self.end).unwrap_or_default()
    }

    /// Reads the value as `T`; a lone surrogate reads as U+FFFD.
    ///
    /// # Errors
    /// When the value does not have the shape of `T`.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        read(self.as_str())
    }

    /// The members, where the value is an object.
    ///
    /// # Errors
    /// When it is anything else.
    pub fn object(&self) -> Result<Object<'_>, serde_json::Error> {
        let object = Raw::from(self).object();
        object.ok_or_else(|| de::Error::custom("a JSON object was expected"))
    }
}

impl Json {
    /// Whether both are clones of one value, which costs nothing to see; two that read the same may not be.
    pub(crate) fn is_the_same_text(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
            && (self.start, self.end) == (other.start, other.end)
    }

    /// A part of the value as a value of its own, which shares the text where `part` was borrowed from it.
    pub(crate) fn part(&self, part: Raw<'_>) -> Self {
        let text = part.get();
        let start = (text.as_ptr() as usize).wrapping_sub(self.shared.as_ptr() as usize);
        let within = start.checked_add(text.len()).filter(|end| *end <= self.shared.len());
        match within {
            Some(end) => Self { shared: self.shared.clone(), start, end },
            None => part.into(),
        }
    }

    /// The values that stand in `text`, each from one place to the next of `ends`.
    pub(crate) fn each_of(text: &str, ends: &[usize]) -> impl Iterator<Item = Self> {
        let shared: Arc<str> = text.into();
        let mut start = 0;
        ends.iter().map(move |end| {
            let value = Self { shared: shared.clone(), start, end: *end };
            start = *end;
            value
        })
    }

    /// Takes text that this crate has just written, or that serde_json has just read, as one value.
    pub(crate) fn from_trusted(text: impl Into<Arc<str>>) -> Self {
        let shared = text.into();
        let end = shared.len();
        Self { shared, start: 0, end }
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.is_the_same_text(other) || self.as_str() == other.as_str()
    }
}

impl Eq for Json {}

impl Hash for Json {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<Raw<'_>> for Json {
    fn from(raw: Raw<'_>) -> Self {
        Self::from_trusted(raw.get())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue =
            serde_json::from_str(self.as_str()).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Ok(Self::from(Raw::from(&*raw)))
    }
}

/// Reads JSON `text` as `T`; a lone surrogate reads as U+FFFD.
///
/// # Errors
/// When the value does not have the shape of `T`.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(&scrub(text))
}

/// `text` with each lone surrogate escape replaced by the one of U+FFFD, which is as long.
fn scrub(text: &str) -> Cow<'_, str> {
    let mut lone = lone_surrogates(text).peekable();
    if lone.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let mut scrubbed = String::with_capacity(text.len());
    let mut copied = 0;
    for start in lone {
        scrubbed.push_str(text.get(copied..start).unwrap_or_default());
        scrubbed.push_str("\\ufffd");
        copied = start + 6;
    }
    scrubbed.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(scrubbed)
}

/// Where each escape (`\udXXX`) of a surrogate without its other half begins.
fn lone_surrogates(text: &str) -> impl Iterator<Item = usize> + '_ {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(next) = memchr::memchr(b'\\', bytes.get(at..)?) {
            let start = at + next;
            match surrogate(bytes, start) {
                Some(0xd800..=0xdbff) if matches!(surrogate(bytes, start + 6), Some(0xdc00..)) => {
                    at = start + 12
                }
                Some(_) => {
                    at = start + 6;
                    return Some(start);
                }
                None => at = start + 2,
            }
        }
        None
    })
}

/// How many UTF-8 bytes the inside of a JSON string stands for, a lone surrogate as U+FFFD.
pub(crate) fn unescaped_bytes(quoted: &str) -> usize {
    let bytes = quoted.as_bytes();
    let mut length = bytes.len();
    let mut at = 0;
    while let Some(next) = bytes.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        at += next;
        let (written, read) = match escaped_unit(bytes, at) {
            None => (2, 1),
            Some(0..=0x7f) => (6, 1),
            Some(0x80..=0x7ff) => (6, 2),
            Some(0xd800..=0xdbff) if matches!(surrogate(bytes, at + 6), Some(0xdc00..)) => (12, 4),
            Some(_) => (6, 3),
        };
        length -= written - read;
        at += written;
    }
    length
}

/// The surrogate whose escape begins at `start`; none where anything else does.
fn surrogate(bytes: &[u8], start: usize) -> Option<u16> {
    escaped_unit(bytes, start).filter(|unit| (0xd800..=0xdfff).contains(unit))
}

/// The code unit whose escape (`\uXXXX`) begins at `start`; none where anything else does.
fn escaped_unit(bytes: &[u8], start: usize) -> Option<u16> {
    let digits = bytes.get(start..start + 6)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, text: &str) {
        assert_eq!(read::<String>(json).unwrap(), text);
        assert_eq!(Raw::parse(json).unwrap().text().unwrap(), text);
        assert_eq!(Raw::parse(json).unwrap().text_bytes(), Some(text.len()));
        let object = format!("{{{json}:{json}}}");
        let object: Object<'_> = serde_json::from_str(&object).unwrap();
        assert_eq!(object.text(text).as_deref(), Some(text));
    }

    #[test]
    fn a_lone_surrogate_reads_as_the_replacement_character() {
        check(r#""a\ud83db""#, "a\u{fffd}b");
        check(r#""\uDE00\ud83d""#, "\u{fffd}\u{fffd}");
        check(r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀");
    }

    #[test]
    fn what_only_looks_like_a_surrogate_stays() {
        check(r#""\ud83d\ude00""#, "😀");
        check(r#""\\ud83d""#, "\\ud83d");
        check(r#""\\\\ud83d\\""#, "\\\\ud83d\\");
    }

    #[test]
    fn the_text_of_a_value_is_kept() {
        let text = r#"{"a": 1.0e3, "a":"\ud83d", "b":[ ]}"#;
        let json = Json::parse(text).unwrap();
        assert_eq!(json.as_str(), text);
        assert_eq!(json.object().unwrap().get("a").unwrap().get(), r#""\ud83d""#);
        assert_eq!(serde_json::to_string(&json).unwrap(), text);
    }

    #[test]
    fn parts_of_one_text_are_values_of_their_own() {
        let [one, other, third]: [Json; 3] =
            Json::each_of("[1][2][1]", &[3, 6, 9]).collect::<Vec<_>>().try_into().unwrap();
        assert_eq!((one.as_str(), other.as_str()), ("[1]", "[2]"));
        assert!(one != other && one == third);
        assert!(!one.is_the_same_text(&third) && one.is_the_same_text(&one.clone()));
        let whole = Json::parse(r#"{"a":[1,2],"b":3}"#).unwrap();
        let part = whole.part(whole.object().unwrap().get("a").unwrap());
        assert_eq!(part.as_str(), "[1,2]");
        assert!(part.is_the_same_text(&whole.part(whole.object().unwrap().get("a").unwrap())));
        // What stands elsewhere is copied.
        assert_eq!(whole.part(Raw::parse("[1,2]").unwrap()), part);
    }

    #[test]
    fn a_member_can_change_alone() {
        let json = Json::parse(r#"{ "a\n":1.0, "b": "\ud83d", "c":[ 1 ] }"#).unwrap();
        let changed = json.object().unwrap().with("b", &Json::parse("2").unwrap());
        assert_eq!(changed.as_str(), r#"{"a\n":1.0,"b":2,"c":[ 1 ]}"#);
        let more = changed.object().unwrap().with("d", &Json::parse("3").unwrap());
        assert_eq!(more.as_str(), r#"{"a\n":1.0,"b":2,"c":[ 1 ],"d":3}"#);
    }

    #[test]
    fn only_one_value_is_json() {
        assert!(Json::parse("1 2").is_err());
        assert!(Json::parse("").is_err());
    }
}
