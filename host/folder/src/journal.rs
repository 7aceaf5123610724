//! Files of JSON lines that are only ever added to.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use crate::error::FolderError;

/// Bytes after which a rotated file is put aside: a line of a call has about 300.
const ROTATED_BYTES: u64 = 4 << 20;

/// A file of JSON lines.
///
/// A line is written at once, so that lines of several processes stand whole beside each other.
#[derive(Clone, Debug)]
pub struct Journal {
    file: PathBuf,
    rotated: bool,
}

impl Journal {
    /// One that nothing is ever taken from.
    pub(crate) fn endless(file: PathBuf) -> Journal {
        Journal { file, rotated: false }
    }

    /// One whose oldest lines go: what is in it, and as much again, is kept.
    pub(crate) fn rotated(file: PathBuf) -> Journal {
        Journal { file, rotated: true }
    }

    /// Where it is.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Adds a line.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn add(&self, entry: &impl Serialize) -> Result<(), FolderError> {
        let failed = || FolderError::io(&self.file, "written");
        if let Some(dir) = self.file.parent() {
            fs::create_dir_all(dir).map_err(FolderError::io(dir, "made"))?;
        }
        let mut line = serde_json::to_vec(entry).map_err(|err| failed()(err.into()))?;
        line.push(b'\n');
        let mut file =
            File::options().create(true).append(true).open(&self.file).map_err(failed())?;
        if self.rotated && file.metadata().map_err(failed())?.len() >= ROTATED_BYTES {
            // Another process may have put it aside just now; then its file is a new one, and this one's the old.
            fs::rename(&self.file, self.aside()).map_err(failed())?;
            file = File::options().create(true).append(true).open(&self.file).map_err(failed())?;
        }
        file.write_all(&line).map_err(failed())
    }

    /// Gives every line to `take`, the oldest first. A line that is no JSON, as one that a full disk cut, is passed
    /// over.
    ///
    /// # Errors
    ///
    /// When the file is there and cannot be read.
    pub fn each(&self, mut take: impl FnMut(Value)) -> Result<(), FolderError> {
        let aside = self.rotated.then(|| self.aside());
        for path in aside.iter().chain([&self.file]) {
            let file = match File::open(path) {
                Err(err) if err.kind() == ErrorKind::NotFound => continue,
                file => file.map_err(FolderError::io(path, "read"))?,
            };
            for line in BufReader::new(file).split(b'\n') {
                let line = line.map_err(FolderError::io(path, "read"))?;
                if let Ok(value) = serde_json::from_slice(&line) {
                    take(value);
                }
            }
        }
        Ok(())
    }

    fn aside(&self) -> PathBuf {
        self.file.with_extension("old.jsonl")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(journal: &Journal) -> Vec<Value> {
        let mut lines = Vec::new();
        journal.each(|line| lines.push(line)).expect("it is read");
        lines
    }

    #[test]
    fn lines_are_read_in_order_and_what_is_cut_is_passed_over() {
        let dir = tempfile::tempdir().expect("a folder");
        let journal = Journal::endless(dir.path().join("new/a.jsonl"));
        assert!(lines(&journal).is_empty());
        journal.add(&1).expect("written");
        fs::write(journal.file(), "1\n{\"cut\n").expect("written");
        journal.add(&"two\nlines").expect("written");
        assert_eq!(lines(&journal), [Value::from(1), "two\nlines".into()]);
    }

    #[test]
    fn a_rotated_file_stays_small_and_an_endless_one_whole() {
        let dir = tempfile::tempdir().expect("a folder");
        let rotated = Journal::rotated(dir.path().join("a.jsonl"));
        let endless = Journal::endless(dir.path().join("b.jsonl"));
        let long = "x".repeat(1 << 20);
        for number in 0..12 {
            rotated.add(&(number, &long)).expect("written");
            endless.add(&(number, &long)).expect("written");
        }
        let numbers =
            |journal| lines(journal).iter().map(|line| line[0].clone()).collect::<Vec<_>>();
        assert_eq!(numbers(&rotated), [4, 5, 6, 7, 8, 9, 10, 11]);
        assert_eq!(numbers(&endless).len(), 12);
    }
}
