//! What a writer asks of the disk, one function for each thing that can fail.

use std::fmt::Debug;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

#[cfg(all(test, unix))]
mod faults;

/// A disk. There is one, [`Files`]; the tests have another that fails when it is told to.
pub(crate) trait Disk: Debug + Send + Sync {
    /// Makes a directory that only its owner can look into.
    fn make_dir(&self, dir: &Path) -> io::Result<()>;

    /// Brings the names in `dir` down to the disk.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;

    /// A new private file that is appended to.
    fn create(&self, path: &Path) -> io::Result<File>;

    /// A file that is there, to be appended to; no link is followed.
    fn open(&self, path: &Path) -> io::Result<File>;

    /// The file whose lock makes a writer the only one, made where it is missing; no link is followed.
    fn open_lock(&self, path: &Path) -> io::Result<File>;

    /// Writes some of `bytes`, at the end of the file; gives how many.
    fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<usize>;

    /// Brings a file down to the disk.
    fn sync(&self, file: &File) -> io::Result<()>;

    /// Cuts a file to `length` bytes.
    fn cut(&self, file: &File, length: u64) -> io::Result<()>;

    /// Gives a file a second name, which must be free.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file another name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Takes a name away.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// What a name stands for; a link stands for itself.
    fn named(&self, path: &Path) -> io::Result<Identity>;

    /// What an open file is.
    fn opened(&self, file: &File) -> io::Result<Identity>;
}

/// Which file something is, as far as the system tells.
///
/// Some network mounts make numbers up anew at every look, so that only two equal ones tell anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Device and inode.
    pub(crate) file: (u64, u64),
    /// Bytes.
    pub(crate) length: u64,
}

/// Writes all of `bytes`.
pub(crate) fn write_all(disk: &dyn Disk, file: &mut File, bytes: &[u8]) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        match disk.write(file, rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The system's own.
#[derive(Debug)]
pub(crate) struct Files;

impl Disk for Files {
    fn make_dir(&self, dir: &Path) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(dir)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        match cfg!(unix) {
            true => File::open(dir)?.sync_all(),
            false => Ok(()),
        }
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        private(OpenOptions::new().read(true).append(true).create_new(true)).open(path)
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        private(OpenOptions::new().read(true).append(true)).open(path)
    }

    fn open_lock(&self, path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        private(options.read(true).write(true).create(true).truncate(false)).open(path)
    }

    fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<usize> {
        file.write(bytes)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    fn cut(&self, file: &File, length: u64) -> io::Result<()> {
        file.set_len(length)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn named(&self, path: &Path) -> io::Result<Identity> {
        fs::symlink_metadata(path).map(|meta| Identity::of(&meta))
    }

    fn opened(&self, file: &File) -> io::Result<Identity> {
        file.metadata().map(|meta| Identity::of(&meta))
    }
}

impl Identity {
    #[cfg(unix)]
    fn of(meta: &fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        Self { file: (meta.dev(), meta.ino()), length: meta.len() }
    }

    /// By the time of its creation: nothing else is told.
    #[cfg(not(unix))]
    fn of(meta: &fs::Metadata) -> Self {
        let created = meta.created().ok();
        let since = created.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        let nanos = since.map_or(0, |since| since.as_nanos() as u64);
        Self { file: (0, nanos), length: meta.len() }
    }
}

/// A new file is its owner's alone, and whoever put a link in our way does not choose what is written.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    }
    options
}
