//! Batches into a log's file: the first one whole or not at all, each acknowledged when the disk has it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

use crate::batch::write_rows;
use crate::compressor::Compressor;
use crate::disk::{Disk, write_all};
use crate::lock::{LockError, WriterLock};
use crate::log::Torn;
use crate::{Encoding, Event, Events, Header, path, publish};

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
    disk: Arc<dyn Disk>,
    state: State,
    /// None before the first frame, and in raw logs.
    compressor: Option<Compressor>,
}

#[derive(Debug)]
enum State {
    /// Nothing is on disk yet, unless the disk refused even to take a first batch back: then the lock keeps everybody
    /// from what was `left` until it is.
    New { root: PathBuf, header: String, left: Option<WriterLock> },
    /// The file has these many bytes.
    Open { file: File, length: u64, clean: bool, _lock: WriterLock },
}

impl LogWriter {
    /// A log that comes to be with its first batch.
    pub(crate) fn create(
        disk: Arc<dyn Disk>,
        root: &Path,
        header: &Header,
        encoding: Encoding,
    ) -> Result<Self, WriteError> {
        let path = path::log_path(root, header, encoding).ok_or(WriteError::NoPlace)?;
        let mut line = header.line();
        line.push('\n');
        let state = State::New { root: root.into(), header: line, left: None };
        Ok(Self { path, encoding, disk, state, compressor: None })
    }

    /// The lock of an existing log, before it is read for writing.
    pub(crate) fn lock(disk: &dyn Disk, path: &Path) -> Result<WriterLock, WriteError> {
        let dir = path.parent().unwrap_or(path);
        WriterLock::take(disk, dir).map_err(|error| refused(dir, error))
    }

    /// An existing log of `length` bytes.
    pub(crate) fn open(
        disk: Arc<dyn Disk>,
        path: &Path,
        encoding: Encoding,
        length: u64,
        lock: WriterLock,
    ) -> Result<Self, WriteError> {
        let file = disk.open(path).map_err(|error| failed(path, error))?;
        let state = State::Open { file, length, clean: true, _lock: lock };
        Ok(Self { path: path.into(), encoding, disk, state, compressor: None })
    }

    /// Cuts what a write did not finish, and writes again what could be read of it, with `closers` after it.
    pub(crate) fn repair(
        &mut self,
        torn: Option<Torn>,
        closers: &[Event],
    ) -> Result<(), WriteError> {
        let mut events = Events::default();
        if let Some(torn) = torn {
            self.check_unchanged()?;
            if let State::Open { length, clean, .. } = &mut self.state {
                *length = torn.keep;
                *clean = false;
            }
            events = torn.recovered;
        }
        events.extend(closers.iter().cloned());
        self.cut()?;
        match events.is_empty() {
            true => Ok(()),
            false => self.append(&events),
        }
    }

    /// Writes `events` as one batch. They are on disk when it returns, or none of them is.
    pub(crate) fn append(&mut self, events: &Events) -> Result<(), WriteError> {
        let batch = self.encode(events).map_err(|error| failed(&self.path, error))?;
        match &self.state {
            State::New { .. } => self.publish(&batch),
            State::Open { .. } => self.extend(&batch),
        }
    }

    /// The bytes of a batch; those of the first one begin with the header.
    fn encode(&mut self, events: &Events) -> io::Result<Vec<u8>> {
        let mut rows = match &self.state {
            State::New { header, .. } => header.clone(),
            State::Open { .. } => String::new(),
        };
        let mut batch = Vec::new();
        if self.encoding == Encoding::Zstd && !rows.is_empty() {
            batch = self.frame(rows.as_bytes())?;
            rows.clear();
        }
        write_rows(events, &mut rows);
        match self.encoding {
            Encoding::Raw => return Ok(rows.into_bytes()),
            Encoding::Zstd => batch.extend(self.frame(rows.as_bytes())?),
        }
        Ok(batch)
    }

