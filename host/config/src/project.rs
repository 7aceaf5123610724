//! A project's file: data, until the person says that it is more.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::catalogue::{self, Guard, Kind};
use crate::{Base, ConfigError, Entry, Layer, Origin, Value, file};

/// Where a project's file is, below the project's folder.
pub const PROJECT_FILE: &str = ".dsh-wasm/config.toml";

/// The file of the project that a folder belongs to, as it was when it was read.
#[derive(Clone, Debug)]
pub struct Project {
    folder: PathBuf,
    file: Arc<Path>,
    entries: Vec<Entry>,
}

/// What a project's file would set, were its folder trusted.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The project's folder, without links.
    pub folder: PathBuf,
    /// Each value, in the order of the file; never none.
    pub values: Vec<Offered>,
}

/// One value of an offer.
#[derive(Clone, Debug)]
pub struct Offered {
    /// Its key.
    pub key: String,
    /// Everything that it says, save a secret.
    pub said: String,
    /// Where it stands.
    pub origin: Origin,
    /// The files of the project's that it would run: they are a part of what is trusted.
    pub files: Vec<PathBuf>,
    /// Of value and files.
    pub(crate) digest: String,
}

impl Project {
    /// The nearest project's file, from `cwd` upward; none where no folder above has one.
    ///
    /// # Errors
    /// When there is one and it cannot be read, or holds what no such file can.
    pub fn find(cwd: &Path, home: Option<&Path>) -> Result<Option<Self>, ConfigError> {
        // Where links lead to is what is trusted, whatever way leads there. A folder that is gone has no project.
        let Ok(cwd) = cwd.canonicalize() else { return Ok(None) };
        for folder in cwd.ancestors() {
            let path = folder.join(PROJECT_FILE);
            let Some(text) = file::text(&path)? else { continue };
            let file = Arc::from(path);
            let entries = file::parse(&text, &file, Layer::Project, Base { folder, home })?;
            return Ok(Some(Self { folder: folder.to_owned(), file, entries }));
        }
        Ok(None)
    }

    /// The project's folder, without links.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// What it says.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What needs the person's trust; none where nothing does.
    #[must_use]
    pub fn offer(&self) -> Option<Offer> {
        let guarded = self.entries.iter().filter_map(|entry| {
            let row = catalogue::row(&entry.key)?;
            (row.guard == Guard::Trusted).then(|| self.offered(entry, row.kind))
        });
        let values: Vec<Offered> = guarded.collect();
        (!values.is_empty()).then(|| Offer { folder: self.folder.clone(), values })
    }

    fn offered(&self, entry: &Entry, kind: Kind) -> Offered {
        let mut digest = Sha256::new();
        part(&mut digest, entry.key.as_bytes());
        part(&mut digest, entry.value.digested().as_bytes());
        let mut files = Vec::new();
        if let (Kind::Command, Value::List(words)) = (kind, &entry.value) {
            for word in words {
                let Some(found) = self.own_file(word) else { continue };
                part(&mut digest, word.as_bytes());
                // A file that cannot be read cannot be run; when it can, its digest is another.
                part(&mut digest, &content(&found).unwrap_or_default());
                files.push(found);
            }
        }
        Offered {
            key: entry.key.clone(),
            said: entry.value.whole(),
            origin: entry.origin.clone(),
            files,
            digest: hex(&digest.finalize()),
        }
    }

    /// The file of the project's that a word of a command names.
    fn own_file(&self, word: &str) -> Option<PathBuf> {
        let found = self.folder.join(word).canonicalize().ok()?;
        (found.starts_with(&self.folder) && found.is_file()).then_some(found)
    }
}

impl Offer {
    /// The digest of each value, by key: what is kept when the person trusts it.
    pub(crate) fn digests(&self) -> BTreeMap<String, String> {
        let digests = self.values.iter().map(|value| (value.key.clone(), value.digest.clone()));
        digests.collect()
    }

    /// One digest of the folder and every value, to trust exactly these without being asked.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut digest = Sha256::new();
        part(&mut digest, self.folder.as_os_str().as_encoded_bytes());
        for (key, value) in self.digests() {
            part(&mut digest, key.as_bytes());
            part(&mut digest, value.as_bytes());
        }
        hex(&digest.finalize())
    }
}

/// Adds a part so that no other parts make the same bytes.
fn part(digest: &mut Sha256, bytes: &[u8]) {
    digest.update((bytes.len() as u64).to_le_bytes());
    digest.update(bytes);
}

fn content(file: &Path) -> io::Result<Vec<u8>> {
    let mut digest = Sha256::new();
    io::copy(&mut File::open(file)?, &mut digest)?;
    Ok(digest.finalize().to_vec())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
