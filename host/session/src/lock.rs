//! One writer for each log, across processes: a lock that dies with its holder.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::disk::Disk;

/// The lock's file, beside the log. Other readers of the directory ignore it, and it stays when the lock is released:
/// what counts is the lock on it.
const FILE: &str = "writer.lock";

/// Who holds a lock, as the holder wrote it.
const MAX_NAME: u64 = 200;

/// How long a writer waits for a lock, again and again: whoever only looks who holds it has it for less than the
/// first of these.
const MOMENTS: [Duration; 3] =
    [Duration::from_millis(1), Duration::from_millis(9), Duration::from_millis(90)];

/// The right to write a log, until it is dropped.
#[derive(Debug)]
pub(crate) struct WriterLock {
    file: File,
}

impl Drop for WriterLock {
    /// Closing would not do: a process that is just being started holds a copy of every open file for a moment.
    fn drop(&mut self) {
        // What is not unlocked here is unlocked by closing it.
        let _ = self.file.unlock();
    }
}

/// Who writes the session in `dir` just now; none where nobody does.
pub(crate) fn holder(dir: &Path) -> Option<String> {
    let path = dir.join(FILE);
    // Opening anything else could wait, or lead elsewhere.
    path.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
    let file = File::open(path).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(named(file)),
        Ok(()) => {
            let _ = file.unlock();
            None
        }
        Err(TryLockError::Error(_)) => None,
    }
}

/// The holder's name, as it stands in the file.
fn named(file: File) -> String {
    let mut holder = String::new();
    let _ = file.take(MAX_NAME).read_to_string(&mut holder);
    let holder = holder.trim();
    if holder.is_empty() { "another process".into() } else { holder.into() }
}

/// Why there is no lock.
#[derive(Debug)]
pub(crate) enum LockError {
    /// Somebody else has it.
    Held(String),
    /// The file could not be made or locked.
    Io(io::Error),
}

impl WriterLock {
    /// Takes the lock of the session in `dir`, within a tenth of a second or not at all.
    pub(crate) fn take(disk: &dyn Disk, dir: &Path) -> Result<Self, LockError> {
        let mut file = disk.open_lock(&dir.join(FILE)).map_err(LockError::Io)?;
        match patiently(|| file.try_lock()) {
            Ok(()) => {
                // The name is only for whoever is refused: a lock without one still holds.
                let _ = name(&mut file);
                Ok(Self { file })
            }
            Err(TryLockError::WouldBlock) => Err(LockError::Held(named(file))),
            Err(TryLockError::Error(error)) => Err(LockError::Io(error)),
        }
    }
}

/// Tries again at the end of each moment while somebody else has the lock.
fn patiently(mut try_lock: impl FnMut() -> Result<(), TryLockError>) -> Result<(), TryLockError> {
    for moment in MOMENTS {
        match try_lock() {
            Err(TryLockError::WouldBlock) => {}
            done => return done,
        }
        #[expect(clippy::disallowed_methods, reason = "as the system's own waiting for a lock")]
        thread::sleep(moment);
    }
    try_lock()
}

fn name(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "process {}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Files;

    #[test]
    fn a_second_writer_is_refused_with_the_holders_name() {
        let dir = tempfile::tempdir().unwrap();
        let lock = WriterLock::take(&Files, dir.path()).unwrap();
        let Err(LockError::Held(holder)) = WriterLock::take(&Files, dir.path()) else {
            panic!("two writers hold one lock")
        };
        assert_eq!(holder, format!("process {}", std::process::id()));
        drop(lock);
        WriterLock::take(&Files, dir.path()).unwrap();
    }

    #[test]
    fn whoever_only_looks_keeps_no_writer_out() {
        let dir = tempfile::tempdir().unwrap();
        drop(WriterLock::take(&Files, dir.path()).unwrap());
        let writes = File::open(dir.path().join(FILE)).unwrap();
        let looks = File::open(dir.path().join(FILE)).unwrap();
        looks.lock_shared().unwrap();
        let mut tries = 0;
        let taken = patiently(|| {
            tries += 1;
            if tries == 3 {
                looks.unlock().unwrap();
            }
            writes.try_lock()
        });
        assert!(taken.is_ok() && tries == 3, "{taken:?} after {tries}");
        let refused = patiently(|| looks.try_lock());
        assert!(matches!(refused, Err(TryLockError::WouldBlock)), "{refused:?}");
    }

    #[test]
    fn a_copy_of_the_file_in_a_starting_process_holds_no_lock() {
        let dir = tempfile::tempdir().unwrap();
        let lock = WriterLock::take(&Files, dir.path()).unwrap();
        let copy = lock.file.try_clone().unwrap();
        drop(lock);
        WriterLock::take(&Files, dir.path()).unwrap();
        drop(copy);
    }
}
