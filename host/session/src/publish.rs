//! A new log under its name: whole, or not at all.

use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};

use crate::disk::{Disk, write_all};
use crate::write::failed;
use crate::{Encoding, WriteError};

/// Makes the directories of the log at `path` in `root`, down to the disk; gives the last one, the session's own.
pub(crate) fn make_dirs(disk: &dyn Disk, root: &Path, path: &Path) -> Result<PathBuf, WriteError> {
    let dir = path.parent().unwrap_or(root);
    for dir in [root, dir.parent().unwrap_or(root), dir] {
        make_dir(disk, dir)?;
    }
    Ok(dir.into())
}

/// Makes a directory and those above it. One that is there stays as it is; its name goes to the disk even so, as
/// whoever made it may have died before.
fn make_dir(disk: &dyn Disk, dir: &Path) -> Result<(), WriteError> {
    let missing = dir.ancestors().skip(1).take_while(|above| !above.exists());
    let missing: Vec<&Path> = missing.filter(|above| !above.as_os_str().is_empty()).collect();
    for dir in missing.into_iter().rev().chain([dir]) {
        match disk.make_dir(dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(failed(dir, error));
            }
            _ => {
                let above = dir.parent().filter(|above| !above.as_os_str().is_empty());
                let above = above.unwrap_or(if dir.is_absolute() { dir } else { Path::new(".") });
                disk.sync_dir(above).map_err(|error| failed(above, error))?;
            }
        }
    }
    Ok(())
}

/// Writes `content` aside, and gives it its name when it is on disk. The name's directory is not there yet.
pub(crate) fn write_new(disk: &dyn Disk, path: &Path, content: &[u8]) -> Result<File, WriteError> {
    // A log of the other encoding would be a second one of this session.
    for encoding in [Encoding::Zstd, Encoding::Raw] {
        let taken = path.with_file_name(encoding.file_name());
        if is_taken(disk, &taken)? {
            return Err(WriteError::Exists(taken));
        }
    }
    let (aside, file) = write_aside(disk, path, content)?;
    let named = name(disk, &aside, path);
    // After a move nothing is there any more.
    let _ = disk.remove(&aside);
    named.map(|()| file)
}

/// Writes `content` into a new private file beside `path`, down to the disk.
fn write_aside(
    disk: &dyn Disk,
    path: &Path,
    content: &[u8],
) -> Result<(PathBuf, File), WriteError> {
    let random = RandomState::new().build_hasher().finish() >> 16;
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{random:012x}.tmp"));
    let aside = PathBuf::from(name);
    let mut file = disk.create(&aside).map_err(|error| failed(&aside, error))?;
    match write_all(disk, &mut file, content).and_then(|()| disk.sync(&file)) {
        Ok(()) => Ok((aside, file)),
        Err(error) => {
            let _ = disk.remove(&aside);
            Err(failed(&aside, error))
        }
    }
}

/// Gives a file its final name, which must be free.
fn name(disk: &dyn Disk, aside: &Path, path: &Path) -> Result<(), WriteError> {
    match disk.link(aside, path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(WriteError::Exists(path.into()))
        }
        // Some file systems have no hard links. The lock keeps our own kind away between the look and the move.
        Err(_) if !is_taken(disk, path)? => {
            disk.rename(aside, path).map_err(|error| failed(path, error))
        }
        Err(error) => Err(failed(path, error)),
    }
}

/// Whether a name is there; one that cannot be looked at is not overwritten either.
fn is_taken(disk: &dyn Disk, path: &Path) -> Result<bool, WriteError> {
    match disk.named(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(failed(path, error)),
    }
}
