//! The folder itself: what lies where, how it is read, and how it is changed by one at a time.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use dsh_plugin_host::{Manifest, OperatorFile};
use tempfile::NamedTempFile;

use crate::digest::Digest;
use crate::edits::Edits;
use crate::error::FolderError;
use crate::fetch::{self, Fetched};
use crate::journal::Journal;
use crate::lock::{Lock, Pin};

/// A folder of installed plugins. It need not exist: adding the first plugin makes it.
///
/// ```text
/// plugins.toml   the operator's file: order, grants, limits, settings
/// plugins.lock   which bytes are installed, and which were before
/// components/    components and manifests, each under its SHA-256
/// standing/      faults in a row and quarantine, a file for each plugin that has any
/// audit.jsonl    loads, grants, denials, quarantines, changed and dropped user messages; only ever added to
/// calls.jsonl    each call, with what it used up; the oldest go
/// log.jsonl      what plugins log; the oldest go
/// ```
#[derive(Clone, Debug)]
pub struct Folder {
    dir: PathBuf,
}

/// What a folder holds, read at one time.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Contents {
    /// The operator's file.
    pub operator: OperatorFile,
    /// Its text.
    pub text: String,
    /// The lock file.
    pub lock: Lock,
}

/// A folder that is being changed; nobody else changes it meanwhile. What is not [kept](Change::keep) is as if it
/// had never been.
#[derive(Debug)]
pub struct Change {
    folder: Folder,
    /// The operator's file.
    pub edits: Edits,
    /// The lock file.
    pub lock: Lock,
    /// Held until the value is dropped.
    _changing: File,
}

impl Folder {
    /// The folder at `dir`.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>) -> Folder {
        Folder { dir: dir.into() }
    }

    /// Where it is.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The operator's file.
    #[must_use]
    pub fn operator_file(&self) -> PathBuf {
        self.dir.join("plugins.toml")
    }

    fn lock_file(&self) -> PathBuf {
        self.dir.join("plugins.lock")
    }

    fn components(&self) -> PathBuf {
        self.dir.join("components")
    }

    /// Where the standing of the plugin with this id is kept. Slashes of an id make no folders.
    pub(crate) fn standing_file(&self, id: &str) -> PathBuf {
        self.dir.join("standing").join(format!("{}.json", Digest::of(id.as_bytes()).short()))
    }

    /// The append-only file of what was decided.
    #[must_use]
    pub fn audit(&self) -> Journal {
        Journal::endless(self.dir.join("audit.jsonl"))
    }

    /// The file of calls.
    #[must_use]
    pub fn calls(&self) -> Journal {
        Journal::rotated(self.dir.join("calls.jsonl"))
    }

    /// The file of what plugins log.
    #[must_use]
    pub fn log(&self) -> Journal {
        Journal::rotated(self.dir.join("log.jsonl"))
    }

    /// Reads what it holds; of a folder that is not there, nothing.
    ///
    /// # Errors
    ///
    /// When the operator's file or the lock file cannot be read, or is not right.
    pub fn read(&self) -> Result<Contents, FolderError> {
        let file = self.operator_file();
        let text = text(&file)?;
        let operator = OperatorFile::parse(&text)
            .map_err(|reason| FolderError::Operator { file: file.clone(), reason })?;
        let file = self.lock_file();
        let lock = Lock::parse(&self::text(&file)?)
            .map_err(|reason| FolderError::Lock { file, reason })?;
        Ok(Contents { operator, text, lock })
    }

    /// Begins a change, and waits for whoever changes the folder now.
    ///
    /// # Errors
    ///
    /// As [`Folder::read`]; also when the folder cannot be made.
    pub fn change(&self) -> Result<Change, FolderError> {
        fs::create_dir_all(&self.dir).map_err(FolderError::io(&self.dir, "made"))?;
        let path = self.dir.join(".changing");
        let changing = File::options().create(true).truncate(false).write(true).open(&path);
        let changing = changing.map_err(FolderError::io(&path, "opened"))?;
        changing.lock().map_err(FolderError::io(&path, "locked"))?;
        let Contents { text, lock, .. } = self.read()?;
        let edits = Edits::new(self.operator_file(), &text)?;
        Ok(Change { folder: self.clone(), edits, lock, _changing: changing })
    }

    /// The manifest and the component of a pin.
    ///
    /// # Errors
    ///
    /// When one cannot be read, or is not the one that was pinned.
    pub fn pinned(&self, pin: &Pin) -> Result<(Manifest, Vec<u8>), FolderError> {
        let wasm = self.held(&pin.component)?;
        Ok((self.manifest(pin)?, wasm))
    }

    /// The manifest of a pin.
    ///
    /// # Errors
    ///
    /// As [`Folder::pinned`].
    pub fn manifest(&self, pin: &Pin) -> Result<Manifest, FolderError> {
        let text = String::from_utf8_lossy(&self.held(&pin.manifest)?).into_owned();
        let place = self.components().join(pin.manifest.as_str()).display().to_string();
        Manifest::parse(&text).map_err(|reason| FolderError::Manifest { place, reason })
    }

    fn held(&self, pinned: &Digest) -> Result<Vec<u8>, FolderError> {
        let path = self.components().join(pinned.as_str());
        let bytes = fetch::read(&path)?;
        let found = Digest::of(&bytes);
        if found == *pinned {
            return Ok(bytes);
        }
        Err(FolderError::Changed {
            place: path.display().to_string(),
            pinned: pinned.clone(),
            found,
        })
    }

    /// Keeps what came from a source, so that its source can go. It counts once a lock file names it.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn store(&self, fetched: &Fetched) -> Result<Pin, FolderError> {
        let pin = fetched.pin();
        let dir = self.components();
        fs::create_dir_all(&dir).map_err(FolderError::io(&dir, "made"))?;
        write(&dir.join(pin.component.as_str()), &fetched.wasm)?;
        write(&dir.join(pin.manifest.as_str()), fetched.text.as_bytes())?;
        Ok(pin)
    }
}

