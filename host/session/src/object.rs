//! The members of a JSON object, each value as its text.

use std::borrow::Cow;
use std::sync::Arc;

use serde::de::{self, DeserializeOwned};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::json::read;
use crate::{Json, Raw};

/// The members of a JSON object, in order, each value as its text.
#[derive(Debug, Default)]
pub struct Object<'a>(Vec<(Cow<'a, str>, Raw<'a>)>);

impl<'a> Object<'a> {
    /// The members that were found, their names read.
    pub(crate) fn of(found: impl Iterator<Item = (Raw<'a>, Raw<'a>)>) -> Self {
        let mut members = Vec::with_capacity(8);
        members.extend(found.map(|(name, value)| (name.text().unwrap_or_default(), value)));
        Self(members)
    }

    /// The value of `key`; as in JavaScript the last one, where a key is repeated.
    pub fn get(&self, key: &str) -> Option<Raw<'a>> {
        self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    /// Reads the value of `key` as `T`; none where there is none or it has another shape.
    pub fn read<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        read(self.get(key)?.get()).ok()
    }

    /// The value of `key` as text, lone surrogates as U+FFFD; none where it is no string.
    pub fn text(&self, key: &str) -> Option<Arc<str>> {
        self.str(key).map(|text| Arc::from(&*text))
    }

    /// The same text, borrowed where it stands in the object as it reads.
    pub fn str(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key)?.text()
    }

    /// The items of the list `key`, each as it was written; none where it is no list.
    pub fn list(&self, key: &str) -> Option<Vec<Json>> {
        self.items(key).map(|items| items.map(Json::from).collect())
    }

    /// The same list, borrowed.
    pub(crate) fn items(&self, key: &str) -> Option<impl Iterator<Item = Raw<'a>> + use<'a>> {
        self.get(key)?.items()
    }

    /// The object `key`; none where it is no object.
    pub(crate) fn object(&self, key: &str) -> Option<Object<'a>> {
        self.get(key)?.object()
    }

    /// The object with `value` for `key`, at the end where it had none; every other member keeps its place and its
    /// value's bytes.
    pub fn with(&self, key: &str, value: &Json) -> Json {
        let added = self.get(key).is_none().then_some((key, value.as_str()));
        let kept = self
            .iter()
            .map(|(name, old)| (name, if name == key { value.as_str() } else { old.get() }));
        let mut text = String::from("{");
        for (name, value) in kept.chain(added) {
            let comma = if text.len() == 1 { "" } else { "," };
            text.extend([comma, &serde_json::Value::from(name).to_string(), ":", value]);
        }
        text.push('}');
        Json::from_trusted(text)
    }

    /// The object without the members of these names; none where nothing is left.
    pub fn without(&self, names: &[&str]) -> Option<Json> {
        let mut text = String::from("{");
        for (name, value) in self.iter().filter(|(name, _)| !names.contains(name)) {
            let comma = if text.len() == 1 { "" } else { "," };
            text.extend([comma, &serde_json::Value::from(name).to_string(), ":", value.get()]);
        }
        text.push('}');
        (text.len() > 2).then(|| Json::from_trusted(text))
    }

    /// Whether it has every `required` member and, besides them, none but `optional` ones.
    pub fn has_only(&self, required: &[&str], optional: &[&str]) -> bool {
        required.iter().all(|name| self.get(name).is_some())
            && self.iter().all(|(name, _)| required.contains(&name) || optional.contains(&name))
    }

    /// Every member in order, repeated keys included.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Raw<'a>)> {
        self.0.iter().map(|(key, value)| (&**key, *value))
    }
}

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Raw::from(<&RawValue>::deserialize(deserializer)?);
        raw.object().ok_or_else(|| de::Error::custom("a JSON object was expected"))
    }
}
