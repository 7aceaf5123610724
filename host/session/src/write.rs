//! Batches into a log's file: the first one whole or not at all, each acknowledged when the disk has it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::batch::write_rows;
use crate::lock::{LockError, WriterLock};
use crate::log::Torn;
use crate::{Encoding, Event, Header, frames, path};

/// Why a batch was not written. The log is as it was before.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// Another process, or another part of this one, writes the log.
    #[error("{holder} writes this session already")]
    Held {
        /// Who.
        holder: String,
    },
    /// A new session's log exists already; it is never overwritten.
    #[error("a log exists already at {path}", path = .0.display())]
    Exists(PathBuf),
    /// The session has no place on disk: its id or its working directory is empty.
    #[error("a session with an empty id or working directory has no place on disk")]
    NoPlace,
    /// The file is not the one that was opened: it was replaced, removed, or somebody else wrote into it.
    #[error("{path} was changed by somebody else", path = .0.display())]
    Changed(PathBuf),
    /// The disk refused.
    #[error("{path} cannot be written: {why}", path = .path.display())]
    Io {
        /// Which file or directory.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
    /// The write was given up, as the runtime is shutting down.
    #[error("the write was given up, as the runtime is shutting down")]
    GivenUp,
}

/// The only one who writes a log.
#[derive(Debug)]
pub(crate) struct LogWriter {
    path: PathBuf,
    encoding: Encoding,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Nothing is on disk yet.
    New { root: PathBuf, header: String },
    /// The file has these many bytes.
    Open { file: File, length: u64, clean: bool, _lock: WriterLock },
}

impl LogWriter {
    /// A log that comes to be with its first batch.
    pub(crate) fn create(
        root: &Path,
        header: &Header,
        encoding: Encoding,
    ) -> Result<Self, WriteError> {
        let path = path::log_path(root, header, encoding).ok_or(WriteError::NoPlace)?;
        let mut line = header.line();
        line.push('\n');
        Ok(Self { path, encoding, state: State::New { root: root.into(), header: line } })
    }

    /// The lock of an existing log, before it is read for writing.
    pub(crate) fn lock(path: &Path) -> Result<WriterLock, WriteError> {
        let dir = path.parent().unwrap_or(path);
        WriterLock::take(dir).map_err(|error| refused(dir, error))
    }

    /// An existing log of `length` bytes.
    pub(crate) fn open(
        path: &Path,
        encoding: Encoding,
        length: u64,
        lock: WriterLock,
    ) -> Result<Self, WriteError> {
        let file =
            OpenOptions::new().append(true).open(path).map_err(|error| failed(path, error))?;
        let state = State::Open { file, length, clean: true, _lock: lock };
        Ok(Self { path: path.into(), encoding, state })
    }

    /// Cuts what a write did not finish, and writes again what could be read of it, with `closers` after it.
    pub(crate) fn repair(
        &mut self,
        torn: Option<Torn>,
        closers: &[Event],
    ) -> Result<(), WriteError> {
        let mut events = Vec::new();
        if let Some(torn) = torn {
            self.check_unchanged()?;
            if let State::Open { length, clean, .. } = &mut self.state {
                *length = torn.keep;
                *clean = false;
            }
            events = torn.recovered;
        }
        events.extend_from_slice(closers);
        self.cut()?;
        match events.is_empty() {
            true => Ok(()),
            false => self.append(&events),
        }
    }

    /// Writes `events` as one batch. They are on disk when it returns, or none of them is.
    pub(crate) fn append(&mut self, events: &[Event]) -> Result<(), WriteError> {
        let mut rows = String::new();
        write_rows(events, &mut rows);
        let batch = match self.encoding {
            Encoding::Raw => rows.into_bytes(),
            Encoding::Zstd => {
                frames::encode(rows.as_bytes()).map_err(|error| failed(&self.path, error))?
            }
        };
        match &self.state {
            State::New { root, header } => {
                let (root, header) = (root.clone(), header.clone());
                self.publish(&root, header.as_bytes(), &batch)
            }
            State::Open { .. } => self.extend(&batch),
        }
    }

    fn extend(&mut self, batch: &[u8]) -> Result<(), WriteError> {
        self.cut()?;
        self.check_unchanged()?;
        let State::Open { file, length, clean, .. } = &mut self.state else {
            return Ok(());
        };
        let written = file.write_all(batch).and_then(|()| file.sync_all());
        match written {
            Ok(()) => {
                *length += batch.len() as u64;
                Ok(())
            }
            Err(error) => {
                *clean = false;
                // Should this fail too, the next batch tries again before it writes.
                let _ = self.cut();
                Err(failed(&self.path, error))
            }
        }
    }