impl Change {
    /// Makes the change: the lock file first, then the operator's file, each whole or not at all.
    ///
    /// # Errors
    ///
    /// When what was made of the operator's file is not one, or a file cannot be written.
    pub fn keep(self) -> Result<(), FolderError> {
        let Change { folder, edits, lock, _changing } = self;
        let (file, text) = (folder.operator_file(), edits.text());
        OperatorFile::parse(&text)
            .map_err(|reason| FolderError::Operator { file: file.clone(), reason })?;
        write(&folder.lock_file(), lock.text().as_bytes())?;
        write(&file, text.as_bytes())?;
        folder.sweep(&lock)
    }
}

impl Folder {
    /// Removes components that no pin names any more.
    fn sweep(&self, lock: &Lock) -> Result<(), FolderError> {
        let dir = self.components();
        let entries = match fs::read_dir(&dir) {
            Err(err) if err.kind() == ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(FolderError::io(&dir, "read"))?,
        };
        let named: HashSet<&str> = lock.digests().map(Digest::as_str).collect();
        for entry in entries {
            let entry = entry.map_err(FolderError::io(&dir, "read"))?;
            let name = entry.file_name();
            let digest = name.to_str().filter(|name| name.parse::<Digest>().is_ok());
            if digest.is_some_and(|digest| !named.contains(digest)) {
                let path = entry.path();
                fs::remove_file(&path).map_err(FolderError::io(&path, "removed"))?;
            }
        }
        Ok(())
    }
}

/// The text of a file; empty where there is none.
fn text(file: &Path) -> Result<String, FolderError> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(text),
        Err(err) if err.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(err) => Err(FolderError::io(file, "read")(err)),
    }
}

/// Writes a file whole or not at all: whoever reads it meanwhile finds the old one.
pub(crate) fn write(file: &Path, bytes: &[u8]) -> Result<(), FolderError> {
    let failed = || FolderError::io(file, "written");
    let dir = file.parent().unwrap_or(Path::new("."));
    let mut temporary = NamedTempFile::new_in(dir).map_err(failed())?;
    temporary.write_all(bytes).map_err(failed())?;
    temporary.as_file().sync_all().map_err(failed())?;
    temporary.persist(file).map_err(|err| failed()(err.error))?;
    Ok(())
}
