//! One file of settings, read and checked against the catalogue.

use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::catalogue::{self, MAX_FILE};
use crate::nearest::nearest;
use crate::value::Misfit;
use crate::{Base, ConfigError, Layer, Origin, ROWS, Value};

/// A value in the place where it was set.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key, such as `mcp.github.url`.
    pub key: String,
    /// The value.
    pub value: Value,
    /// Where it was set.
    pub origin: Origin,
}

/// The text of a file; none where there is no file.
///
/// # Errors
/// When it cannot be read, is too large, or is no ordinary file: a pipe would be waited for.
pub(crate) fn text(file: &Path) -> Result<Option<String>, ConfigError> {
    let unreadable = |source| ConfigError::Unreadable { file: file.to_owned(), source };
    let no_file = |why| ConfigError::NoFile { file: file.to_owned(), why };
    let absent = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
    let meta = match file.metadata() {
        Ok(meta) => meta,
        Err(error) if absent.contains(&error.kind()) => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    if !meta.is_file() {
        return Err(no_file("it is a folder, a pipe or a device"));
    }
    let mut bytes = Vec::new();
    let opened = File::open(file).map_err(unreadable)?;
    opened.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(no_file("it is larger than 256 KiB"));
    }
    let text = String::from_utf8(bytes).map_err(|_| no_file("it is not UTF-8"))?;
    Ok(Some(text))
}

/// Reads a file's text.
///
/// # Errors
/// When it is not TOML, a key is unknown, or a value does not fit; with the place.
pub(crate) fn parse(
    text: &str,
    file: &Arc<Path>,
    layer: Layer,
    base: Base<'_>,
) -> Result<Vec<Entry>, ConfigError> {
    let walk = Walk { text, file, layer, base };
    let table = DeTable::parse(text).map_err(|error| {
        let origin = walk.origin(error.span().unwrap_or(0..0));
        // The parser's own words may repeat the line, and with it a key.
        let reason = error.message().lines().next().unwrap_or("it cannot be read").to_owned();
        ConfigError::Syntax { origin, reason }
    })?;
    let mut entries = Vec::new();
    walk.table(table.get_ref(), &mut Vec::new(), &mut entries)?;
    entries.sort_by_key(|(start, _)| *start);
    Ok(entries.into_iter().map(|(_, entry)| entry).collect())
}

struct Walk<'a> {
    text: &'a str,
    file: &'a Arc<Path>,
    layer: Layer,
    base: Base<'a>,
}

impl Walk<'_> {
    fn table<'t>(
        &self,
        table: &'t DeTable<'_>,
        path: &mut Vec<&'t str>,
        entries: &mut Vec<(usize, Entry)>,
    ) -> Result<(), ConfigError> {
        for (name, value) in table {
            path.push(name.get_ref());
            self.key(name.span(), value, path, entries)?;
            path.pop();
        }
        Ok(())
    }

    fn key<'t>(
        &self,
        name: Range<usize>,
        value: &'t Spanned<DeValue<'_>>,
        path: &mut Vec<&'t str>,
        entries: &mut Vec<(usize, Entry)>,
    ) -> Result<(), ConfigError> {
        let key = path.join(".");
        let plain = path.iter().all(|part| catalogue::is_name(part));
        if let Some(row) = catalogue::row(&key).filter(|_| plain) {
            let origin = self.origin(value.span());
            let start = name.start;
            let value = row.kind.read(value.get_ref(), self.base);
            let value = value.map_err(|Misfit { expected, found }| ConfigError::Value {
                origin: origin.clone(),
                key: key.clone(),
                expected,
                found,
            })?;
            entries.push((start, Entry { key, value, origin }));
            return Ok(());
        }
        if !plain || !ROWS.iter().any(|row| row.begins(path)) {
            let (origin, nearest) = (self.origin(name), nearest(path));
            return Err(ConfigError::Unknown { origin, key, nearest });
        }
        match value.get_ref() {
            DeValue::Table(table) => self.table(table, path, entries),
            _ => Err(ConfigError::Value {
                origin: self.origin(value.span()),
                key,
                expected: "a table".to_owned(),
                found: "a single value".to_owned(),
            }),
        }
    }

    fn origin(&self, span: Range<usize>) -> Origin {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Origin::File { layer: self.layer, file: Arc::clone(self.file), line, column }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Entry>, String> {
        let base = Base { folder: Path::new("/p"), home: None };
        let file: Arc<Path> = Path::new("c.toml").into();
        parse(text, &file, Layer::User, base).map_err(|error| error.to_string())
    }

    #[test]
    fn every_value_knows_its_line_and_column() {
        let text = "root = '/s' # mine\n[model]\n  name = \"日本\"\n[mcp.a]\ncommand = [\"x\"]\n";
        let entries = read(text).unwrap();
        let places: Vec<_> =
            entries.iter().map(|entry| format!("{} {}", entry.key, entry.origin)).collect();
        assert_eq!(
            places,
            ["root c.toml:1:8", "model.name c.toml:3:10", "mcp.a.command c.toml:5:11"]
        );
        assert_eq!(read("mcp.\"a b\".url = 'http://h'").unwrap_err().lines().count(), 1);
    }

    #[track_caller]
    fn refused(text: &str, said: &str) {
        assert_eq!(read(text).unwrap_err(), said);
    }

    #[test]
    fn an_unknown_key_is_refused_with_its_place_and_the_nearest() {
        refused(
            "[model]\nname = 'a'\n base_url = 'b'\n",
            "c.toml:3:2: there is no key `model.base_url`; did you mean `model.base-url`?",
        );
        refused(
            "[weather]\nurl = 'b'\n",
            "c.toml:1:2: there is no key `weather`; `dsh-wasm config --keys` lists those that there are",
        );
        refused(
            "[mcp.a]\nurls = 'http://h'",
            "c.toml:2:1: there is no key `mcp.a.urls`; did you mean `mcp.a.url`?",
        );
    }

    #[test]
    fn a_value_of_another_kind_is_refused_with_its_place() {
        refused("model = 'a'", "c.toml:1:9: `model` must be a table, not a single value");
        refused(
            "é = 1\n",
            "c.toml:1:1: not TOML: invalid unquoted key, expected letters, numbers, `-`, `_`",
        );
        refused(
            "\n[compaction]\nauto = 'no'",
            "c.toml:3:8: `compaction.auto` must be true or false, not \"no\"",
        );
        let said = read("model.key = ['sk-secret']").unwrap_err();
        assert!(said.starts_with("c.toml:1:13: `model.key` must be a text"), "{said}");
        let said = read("model.key = 'sk-secret\n").unwrap_err();
        assert!(said.starts_with("c.toml:1:") && !said.contains("sk-secret"), "{said}");
    }

    #[test]
    fn only_an_ordinary_file_of_sensible_size_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.toml");
        assert!(text(&file).unwrap().is_none());
        assert!(text(&file.join("below")).unwrap().is_none());
        std::fs::write(&file, "#".repeat(300_000)).unwrap();
        assert!(text(&file).unwrap_err().to_string().ends_with("larger than 256 KiB"));
        std::fs::write(&file, b"\xff").unwrap();
        assert!(text(&file).unwrap_err().to_string().ends_with("not UTF-8"));
        assert!(text(dir.path()).unwrap_err().to_string().contains("a folder"));
    }
}
