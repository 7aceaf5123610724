//! Layers, laid over one another.

use std::path::Path;
use std::sync::Arc;

use crate::catalogue::{self, Guard, VARIABLES};
use crate::file::{self, Entry};
use crate::nearest::nearest;
use crate::value::Misfit;
use crate::{Base, ConfigError, Layer, Origin, Project, ROWS, Settings};

/// What each layer says. They may be added in any order.
#[derive(Clone, Debug)]
pub struct Layers {
    /// Those that may hold.
    entries: Vec<Entry>,
    /// Those of a project that it may not set.
    withheld: Vec<Entry>,
}

/// What a value is to the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It holds.
    Holds,
    /// Another layer's stands in its place.
    Overridden,
    /// A project's file says it, and the person has not said that it may.
    Withheld,
}

impl Default for Layers {
    /// The catalogue's defaults alone.
    fn default() -> Self {
        let nowhere = Base { folder: Path::new(""), home: None };
        let entry = |row: &catalogue::Row| {
            let value = toml::de::DeValue::parse(row.default?).ok()?;
            let value = row.kind.read(value.get_ref(), nowhere).ok()?;
            Some(Entry { key: row.name.to_owned(), value, origin: Origin::Default })
        };
        Self { entries: ROWS.iter().filter_map(entry).collect(), withheld: Vec::new() }
    }
}

impl Layers {
    /// Adds the person's own file; one that is not there says nothing.
    ///
    /// # Errors
    /// When it cannot be read, or holds what no such file can.
    pub fn user(&mut self, path: &Path, home: Option<&Path>) -> Result<(), ConfigError> {
        let Some(text) = file::text(path)? else { return Ok(()) };
        let folder = path.parent().unwrap_or(Path::new("/"));
        let entries = file::parse(&text, &Arc::from(path), Layer::User, Base { folder, home })?;
        self.entries.extend(entries);
        Ok(())
    }

    /// Adds a project's file: what everybody may set, and with the person's trust also what only such a file may.
    pub fn project(&mut self, project: &Project, trusted: bool) {
        for entry in project.entries() {
            let guard = catalogue::row(&entry.key).map_or(Guard::Person, |row| row.guard);
            match guard {
                Guard::Open => self.entries.push(entry.clone()),
                Guard::Trusted if trusted => self.entries.push(entry.clone()),
                Guard::Trusted | Guard::Person => self.withheld.push(entry.clone()),
            }
        }
    }

    /// Adds the variables that begin with `DSH_WASM_`; an empty one says nothing.
    ///
    /// # Errors
    /// When such a variable is none of a key, or its value does not fit.
    pub fn environment<'a>(
        &mut self,
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
        base: Base<'_>,
    ) -> Result<(), ConfigError> {
        for (name, text) in variables {
            if !name.starts_with(VARIABLES) || text.is_empty() {
                continue;
            }
            let origin = Origin::Variable(name.into());
            let is = |row: &&catalogue::Row| row.variable().is_some_and(|known| known == name);
            let Some(row) = ROWS.iter().find(is) else {
                let rest = name.strip_prefix(VARIABLES).unwrap_or_default().to_lowercase();
                let parts: Vec<&str> = rest.splitn(2, '_').collect();
                let nearest = nearest(&parts).and_then(|key| catalogue::row(&key)?.variable());
                return Err(ConfigError::Unknown { origin, key: name.to_owned(), nearest });
            };
            self.text(row, row.name, text, origin, base)?;
        }
        Ok(())
    }

    /// Adds what an option of the command line says.
    ///
    /// # Errors
    /// When there is no such key, or the value does not fit it.
    pub fn flag(
        &mut self,
        flag: &str,
        key: &str,
        text: &str,
        base: Base<'_>,
    ) -> Result<(), ConfigError> {
        let origin = Origin::Flag(flag.into());
        let Some(row) = catalogue::row(key) else {
            let nearest = nearest(&key.split('.').collect::<Vec<_>>());
            return Err(ConfigError::Unknown { origin, key: key.to_owned(), nearest });
        };
        self.text(row, key, text, origin, base)
    }

    fn text(
        &mut self,
        row: &catalogue::Row,
        key: &str,
        text: &str,
        origin: Origin,
        base: Base<'_>,
    ) -> Result<(), ConfigError> {
        let key = key.to_owned();
        match row.kind.read_text(text, base) {
            Ok(value) => {
                self.entries.push(Entry { key, value, origin });
                Ok(())
            }
            Err(Misfit { expected, found }) => {
                Err(ConfigError::Value { origin, key, expected, found })
            }
        }
    }

    /// Lays them over one another.
    ///
    /// # Errors
    /// When keys that hold do not fit together.
    pub fn settle(mut self) -> Result<Settings, ConfigError> {
        // The last of one layer counts, such as an option that is given twice.
        self.entries.sort_by_key(|entry| entry.origin.layer());
        let held: Vec<bool> =
            self.entries.iter().enumerate().map(|(at, _)| self.holds(at)).collect();
        let standing = |holds| if holds { Standing::Holds } else { Standing::Overridden };
        let entries = self.entries.into_iter().zip(held.into_iter().map(standing));
        let withheld = self.withheld.into_iter().map(|entry| (entry, Standing::Withheld));
        Settings::of(entries.chain(withheld).collect())
    }

    /// Whether nothing above the entry at this place stands in its place.
    fn holds(&self, at: usize) -> bool {
        let Some(entry) = self.entries.get(at) else { return false };
        let layer = entry.origin.layer();
        let rules = catalogue::row(&entry.key)
            .is_some_and(|row| matches!(row.kind, catalogue::Kind::Rules));
        let above = self.entries.iter().enumerate().skip(at + 1);
        !above.map(|(_, above)| above).any(|above| {
            let higher = above.origin.layer() > layer;
            let same = above.key == entry.key && !rules;
            // A server is set whole: half a command of one layer is none of another's.
            let server =
                higher && server(&entry.key).is_some_and(|own| server(&above.key) == Some(own));
            // A service is set whole, with its key: a key goes to the service that its own layer, or a higher
            // one, names, and to no other.
            let service = higher
                && (CREDENTIALS.contains(&entry.key.as_str())
                    || SERVICE.contains(&entry.key.as_str()))
                && SERVICE.contains(&above.key.as_str());
            same || server || service
        })
    }
}

/// What is sent to a model's service to be let in.
const CREDENTIALS: [&str; 4] = ["model.key", "model.key-env", "model.key-command", "model.headers"];

/// What says which service that is.
const SERVICE: [&str; 2] = ["model.base-url", "model.provider"];

/// The name of the server that a key is about.
pub(crate) fn server(key: &str) -> Option<&str> {
    key.strip_prefix("mcp.")?.split('.').next()
}
