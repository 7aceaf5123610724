//! The values that hold, read by key.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::layers::server;
use crate::{ConfigError, Entry, Key, Model, Origin, Secret, Server, Standing, Transport, Value};

/// Keys that do not fit together.
pub(crate) fn unfit(entry: Option<&Entry>, why: String) -> ConfigError {
    let origin = entry.map_or(Origin::Default, |entry| entry.origin.clone());
    ConfigError::Unfit { origin, why }
}

/// The values that hold, by key.
pub(crate) struct Held<'a>(pub &'a [(Entry, Standing)]);

impl<'a> Held<'a> {
    fn all(&self, key: &str) -> impl Iterator<Item = &'a Entry> {
        let held = self.0.iter().filter(|(_, standing)| *standing == Standing::Holds);
        held.map(|(entry, _)| entry).filter(move |entry| entry.key == key)
    }

    pub(crate) fn entry(&self, key: &str) -> Option<&'a Entry> {
        self.all(key).last()
    }

    fn value(&self, key: &str) -> Option<&'a Value> {
        self.entry(key).map(|entry| &entry.value)
    }

    pub(crate) fn text(&self, key: &str) -> Option<String> {
        match self.value(key)? {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    pub(crate) fn path(&self, key: &str) -> Option<PathBuf> {
        match self.value(key)? {
            Value::Path(path) => Some(path.clone()),
            _ => None,
        }
    }

    pub(crate) fn boolean(&self, key: &str) -> Option<bool> {
        match self.value(key)? {
            Value::Boolean(truth) => Some(*truth),
            _ => None,
        }
    }

    pub(crate) fn integer(&self, key: &str) -> Option<u64> {
        match self.value(key)? {
            Value::Integer(number) => Some(*number),
            _ => None,
        }
    }

    pub(crate) fn ratio(&self, key: &str) -> Option<f64> {
        match self.value(key)? {
            Value::Ratio(number) => Some(*number),
            _ => None,
        }
    }

    pub(crate) fn list(&self, key: &str) -> Option<Vec<String>> {
        match self.value(key)? {
            Value::List(list) => Some(list.clone()),
            _ => None,
        }
    }

    pub(crate) fn rules(&self, key: &str) -> Vec<String> {
        let lists = self.all(key).filter_map(|entry| match &entry.value {
            Value::List(list) => Some(list.clone()),
            _ => None,
        });
        lists.flatten().collect()
    }

    fn table(&self, key: &str) -> BTreeMap<String, Secret> {
        match self.value(key) {
            Some(Value::Table(table)) => table.clone(),
            _ => BTreeMap::new(),
        }
    }

    pub(crate) fn model(&self) -> Result<Model, ConfigError> {
        Ok(Model {
            name: self.text("model.name").unwrap_or_default(),
            provider: self.text("model.provider"),
            base_url: self.text("model.base-url"),
            key: self.key()?,
            headers: self.table("model.headers"),
            context_window: self.integer("model.context-window"),
            max_tokens: self.integer("model.max-tokens"),
            reasoning_effort: self.text("model.reasoning-effort"),
            first_byte_seconds: self.integer("model.first-byte-seconds"),
            idle_seconds: self.integer("model.idle-seconds"),
            attempts: self.integer("model.attempts"),
        })
    }

    /// The key of the highest layer that says one.
    fn key(&self) -> Result<Option<Key>, ConfigError> {
        let names = ["model.key", "model.key-env", "model.key-command"];
        let said: Vec<&Entry> = names.iter().filter_map(|name| self.entry(name)).collect();
        let Some(top) = said.iter().map(|entry| entry.origin.layer()).max() else {
            return Ok(None);
        };
        let of_top: Vec<_> = said.iter().filter(|entry| entry.origin.layer() == top).collect();
        let [entry] = of_top.as_slice() else {
            let names: Vec<_> = of_top.iter().map(|entry| format!("`{}`", entry.key)).collect();
            let why = format!("{} say the key twice; leave out all but one", names.join(" and "));
            return Err(unfit(of_top.last().map(|entry| **entry), why));
        };
        Ok(match &entry.value {
            Value::Secret(secret) => Some(Key::Given(secret.clone())),
            Value::Text(name) => Some(Key::Variable(name.clone())),
            Value::List(words) => {
                let folder = entry.origin.folder().map(Path::to_owned);
                Some(Key::Command { words: words.clone(), folder })
            }
            _ => None,
        })
    }

    pub(crate) fn servers(&self) -> Result<BTreeMap<String, Server>, ConfigError> {
        let held = self.0.iter().filter(|(_, standing)| *standing == Standing::Holds);
        let names = held.filter_map(|(entry, _)| Some((server(&entry.key)?, entry)));
        let mut servers = BTreeMap::new();
        for (name, entry) in names.collect::<BTreeMap<_, _>>() {
            servers.insert(name.to_owned(), self.server(name, entry)?);
        }
        Ok(servers)
    }

    fn server(&self, name: &str, entry: &Entry) -> Result<Server, ConfigError> {
        let key = |what: &str| format!("mcp.{name}.{what}");
        let (env, headers) = (self.table(&key("env")), self.table(&key("headers")));
        let transport = match (self.list(&key("command")), self.text(&key("url"))) {
            (Some(words), None) if headers.is_empty() => {
                let folder = entry.origin.folder().map(Path::to_owned);
                Transport::Command { words, folder, env }
            }
            (None, Some(url)) if env.is_empty() => Transport::Url { url, headers },
            (Some(_), None) => {
                let why = format!(
                    "`mcp.{name}` has `headers`, which go with a `url`, not with a `command`"
                );
                return Err(unfit(self.entry(&key("headers")), why));
            }
            (None, Some(_)) => {
                let why = format!(
                    "`mcp.{name}` has an `env`, which goes with a `command`, not with a `url`"
                );
                return Err(unfit(self.entry(&key("env")), why));
            }
            (Some(_), Some(_)) => {
                let why = format!("`mcp.{name}` has a `command` and a `url`; leave out one");
                return Err(unfit(self.entry(&key("url")), why));
            }
            (None, None) => {
                let why = format!("`mcp.{name}` needs a `command` or a `url` in the same layer");
                return Err(unfit(Some(entry), why));
            }
        };
        Ok(Server {
            transport,
            trusted: self.boolean(&key("trusted")).unwrap_or(false),
            enabled: self.boolean(&key("enabled")).unwrap_or(true),
            seconds: self.integer(&key("seconds")),
        })
    }
}
