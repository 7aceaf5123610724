//! The directories of a root: which logs lie in it, and where the one of a session does.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::log;
use crate::order::newest_first;
use crate::path::{encode_segment, log_path};
use crate::store::broken;
use crate::{Encoding, Header, LogError, SessionId, StoreError, decode_segment};

/// What a root holds.
#[derive(Debug, Default)]
pub struct Listing {
    /// Headers, newest first, then by id.
    pub sessions: Vec<Header>,
    /// Logs whose header cannot be worked with, by path.
    pub unreadable: Vec<Unreadable>,
}

/// A log that cannot be listed.
#[derive(Debug)]
pub struct Unreadable {
    /// Its session, as far as its directory tells.
    pub id: Option<SessionId>,
    /// Where it lies.
    pub path: PathBuf,
    /// Why.
    pub why: LogError,
}

/// A root's directory.
pub(crate) struct Root {
    path: PathBuf,
}

/// A log's place.
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) encoding: Encoding,
}

impl Root {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// See [`Store::list`](crate::Store::list).
    pub(crate) fn list(&self) -> Result<Listing, StoreError> {
        let mut unreadable = Vec::new();
        let mut logs: HashMap<SessionId, Vec<(PathBuf, Header)>> = HashMap::new();
        for project in self.projects()? {
            let (directories, files) = match entries(&project) {
                Ok(entries) => entries,
                Err(why) => {
                    let why = LogError::Io { path: project.clone(), why };
                    unreadable.push(Unreadable { id: None, path: project, why });
                    continue;
                }
            };
            for path in files.into_iter().filter(|path| is_log_name(path)) {
                unreadable.push(Unreadable { id: None, why: LogError::Flat(path.clone()), path });
            }
            for dir in directories {
                let Some(found) = self.log_in(&dir) else { continue };
                match found.and_then(|found| Ok((self.header(&found)?, found.path))) {
                    Ok((header, path)) => {
                        logs.entry(header.id.clone()).or_default().push((path, header));
                    }
                    Err(why) => {
                        let id = segment_id(&dir);
                        unreadable.push(Unreadable { id, path: log_name(&dir), why });
                    }
                }
            }
        }
        let mut sessions = Vec::with_capacity(logs.len());
        for (id, logs) in logs {
            // Nothing tells which of two logs is right, so neither is.
            let others = logs.iter().cycle().skip(1).map(|(path, _)| path.clone());
            for ((path, header), other) in logs.iter().zip(others) {
                match logs.len() {
                    1 => sessions.push(header.clone()),
                    _ => unreadable.push(Unreadable {
                        id: Some(id.clone()),
                        path: path.clone(),
                        why: LogError::Twice(other),
                    }),
                }
            }
        }
        sessions.sort_by(|one, other| one.id.cmp(&other.id));
        newest_first(&mut sessions, |header| header);
        unreadable.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(Listing { sessions, unreadable })
    }

    /// The header of a log that lies where it says.
    pub(crate) fn header(&self, found: &Found) -> Result<Header, LogError> {
        let header = log::read_header(&found.path, found.encoding)?;
        self.check_place(&header, found)?;
        Ok(header)
    }

    /// A log belongs where its header says: project names are lossy, so a directory alone tells nothing for sure.
    pub(crate) fn check_place(&self, header: &Header, found: &Found) -> Result<(), LogError> {
        match log_path(&self.path, header, found.encoding) {
            Some(path) if path == found.path => Ok(()),
            _ => Err(LogError::Place { id: header.id.clone(), path: found.path.clone() }),
        }
    }

    /// Where the log of `id` lies, whatever its working directory.
    pub(crate) fn find(&self, id: &SessionId) -> Result<Found, StoreError> {
        let segment = encode_segment(id).ok_or_else(|| StoreError::NotFound(id.clone()))?;
        let mut found: Option<Found> = None;
        for project in self.projects()? {
            let dir = project.join(&segment);
            if !fs::symlink_metadata(&dir).is_ok_and(|meta| meta.is_dir()) {
                continue;
            }
            let Some(log) = self.log_in(&dir) else { continue };
            let log = log.map_err(|why| broken(id, &log_name(&dir), why))?;
            if let Some(earlier) = found {
                return Err(broken(id, &log.path, LogError::Twice(earlier.path)));
            }
            found = Some(log);
        }
        found.ok_or_else(|| StoreError::NotFound(id.clone()))
    }

    /// How the logs here are written: as the first that is found; none where there is none yet.
    pub(crate) fn encoding(&self) -> Result<Option<Encoding>, StoreError> {
        let dirs = self.projects()?.into_iter().filter_map(|project| entries(&project).ok());
        let mut logs = dirs.flat_map(|(dirs, _)| dirs).filter_map(|dir| self.log_in(&dir)?.ok());
        Ok(logs.next().map(|log| log.encoding))
    }

    /// The log in a session's directory; none where there is none.
    fn log_in(&self, dir: &Path) -> Option<Result<Found, LogError>> {
        let mut found = None;
        for encoding in [Encoding::Zstd, Encoding::Raw] {
            let path = dir.join(encoding.file_name());
            match fs::symlink_metadata(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(why) => return Some(Err(LogError::Io { path, why })),
                Ok(_) if found.is_some() => return Some(Err(LogError::Twice(path))),
                Ok(_) => found = Some(Found { path, encoding }),
            }
        }
        found.map(Ok)
    }

    fn projects(&self) -> Result<Vec<PathBuf>, StoreError> {
        match entries(&self.path) {
            Ok((projects, _)) => Ok(projects),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(why) => Err(StoreError::Root { path: self.path.clone(), why }),
        }
    }
}

/// The directories and the other entries of a directory, each sorted.
fn entries(dir: &Path) -> io::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let mut directories = Vec::new();
    let mut others = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => directories.push(entry.path()),
            false => others.push(entry.path()),
        }
    }
    directories.sort();
    others.sort();
    Ok((directories, others))
}

fn is_log_name(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.ends_with(".jsonl") || name.ends_with(".jsonl.zstd")
}

fn segment_id(dir: &Path) -> Option<SessionId> {
    decode_segment(dir.file_name()?.to_str()?)
}

/// The log in `dir`, for whoever wants to look.
fn log_name(dir: &Path) -> PathBuf {
    let zstd = dir.join(Encoding::Zstd.file_name());
    match fs::symlink_metadata(&zstd) {
        Ok(_) => zstd,
        Err(_) => dir.join(Encoding::Raw.file_name()),
    }
}
