//! Which state of a file somebody has seen.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::Stat;

/// One state of one file: any write, rename or replacement gives another.
///
/// Two writes within one tick of the file system's clock that keep the size look alike, as they do to `make`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    pub(crate) len: u64,
    modified: (i64, u64),
}

impl Stamp {
    #[expect(clippy::unnecessary_cast, reason = "the fields have other types on another system")]
    pub(crate) fn of(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            len: u64::try_from(stat.st_size).unwrap_or_default(),
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as u64),
        }
    }
}

/// Which state of which file the model has seen, in one session and one process.
#[derive(Debug, Default)]
pub(crate) struct Seen(Mutex<HashMap<PathBuf, Stamp>>);

impl Seen {
    pub(crate) fn note(&self, path: &Path, stamp: Stamp) {
        self.lock().insert(path.to_owned(), stamp);
    }

    pub(crate) fn of(&self, path: &Path) -> Option<Stamp> {
        self.lock().get(path).copied()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, Stamp>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
