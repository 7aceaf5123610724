//! The type of an event.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::vocabulary::known;

/// An event's type, such as `turn/start`. Those that this version understands take no memory of their own.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Kind(Name);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Name {
    Known(&'static str),
    Other(Arc<str>),
}

impl Kind {
    /// `assistant/chunk`, which most events of a log are: one of the model's deltas.
    pub(crate) const CHUNK: Self = Self(Name::Known("assistant/chunk"));

    /// Whether a log may hold the type without marking it ignorable.
    pub(crate) fn is_known(&self) -> bool {
        matches!(self.0, Name::Known(_))
    }
}

impl Deref for Kind {
    type Target = str;

    fn deref(&self) -> &str {
        match &self.0 {
            Name::Known(name) => name,
            Name::Other(name) => name,
        }
    }
}

impl From<&str> for Kind {
    fn from(name: &str) -> Self {
        // Most rows that are events of their own are of this type.
        if name == &*Self::CHUNK {
            return Self::CHUNK;
        }
        Self(known(name).map_or_else(|| Name::Other(name.into()), Name::Known))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_reads_as_it_was_written_whether_it_is_known_or_not() {
        for (name, is_known) in [("assistant/chunk", true), ("of/tomorrow", false), ("", false)] {
            let kind = Kind::from(name);
            assert_eq!(
                (&*kind, kind.to_string().as_str(), kind.is_known()),
                (name, name, is_known)
            );
        }
        assert_eq!(Kind::from("assistant/chunk"), Kind::CHUNK);
    }
}
