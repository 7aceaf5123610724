//! The folders that tools may reach, and the way to a file in them.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, openat, readlinkat, statat};
use rustix::io::Errno;

use crate::FileError;
use crate::place::Place;

/// Most symbolic links on one path: Linux follows as many.
const LINKS: usize = 40;

/// The folders that tools may reach: a session's working directory, and others that the person allowed.
///
/// A path is walked from one of these folders step by step, and every step is opened without following links. A
/// symbolic link is read and walked like a path that was said, so it may lead from one folder to another but never
/// out of all of them; `..` goes to the real parent. What stands at the end is opened relative to the last folder.
/// So whatever is renamed or swapped for a link meanwhile, nothing outside is opened. A folder that is itself moved
/// away while a path is walked goes with the walk.
#[derive(Clone, Debug)]
pub struct Workspace {
    /// Absolute and without links; the first is the working directory.
    roots: Arc<[PathBuf]>,
}

impl Workspace {
    /// A working directory, and what else may be reached.
    ///
    /// # Errors
    /// When one of them is no folder that can be opened.
    pub fn new(cwd: &Path, others: &[PathBuf]) -> Result<Self, FileError> {
        let roots = std::iter::once(cwd).chain(others.iter().map(PathBuf::as_path));
        let real = |root: &Path| {
            let said = root.display().to_string();
            let real = root.canonicalize().map_err(|error| FileError::io(&said, error))?;
            if real.is_dir() {
                Ok(real)
            } else {
                Err(FileError::NotFolder { path: said.clone(), at: said })
            }
        };
        Ok(Self { roots: roots.map(real).collect::<Result<_, _>>()? })
    }

    /// The working directory, absolute and without links.
    pub fn cwd(&self) -> &Path {
        self.roots.first().map_or(Path::new("/"), PathBuf::as_path)
    }

    /// Where `said` really leads: absolute and without links, whether or not something is there.
    ///
    /// # Errors
    /// When it leads nowhere that may be reached.
    pub fn real(&self, said: &str) -> Result<PathBuf, FileError> {
        Ok(self.place(said)?.real)
    }

    /// A real path as people and models read it: relative to the working directory where it lies there.
    pub fn shown(&self, real: &Path) -> String {
        match real.strip_prefix(self.cwd()) {
            Ok(inside) if inside.as_os_str().is_empty() => ".".into(),
            Ok(inside) => inside.display().to_string(),
            Err(_) => real.display().to_string(),
        }
    }

    /// Walks to what `said` names; relative paths start at the working directory.
    pub(crate) fn place(&self, said: &str) -> Result<Place, FileError> {
        let wrong = |why| FileError::Path { path: said.into(), why };
        if said.is_empty() {
            return Err(wrong("it is empty"));
        }
        if said.contains('\0') {
            return Err(wrong("it holds a NUL character"));
        }
        if said == "~" || said.starts_with("~/") {
            return Err(wrong("`~` is not expanded; say the path from the working directory"));
        }
        Walk::start(self, said)?.run()
    }

    /// The innermost root that holds this absolute path, and the rest of the path in it.
    fn split<'a>(&self, path: &'a Path) -> Option<(&Path, &'a Path)> {
        let inside = self
            .roots
            .iter()
            .filter_map(|root| Some((root.as_path(), path.strip_prefix(root).ok()?)));
        inside.max_by_key(|(root, _)| root.components().count())
    }
}

/// A walk to one path.
struct Walk<'a> {
    workspace: &'a Workspace,
    said: &'a str,
    /// Where the walk is: a root, and the folders below it, each opened.
    root: PathBuf,
    start: OwnedFd,
    folders: Vec<(OwnedFd, OsString)>,
    /// What is still to go.
    ahead: VecDeque<OsString>,
    links: usize,
}

impl<'a> Walk<'a> {
    fn start(workspace: &'a Workspace, said: &'a str) -> Result<Self, FileError> {
        let path = Path::new(said);
        let (root, ahead) = if path.is_absolute() {
            let outside = || FileError::Outside { path: said.into() };
            workspace.split(path).ok_or_else(outside)?
        } else {
            (workspace.cwd(), path)
        };
        let start = open_root(root, said)?;
        let ahead = steps(ahead);
        Ok(Self { workspace, said, root: root.into(), start, folders: Vec::new(), ahead, links: 0 })
    }

