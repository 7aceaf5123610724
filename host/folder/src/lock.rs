//! The lock file: exactly which bytes are installed, and which were before.

use serde::Deserialize;
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

use crate::digest::Digest;
use crate::source::Source;

/// How many earlier versions of a plugin can be gone back to.
const KEPT: usize = 5;

const HEAD: &str = "# Which bytes of each plugin are installed. Written by `plugin` commands.\n";

/// One version of a plugin, to the byte.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// The version in its manifest.
    pub version: String,
    /// Where it came from.
    pub source: Source,
    /// Its component's digest.
    pub component: Digest,
    /// Its manifest's digest, as text.
    pub manifest: Digest,
}

/// A plugin that is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locked {
    /// Its id.
    pub id: String,
    /// What is installed.
    pub pin: Pin,
    /// What was before it, the latest first.
    pub before: Vec<Pin>,
}

/// Every plugin that is installed, in the order in which they were added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    /// The plugins.
    pub plugins: Vec<Locked>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    #[serde(default, rename = "plugin")]
    plugins: Vec<LockedText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LockedText {
    id: String,
    version: String,
    source: Source,
    component: Digest,
    manifest: Digest,
    #[serde(default)]
    before: Vec<Pin>,
}

impl Lock {
    /// Reads the file's text.
    ///
    /// # Errors
    ///
    /// What the parser found, and in which line.
    pub fn parse(text: &str) -> Result<Lock, String> {
        let Text { plugins } = toml::from_str(text).map_err(|err| err.to_string())?;
        let plugins = plugins.into_iter().map(|locked| {
            let LockedText { id, version, source, component, manifest, before } = locked;
            Locked { id, pin: Pin { version, source, component, manifest }, before }
        });
        Ok(Lock { plugins: plugins.collect() })
    }

    /// The plugin with this id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Locked> {
        self.plugins.iter().find(|locked| locked.id == id)
    }

    /// Puts `pin` in the place of what is installed under `id`, which can then be gone back to.
    pub fn install(&mut self, id: &str, pin: Pin) {
        match self.plugins.iter_mut().find(|locked| locked.id == id) {
            None => self.plugins.push(Locked { id: id.to_owned(), pin, before: Vec::new() }),
            Some(locked) => {
                let old = std::mem::replace(&mut locked.pin, pin);
                // The same bytes again are no version to go back to.
                if old.component != locked.pin.component || old.manifest != locked.pin.manifest {
                    locked.before.insert(0, old);
                    locked.before.truncate(KEPT);
                }
            }
        }
    }

    /// Goes back to what was before; none where nothing was.
    pub fn back(&mut self, id: &str) -> Option<&Locked> {
        let locked = self.plugins.iter_mut().find(|locked| locked.id == id)?;
        if locked.before.is_empty() {
            return None;
        }
        locked.pin = locked.before.remove(0);
        Some(locked)
    }

    /// Takes a plugin out, and says whether it was there.
    pub fn remove(&mut self, id: &str) -> bool {
        let before = self.plugins.len();
        self.plugins.retain(|locked| locked.id != id);
        self.plugins.len() < before
    }

    /// Every digest that it names: what else lies in the folder can go.
    pub fn digests(&self) -> impl Iterator<Item = &Digest> {
        let pins =
            self.plugins.iter().flat_map(|locked| [&locked.pin].into_iter().chain(&locked.before));
        pins.flat_map(|pin| [&pin.component, &pin.manifest])
    }

    /// As text that [`Lock::parse`] reads.
    #[must_use]
    pub fn text(&self) -> String {
        let mut plugins = ArrayOfTables::new();
        for locked in &self.plugins {
            let mut table = Table::new();
            table.insert("id", value(&locked.id));
            write(&mut table, &locked.pin);
            let mut before = ArrayOfTables::new();
            for pin in &locked.before {
                let mut table = Table::new();
                write(&mut table, pin);
                before.push(table);
            }
            if !before.is_empty() {
                table.insert("before", Item::ArrayOfTables(before));
            }
            plugins.push(table);
        }
        let mut document = DocumentMut::new();
        document.insert("plugin", Item::ArrayOfTables(plugins));
        format!("{HEAD}{document}")
    }
}

fn write(table: &mut Table, pin: &Pin) {
    let Pin { version, source, component, manifest } = pin;
    table.insert("version", value(version));
    table.insert("source", value(source.to_string()));
    table.insert("component", value(component.as_str()));
    table.insert("manifest", value(manifest.as_str()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pin(version: &str) -> Pin {
        Pin {
            version: version.to_owned(),
            source: Source::File("/a \"quoted\"/b.wasm".into()),
            component: Digest::of(version.as_bytes()),
            manifest: Digest::of(b"manifest"),
        }
    }

    #[test]
    fn a_lock_is_read_as_it_was_written() {
        let mut lock = Lock::default();
        assert_eq!(Lock::parse(&lock.text()), Ok(lock.clone()));
        lock.install("a", pin("1"));
        lock.install("b", pin("1"));
        lock.install("a", pin("2"));
        assert_eq!(Lock::parse(&lock.text()), Ok(lock));
    }

    #[test]
    fn versions_are_gone_back_to_one_by_one() {
        let mut lock = Lock::default();
        for version in ["1", "2", "2", "3"] {
            lock.install("a", pin(version));
        }
        let mut back = || lock.back("a").map(|locked| locked.pin.version.clone());
        assert_eq!((back(), back(), back()), (Some("2".to_owned()), Some("1".to_owned()), None));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let said = Lock::parse("[[plugin]]\nid = \"a\"\nversion = \"1\"\nsource = \"x\"\n");
        assert!(said.clone().expect_err("no source").contains("line 4"), "{said:?}");
    }
}