    fn frame(&mut self, content: &[u8]) -> io::Result<Vec<u8>> {
        match &mut self.compressor {
            Some(compressor) => compressor.frame(content),
            none => none.insert(Compressor::new()?).frame(content),
        }
    }

    fn extend(&mut self, batch: &[u8]) -> Result<(), WriteError> {
        self.cut()?;
        self.check_unchanged()?;
        let State::Open { file, length, clean, .. } = &mut self.state else {
            return Ok(());
        };
        match write_all(&*self.disk, file, batch).and_then(|()| self.disk.sync(file)) {
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
            let cut = self.disk.cut(file, *length).and_then(|()| self.disk.sync(file));
            cut.map_err(|error| failed(&self.path, error))?;
            *clean = true;
        }
        Ok(())
    }

    /// Appending to a file that is not the one that was read would make a log that nobody can read.
    ///
    /// A file of another number is the one that was read if it is as long and ends alike: mounts over a network may
    /// number files anew at every look, and who copies a log back has put a new file there. From then on that one is
    /// written.
    fn check_unchanged(&mut self) -> Result<(), WriteError> {
        let (disk, path) = (&*self.disk, &self.path);
        let State::Open { file, length, .. } = &mut self.state else { return Ok(()) };
        let gone = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => WriteError::Changed(path.clone()),
            _ => failed(path, error),
        };
        let named = disk.named(path).map_err(gone)?;
        let opened = disk.opened(file).map_err(|error| failed(path, error))?;
        if named.length != *length {
            return Err(WriteError::Changed(path.clone()));
        }
        if named.file != opened.file {
            let other = disk.open(path).map_err(gone)?;
            let ends = tail(file, *length).and_then(|ours| Ok(ours == tail(&other, *length)?));
            if !ends.map_err(|error| failed(path, error))? {
                return Err(WriteError::Changed(path.clone()));
            }
            *file = other;
        }
        Ok(())
    }

    /// The first batch.
    fn publish(&mut self, batch: &[u8]) -> Result<(), WriteError> {
        let State::New { root, left, .. } = &mut self.state else { return Ok(()) };
        let dir = publish::make_dirs(&*self.disk, root, &self.path)?;
        let left = left.take();
        let lock = match left {
            None => Self::lock(&*self.disk, &self.path)?,
            Some(lock) => self.take_back(lock)?,
        };
        let file = publish::write_new(&*self.disk, &self.path, batch)?;
        if let Err(error) = self.disk.sync_dir(&dir) {
            // Not acknowledged, so not to be found: the next commit makes it anew.
            let _ = self.take_back(lock);
            return Err(failed(&dir, error));
        }
        let length = batch.len() as u64;
        self.state = State::Open { file, length, clean: true, _lock: lock };
        Ok(())
    }

    /// Takes away a first batch that was written and cannot be acknowledged; should that fail, its lock is kept and
    /// the next batch tries again.
    fn take_back(&mut self, lock: WriterLock) -> Result<WriterLock, WriteError> {
        match self.disk.remove(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                if let State::New { left, .. } = &mut self.state {
                    *left = Some(lock);
                }
                Err(failed(&self.path, error))
            }
            _ => Ok(lock),
        }
    }
}

/// The last bytes of a file that are compared.
const TAIL: u64 = 1 << 16;

/// The end of the first `length` bytes of a file.
fn tail(mut file: &File, length: u64) -> io::Result<Vec<u8>> {
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    file.take(length.min(TAIL)).read_to_end(&mut tail)?;
    Ok(tail)
}

pub(crate) fn failed(path: &Path, why: io::Error) -> WriteError {
    WriteError::Io { path: path.into(), why }
}

fn refused(dir: &Path, error: LockError) -> WriteError {
    match error {
        LockError::Held(holder) => WriteError::Held { holder },
        LockError::Io(error) => failed(dir, error),
    }
}