    fn run(mut self) -> Result<Place, FileError> {
        while let Some(step) = self.ahead.pop_front() {
            if step == ".." {
                self.up()?;
                continue;
            }
            let here = self.folders.last().map_or(&self.start, |(folder, _)| folder);
            let kind = match statat(here, &step, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                Err(Errno::NOENT) => return self.missing(step),
                Err(error) => return Err(FileError::io(self.said, error)),
            };
            match kind {
                FileType::Symlink => self.follow(&step)?,
                FileType::Directory => {
                    let flags =
                        OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
                    let folder = openat(here, &step, flags, Mode::empty());
                    let folder = folder.map_err(|error| FileError::io(self.said, error))?;
                    self.folders.push((folder, step));
                }
                _ if self.ahead.is_empty() => return Ok(self.end(step, Vec::new(), Some(kind))),
                _ => {
                    return Err(FileError::NotFolder {
                        path: self.said.into(),
                        at: self.at(&step),
                    });
                }
            }
        }
        Ok(match self.folders.pop() {
            Some((_, name)) => self.end(name, Vec::new(), Some(FileType::Directory)),
            None => self.end(".".into(), Vec::new(), Some(FileType::Directory)),
        })
    }

    /// To the real parent; from a root, only into another one.
    fn up(&mut self) -> Result<(), FileError> {
        if self.folders.pop().is_some() {
            return Ok(());
        }
        let mut to = self.root.parent().unwrap_or(Path::new("/")).to_owned();
        for step in std::mem::take(&mut self.ahead) {
            if step == ".." {
                to.pop();
            } else {
                to.push(step);
            }
        }
        self.jump(&to)
    }

    /// Goes on at an absolute path.
    fn jump(&mut self, to: &Path) -> Result<(), FileError> {
        let outside = || FileError::Outside { path: self.said.into() };
        let (root, rest) = self.workspace.split(to).ok_or_else(outside)?;
        self.start = open_root(root, self.said)?;
        self.root = root.to_owned();
        self.folders.clear();
        self.ahead = steps(rest);
        Ok(())
    }

    fn follow(&mut self, link: &OsStr) -> Result<(), FileError> {
        self.links += 1;
        if self.links > LINKS {
            return Err(FileError::Links { path: self.said.into() });
        }
        let here = self.folders.last().map_or(&self.start, |(folder, _)| folder);
        let target = readlinkat(here, link, Vec::new());
        let target = target.map_err(|error| FileError::io(self.said, error))?;
        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
        if target.is_absolute() {
            let rest: PathBuf = std::mem::take(&mut self.ahead).into_iter().collect();
            return self.jump(&target.join(rest));
        }
        for step in steps(&target).into_iter().rev() {
            self.ahead.push_front(step);
        }
        Ok(())
    }

    /// Nothing stands at `step`: the rest of the path could be made, if it only goes down.
    fn missing(mut self, step: OsString) -> Result<Place, FileError> {
        let mut folders: Vec<OsString> =
            std::iter::once(step).chain(self.ahead.drain(..)).collect();
        let down = !folders.iter().any(|step| step == "..");
        match folders.pop() {
            Some(name) if down => Ok(self.end(name, folders, None)),
            _ => Err(FileError::Missing { path: self.said.into() }),
        }
    }

    fn end(self, name: OsString, missing: Vec<OsString>, kind: Option<FileType>) -> Place {
        let mut real = self.root;
        real.extend(self.folders.iter().map(|(_, name)| name));
        real.extend(&missing);
        if name != "." {
            real.push(&name);
        }
        let folder = self.folders.into_iter().next_back().map_or(self.start, |(folder, _)| folder);
        Place { shown: self.workspace.shown(&real), folder, missing, name, real, kind }
    }

    fn at(&self, step: &OsStr) -> String {
        let mut at = self.root.clone();
        at.extend(self.folders.iter().map(|(_, name)| name));
        self.workspace.shown(&at.join(step))
    }
}

fn open_root(root: &Path, said: &str) -> Result<OwnedFd, FileError> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
    rustix::fs::open(root, flags, Mode::empty()).map_err(|error| FileError::io(said, error))
}

/// The steps of a path; one that ends in `/` goes into the last of them, as `.` does.
fn steps(path: &Path) -> VecDeque<OsString> {
    let steps = path.components().filter_map(|step| match step {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsStr::from_bytes(b"..").to_owned()),
        _ => None,
    });
    steps.collect()
}
