//! One place in a workspace: what stands there, and how it is opened and replaced.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, fchmod, fchown, fstat, fsync, mkdirat, openat, renameat,
    statat, unlinkat,
};
use rustix::io::Errno;

use crate::FileError;
use crate::stamp::Stamp;

/// Most bytes of a file that is changed whole.
pub(crate) const MOST: u64 = 8 << 20;

/// Where a walk ended.
pub(crate) struct Place {
    /// The folder that holds it, or the last one on the way that exists.
    pub(crate) folder: OwnedFd,
    /// Folders between it and the file that do not exist yet.
    pub(crate) missing: Vec<OsString>,
    /// The file in it; `.` for the folder itself.
    pub(crate) name: OsString,
    /// Absolute and without links.
    pub(crate) real: PathBuf,
    /// For people and models.
    pub(crate) shown: String,
    /// What stands there.
    pub(crate) kind: Option<FileType>,
}

impl Place {
    /// Opens a regular file for reading.
    pub(crate) fn open(&self) -> Result<(File, Stamp), FileError> {
        let path = || self.shown.clone();
        match self.kind {
            None => return Err(FileError::Missing { path: path() }),
            Some(FileType::Directory) => return Err(FileError::Folder { path: path() }),
            Some(FileType::RegularFile) => {}
            Some(_) => return Err(FileError::Special { path: path() }),
        }
        // Should it have become a pipe meanwhile, opening it does not wait for a writer.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.folder, &self.name, flags, Mode::empty());
        let file = file.map_err(|error| FileError::io(&self.shown, error))?;
        let stat = fstat(&file).map_err(|error| FileError::io(&self.shown, error))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(FileError::Special { path: path() });
        }
        Ok((File::from(file), Stamp::of(&stat)))
    }

    /// Whether it is a folder that exists.
    pub(crate) fn is_folder(&self) -> Result<(), FileError> {
        match self.kind {
            Some(FileType::Directory) => Ok(()),
            None => Err(FileError::Missing { path: self.shown.clone() }),
            Some(_) => {
                Err(FileError::NotFolder { path: self.shown.clone(), at: self.shown.clone() })
            }
        }
    }

    /// Whether anything stands there.
    pub(crate) fn exists(&self) -> Result<(), FileError> {
        self.kind.map(drop).ok_or_else(|| FileError::Missing { path: self.shown.clone() })
    }

    /// The text of a file; none where nothing is there.
    pub(crate) fn text(&self) -> Result<Option<(String, Stamp)>, FileError> {
        if self.kind.is_none() {
            return Ok(None);
        }
        let (file, stamp) = self.open()?;
        let (path, bytes) = (self.shown.clone(), stamp.len);
        if bytes > MOST {
            return Err(FileError::Large { path, bytes, most: MOST });
        }
        let mut held = Vec::new();
        // One more than may be: it could grow while it is read.
        let read = file.take(MOST + 1).read_to_end(&mut held);
        read.map_err(|error| FileError::io(&self.shown, error))?;
        if held.len() as u64 > MOST {
            return Err(FileError::Large { path, bytes: held.len() as u64, most: MOST });
        }
        if held.contains(&0) {
            return Err(FileError::Binary { path, bytes });
        }
        match String::from_utf8(held) {
            Ok(text) => Ok(Some((text, stamp))),
            Err(error) => Err(FileError::Encoding { path, at: error.utf8_error().valid_up_to() }),
        }
    }

    /// Puts `text` there in one step, with the mode of what stood there; readers see the old file or the new one.
    ///
    /// `before` is what stood there when it was looked at; anything else now is an error.
    pub(crate) fn replace(&self, text: &str, before: Option<Stamp>) -> Result<Stamp, FileError> {
        self.write(text, before).map_err(|error| match error {
            Failed::File(error) => error,
            Failed::System(error) => FileError::io(&self.shown, error),
        })
    }

    fn write(&self, text: &str, before: Option<Stamp>) -> Result<Stamp, Failed> {
        let made = self.make_folders()?;
        let folder = made.as_ref().unwrap_or(&self.folder);
        // What replaces a file is nobody else's to read before it has the file's mode.
        let mode = if before.is_some() { 0o600 } else { 0o666 };
        let temporary = self.temporary(folder, Mode::from_raw_mode(mode))?;
        let written = self.fill(folder, &temporary, text, before);
        if written.is_err() {
            // What is left behind would only be litter; the failure itself is what counts.
            let _ = unlinkat(folder, &temporary.name, AtFlags::empty());
        }
        written
    }

    fn fill(
        &self,
        folder: &OwnedFd,
        temporary: &Temporary,
        text: &str,
        before: Option<Stamp>,
    ) -> Result<Stamp, Failed> {
        let mut file = &temporary.file;
        file.write_all(text.as_bytes())?;
        let now = match statat(folder, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Some(stat),
            Err(Errno::NOENT) => None,
            Err(error) => return Err(error.into()),
        };
        if now.as_ref().map(Stamp::of) != before {
            return Err(
                FileError::Changed { path: self.shown.clone(), since: "it was looked at" }.into()
            );
        }
        if let Some(stat) = now {
            // The owner stays where the system lets us give files away; else it is ours, as with every editor.
            let (user, group) =
                (rustix::fs::Uid::from_raw(stat.st_uid), rustix::fs::Gid::from_raw(stat.st_gid));
            let _ = fchown(file.as_fd(), Some(user), Some(group));
            fchmod(file.as_fd(), Mode::from_raw_mode(stat.st_mode & 0o7777))?;
        }
        fsync(file.as_fd())?;
        renameat(folder, &temporary.name, folder, &self.name)?;
        Ok(Stamp::of(&fstat(file.as_fd())?))
    }

    /// Makes the folders that are missing, and opens the last of them.
    fn make_folders(&self) -> Result<Option<OwnedFd>, Failed> {
        let mut last: Option<OwnedFd> = None;
        for name in &self.missing {
            let here = last.as_ref().unwrap_or(&self.folder);
            match mkdirat(here, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
            last = Some(openat(here, name, flags, Mode::empty())?);
        }
        Ok(last)
    }

    /// A new and hidden file beside it.
    fn temporary(&self, folder: &OwnedFd, mode: Mode) -> Result<Temporary, Failed> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut number: u32 = 0;
        loop {
            // Not made of the file's own name: that may be as long as a name can be.
            let name = OsString::from(format!(".dsh-{}-{number}.tmp", std::process::id()));
            match openat(folder, &name, flags, mode) {
                Ok(file) => return Ok(Temporary { file: File::from(file), name }),
                Err(Errno::EXIST) if number < 1000 => number += 1,
                Err(error) => return Err(error.into()),
            }
        }
    }
}

struct Temporary {
    file: File,
    name: OsString,
}

/// Why a file was not written.
enum Failed {
    File(FileError),
    System(std::io::Error),
}

impl From<FileError> for Failed {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Self {
        Self::System(error)
    }
}

impl From<Errno> for Failed {
    fn from(error: Errno) -> Self {
        Self::System(error.into())
    }
}
