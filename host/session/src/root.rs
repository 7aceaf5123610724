//! The directories of a root: which logs lie in it, and where the one of a session does.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::index::Index;
use crate::log;
use crate::order::newest_first;
use crate::path::{encode_segment, log_path};
use crate::side_by_side::side_by_side;
use crate::stamp::Stamp;
use crate::store::broken;
use crate::title::TitleFold;
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
    index: Option<Index>,
    /// How many logs were opened to be read.
    opened: AtomicU64,
}

/// A log's place.
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) encoding: Encoding,
    /// What it was when it was found; none where nothing tells.
    pub(crate) stamp: Option<Stamp>,
    /// Whether a later change shows in the stamp.
    pub(crate) settled: bool,
}

/// What is known of a session's title before its log is opened.
pub(crate) enum KnownTitle {
    /// It stands in the index.
    Is(TitleFold),
    /// It stands in this log alone.
    In(Found),
    /// There is none to be found.
    Not(StoreError),
}

impl Root {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, index: None, opened: AtomicU64::new(0) }
    }

    /// See [`Store::with_index`](crate::Store::with_index).
    pub(crate) fn index(&mut self, path: PathBuf) {
        self.index = Some(Index::new(self.path.clone(), path));
    }

    pub(crate) fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    /// Notes that a log is opened to be read.
    pub(crate) fn count(&self) {
        self.opened.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// See [`Store::list`](crate::Store::list).
    pub(crate) fn list(&self) -> Result<Listing, StoreError> {
        let mut unreadable = Vec::new();
        let mut logs: HashMap<SessionId, Vec<(PathBuf, Header)>> = HashMap::new();
        let mut dirs = Vec::new();
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
            dirs.extend(directories);
        }
        let mut found = Vec::with_capacity(dirs.len());
        for (dir, log) in dirs.iter().zip(side_by_side(&dirs, |dir| self.log_in(dir))) {
            match log {
                None => {}
                Some(Ok(log)) => found.push(log),
                Some(Err(why)) => {
                    let id = segment_id(dir);
                    unreadable.push(Unreadable { id, path: log_name(dir), why });
                }
            }
        }
        let headers = self.headers(&found);
        for (found, header) in found.into_iter().zip(headers) {
            match header {
                Ok(header) => {
                    logs.entry(header.id.clone()).or_default().push((found.path, header));
                }
                Err(why) => {
                    let id = found.path.parent().and_then(segment_id);
                    unreadable.push(Unreadable { id, path: found.path, why });
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

    /// The headers of all logs of the root, from the index where it knows them.
    fn headers(&self, found: &[Found]) -> Vec<Result<Header, LogError>> {
        let Some(index) = &self.index else { return side_by_side(found, |log| self.header(log)) };
        index.refresh();
        let read = |log: &Found| {
            let header = self.header(log)?;
            index.keep(log, &header, None);
            Ok(header)
        };
        let headers = side_by_side(found, |log| index.header(log).map_or_else(|| read(log), Ok));
        index.retain(found.iter().map(|log| log.path.as_path()));
        index.save();
        headers
    }

    /// The header of a log that lies where it says.
    pub(crate) fn header(&self, found: &Found) -> Result<Header, LogError> {
        self.count();
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
        let dirs = self.projects()?.into_iter().map(|project| project.join(&segment));
        self.only(id, dirs.filter(|dir| fs::symlink_metadata(dir).is_ok_and(|meta| meta.is_dir())))
    }

    /// What is known of the title of each session, by one walk through the root.
    pub(crate) fn titles(&self, ids: &[SessionId]) -> Result<Vec<KnownTitle>, StoreError> {
        let segments: Vec<Option<String>> = ids.iter().map(encode_segment).collect();
        let wanted: HashSet<&str> = segments.iter().flatten().map(String::as_str).collect();
        let mut dirs: HashMap<String, Vec<PathBuf>> = HashMap::new();
        for project in self.projects()? {
            let (directories, _) = entries(&project).unwrap_or_default();
            for dir in directories {
                let name = dir.file_name().and_then(|name| name.to_str());
                if let Some(name) = name.filter(|name| wanted.contains(name)) {
                    dirs.entry(name.to_owned()).or_default().push(dir);
                }
            }
        }
        if let Some(index) = &self.index {
            index.refresh();
        }
        let titles = ids.iter().zip(segments).map(|(id, segment)| {
            let dirs = segment.and_then(|segment| dirs.get(&segment)).into_iter().flatten();
            match self.only(id, dirs.cloned()) {
                Err(why) => KnownTitle::Not(why),
                Ok(log) => match self.index.as_ref().and_then(|index| index.title(&log)) {
                    Some(title) => KnownTitle::Is(title),
                    None => KnownTitle::In(log),
                },
            }
        });
        Ok(titles.collect())
    }

    /// Keeps the title of a log that was read whole.
    pub(crate) fn keep(&self, found: &Found, header: &Header, title: &TitleFold) {
        if let Some(index) = &self.index {
            index.keep(found, header, Some(title.clone()));
        }
    }

    /// Writes down what was kept.
    pub(crate) fn save(&self) {
        if let Some(index) = &self.index {
            index.save();
        }
    }

    /// The one log of `id`, which lies in one of `dirs`.
    fn only(
        &self,
        id: &SessionId,
        dirs: impl Iterator<Item = PathBuf>,
    ) -> Result<Found, StoreError> {
        let mut found: Option<Found> = None;
        for dir in dirs {
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
                Ok(meta) => {
                    let stamp = self.index.as_ref().and_then(|_| Stamp::of(&meta));
                    let settled = stamp.is_some_and(|stamp| stamp.is_settled());
                    found = Some(Found { path, encoding, stamp, settled });
                }
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
    // They differ in their names alone, which need not be taken apart to be compared.
    for list in [&mut directories, &mut others] {
        list.sort_by(|one, other| one.as_os_str().cmp(other.as_os_str()));
    }
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