    /// Takes back what a failed write left behind.
    fn cut(&mut self) -> Result<(), WriteError> {
        let State::Open { file, length, clean, .. } = &mut self.state else { return Ok(()) };
        if !*clean {
            let cut = file.set_len(*length).and_then(|()| file.sync_all());
            cut.map_err(|error| failed(&self.path, error))?;
            *clean = true;
        }
        Ok(())
    }

    /// Appending to a file that is not the one that was read would make a log that nobody can read.
    fn check_unchanged(&self) -> Result<(), WriteError> {
        let State::Open { file, length, .. } = &self.state else { return Ok(()) };
        let named = fs::symlink_metadata(&self.path);
        let opened = file.metadata().map_err(|error| failed(&self.path, error))?;
        match named {
            Ok(named) if same_file(&named, &opened) && opened.len() == *length => Ok(()),
            Ok(_) => Err(WriteError::Changed(self.path.clone())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(WriteError::Changed(self.path.clone()))
            }
            Err(error) => Err(failed(&self.path, error)),
        }
    }

    /// Writes header and first batch aside, and gives them their name when they are on disk.
    fn publish(&mut self, root: &Path, header: &[u8], batch: &[u8]) -> Result<(), WriteError> {
        let dir = self.path.parent().unwrap_or(root).to_owned();
        let project = dir.parent().unwrap_or(root);
        for directory in [root, project, &dir] {
            make_dir(directory)?;
        }
        let lock = WriterLock::take(&dir).map_err(|error| refused(&dir, error))?;
        for encoding in [Encoding::Zstd, Encoding::Raw] {
            let other = dir.join(encoding.file_name());
            if fs::symlink_metadata(&other).is_ok() {
                return Err(WriteError::Exists(other));
            }
        }
        let header = match self.encoding {
            Encoding::Raw => header.to_vec(),
            Encoding::Zstd => frames::encode(header).map_err(|error| failed(&self.path, error))?,
        };
        let content = [header.as_slice(), batch].concat();
        let (aside, file) = write_aside(&self.path, &content)?;
        let named = name(&aside, &self.path);
        let _ = fs::remove_file(&aside);
        named?;
        if let Err(error) = sync_dir(&dir) {
            // Not acknowledged, so not to be found: the next commit makes it anew.
            let _ = fs::remove_file(&self.path);
            return Err(error);
        }
        let length = content.len() as u64;
        self.state = State::Open { file, length, clean: true, _lock: lock };
        Ok(())
    }
}

/// Gives a file its final name, which must be free.
fn name(aside: &Path, path: &Path) -> Result<(), WriteError> {
    match fs::hard_link(aside, path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(WriteError::Exists(path.into()))
        }
        // Some file systems have no hard links. The lock keeps our own kind away between the look and the move.
        Err(_) if fs::symlink_metadata(path).is_err() => {
            fs::rename(aside, path).map_err(|error| failed(path, error))
        }
        Err(error) => Err(failed(path, error)),
    }
}

/// Writes `content` into a new private file beside `path`, down to the disk.
fn write_aside(path: &Path, content: &[u8]) -> Result<(PathBuf, File), WriteError> {
    let random = RandomState::new().build_hasher().finish() >> 16;
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{random:012x}.tmp"));
    let aside = PathBuf::from(name);
    let mut options = OpenOptions::new();
    options.append(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&aside).map_err(|error| failed(&aside, error))?;
    match file.write_all(content).and_then(|()| file.sync_all()) {
        Ok(()) => Ok((aside, file)),
        Err(error) => {
            let _ = fs::remove_file(&aside);
            Err(failed(&aside, error))
        }
    }
}

/// Makes a directory that only its owner can look into, and those above it, down to the disk. One that is there stays
/// as it is; its name goes to the disk even so, as whoever made it may have died before.
fn make_dir(dir: &Path) -> Result<(), WriteError> {
    let missing = dir.ancestors().skip(1).take_while(|above| !above.exists());
    let missing: Vec<&Path> = missing.filter(|above| !above.as_os_str().is_empty()).collect();
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    for dir in missing.into_iter().rev().chain([dir]) {
        match builder.create(dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(failed(dir, error));
            }
            _ => sync_dir(dir.parent().unwrap_or(dir))?,
        }
    }
    Ok(())
}

/// Brings the names in `dir` to the disk.
fn sync_dir(dir: &Path) -> Result<(), WriteError> {
    if cfg!(unix) {
        let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
        File::open(dir).and_then(|dir| dir.sync_all()).map_err(|error| failed(dir, error))?;
    }
    Ok(())
}

#[cfg(unix)]
fn same_file(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn same_file(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    one.created().ok() == other.created().ok() && one.len() == other.len()
}

fn failed(path: &Path, why: io::Error) -> WriteError {
    WriteError::Io { path: path.into(), why }
}

fn refused(dir: &Path, error: LockError) -> WriteError {
    match error {
        LockError::Held(holder) => WriteError::Held { holder },
        LockError::Io(error) => failed(dir, error),
    }
}
