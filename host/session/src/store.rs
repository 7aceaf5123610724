//! A root of sessions on disk: listed, read, created and opened for writing.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

use crate::disk::{Disk, Files};
use crate::fold::feed;
use crate::live::Live;
use crate::log::{self, ReadLog};
use crate::notes::NotesFold;
use crate::root::{Found, KnownTitle, Listing, Root};
use crate::write::LogWriter;
use crate::{
    Draft, Encoding, Event, EventError, Events, Fold, Header, HeaderError, Json, Kind, LogError,
    Replay, SessionId, Surface, Title, TitleError, WriteError,
};

/// Tells the time in milliseconds since the Unix epoch.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// A root of sessions.
///
/// Logs of both encodings are read and written; new ones get the store's. Everything here blocks on files:
/// [`Sessions`](crate::Sessions) is its face for asynchronous code. Nothing is kept between calls.
pub struct Store {
    root: Root,
    encoding: Encoding,
    clock: Clock,
    disk: Arc<dyn Disk>,
}

/// A session that was read and is not open.
#[derive(Debug)]
pub struct ReadSession {
    /// Its facts.
    pub header: Header,
    /// Its surface, with the results that an interrupted turn's calls get.
    pub surface: Surface,
    /// Its title.
    pub title: Result<Option<Title>, TitleError>,
    /// How many events its file holds.
    pub committed: u64,
    /// How many more close an interrupted turn.
    pub closers: u64,
    /// What a torn end would be cut to, in bytes; none where the file's end is clean.
    pub torn: Option<u64>,
}

/// What was done to a log when it was opened for writing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// Bytes of an unfinished write that were cut.
    pub cut: u64,
    /// Events that could be read in them, and were written again.
    pub recovered: usize,
    /// The types of the events that closed an interrupted turn.
    pub closers: Vec<Kind>,
}

impl Repair {
    /// Whether nothing was to be repaired.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// Why a session cannot be read, created or opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The root itself cannot be listed.
    #[error("{path} cannot be listed: {why}", path = .path.display())]
    Root {
        /// The directory.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
    /// There is no such session.
    #[error("there is no session {0:?}")]
    NotFound(SessionId),
    /// There is one already.
    #[error("session {0:?} exists already")]
    Exists(SessionId),
    /// It is open already: ask for the open one.
    #[error("session {0:?} is open already")]
    Open(SessionId),
    /// The work was given up, as the runtime is shutting down.
    #[error("the work was given up, as the runtime is shutting down")]
    GivenUp,
    /// Its log cannot be read.
    #[error("session {id:?} cannot be read: {path}: {why}", path = .path.display())]
    Unreadable {
        /// Whose.
        id: SessionId,
        /// The file.
        path: PathBuf,
        /// Where it breaks, and why.
        why: LogError,
    },
    /// The header of a new session cannot be written.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// A seed's event cannot be in a log.
    #[error("event {seq} of the seed: {why}")]
    Seed {
        /// Its place.
        seq: u64,
        /// Why.
        why: EventError,
    },
    /// The log cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl Store {
    /// The sessions under `root`, which need not exist yet; new ones are written in `encoding`.
    pub fn new(root: impl Into<PathBuf>, encoding: Encoding, clock: Clock) -> Self {
        Self { root: Root::new(root.into()), encoding, clock, disk: Arc::new(Files) }
    }

    /// Remembers in the file `index` what listings and titles ask of each log, so that they open only what is new or has
    /// changed. [`index_beside`](crate::index_beside) says where it lies best.
    ///
    /// The file is only a cache, private to the root's owner: it may be missing, stale, damaged or not writable, several
    /// processes may share it, and no answer differs by it. Where the system tells too little of a file to know a changed
    /// one (anything but Unix), it is not used.
    #[must_use]
    pub fn with_index(mut self, index: impl Into<PathBuf>) -> Self {
        self.root.index(index.into());
        self
    }

    /// Writes through another disk than the system's.
    #[cfg(test)]
    pub(crate) fn with_disk(mut self, disk: Arc<dyn Disk>) -> Self {
        self.disk = disk;
        self
    }

    /// How often this store has opened a log to read it or its header; an index is there to keep it low.
    pub fn logs_opened(&self) -> u64 {
        self.root.opened()
    }

    /// The root.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// How the logs of the root are written; none where it has none yet.
    ///
    /// The real client refuses a root that holds both encodings, so new logs are best written as the others are.
    ///
    /// # Errors
    /// When the root cannot be listed.
    pub fn root_encoding(&self) -> Result<Option<Encoding>, StoreError> {
        self.root.encoding()
    }

    /// The time.
    pub fn now(&self) -> i64 {
        (self.clock)()
    }

    /// Every session that can be listed, and every log that cannot.
    ///
    /// Symbolic links are not followed; files that are no logs are passed over.
    ///
    /// # Errors
    /// When the root cannot be listed; one that does not exist is empty.
    pub fn list(&self) -> Result<Listing, StoreError> {
        self.root.list()
    }

    /// Reads a session's header alone.
    ///
    /// # Errors
    /// When there is no such session, or its header cannot be read.
    pub fn read_header(&self, id: &SessionId) -> Result<Header, StoreError> {
        let found = self.root.find(id)?;
        self.root.header(&found).map_err(|why| broken(id, &found.path, why))
    }

    /// Reads a session without changing anything; `fold` takes its events, those that close an interrupted turn
    /// included.
    ///
    /// # Errors
    /// When there is no such session, or its log cannot be read. `fold` may have taken events by then.
    pub fn read(&self, id: &SessionId, fold: &mut dyn Fold) -> Result<ReadSession, StoreError> {
        let found = self.root.find(id)?;
        self.read_found(id, &found, fold).map(|(read, _)| read)
    }

    fn read_found(
        &self,
        id: &SessionId,
        found: &Found,
        fold: &mut dyn Fold,
    ) -> Result<(ReadSession, Replay), StoreError> {
        let log = self.scan(id, found, fold)?;
        let ReadLog { header, mut replay, torn, .. } = log;
        let committed = replay.next_seq();
        let closers = close(&mut replay, fold).map_err(|why| broken(id, &found.path, why))?;
        let read = ReadSession {
            header,
            surface: replay.surface(),
            title: replay.title(),
            committed,
            closers: closers.len() as u64,
            torn: torn.map(|torn| torn.keep),
        };
        Ok((read, replay))
    }

    /// What is known of titles before any log is opened.
    pub(crate) fn known_titles(&self, ids: &[SessionId]) -> Result<Vec<KnownTitle>, StoreError> {
        self.root.titles(ids)
    }

    /// Reads a title from its log, and keeps it for the index.
    pub(crate) fn read_title(
        &self,
        id: &SessionId,
        found: &Found,
    ) -> Result<Result<Option<Title>, TitleError>, StoreError> {
        let (read, replay) = self.read_found(id, found, &mut ())?;
        self.root.keep(found, &read.header, replay.title_fold());
        Ok(read.title)
    }

    /// Writes the index, where there is one and something was read.
    pub(crate) fn save_index(&self) {
        self.root.save();
    }

    /// A new session, which comes to be on disk with its first commit: header, seed and whatever was appended by
    /// then, in one write.
    ///
    /// `seed` holds the events that it inherits, in order from place zero; after a seed, even an empty one, stands
    /// `session/end-seed`. Whoever seeds also sets the header's `seed_length`.
    ///
    /// # Errors
    /// When the session exists, readable or not, or its header or seed cannot be written.
    pub fn create(&self, header: Header, seed: Option<Events>) -> Result<Live, StoreError> {
        header.check()?;
        match self.root.find(&header.id) {
            Err(StoreError::NotFound(_)) => {}
            Err(error) => return Err(error),
            Ok(_) => return Err(StoreError::Exists(header.id)),
        }
        let writer =
            LogWriter::create(self.disk.clone(), self.root.path(), &header, self.encoding)?;
        let mut replay = Replay::new(header.id.clone());
        let mut notes = NotesFold::new(&header);
        let seeded = seed.is_some();
        let mut events = seed.unwrap_or_default();
        replay.events(&events).map_err(|why| broken_seed(&replay, why))?;
        events.each(&mut notes);
        if seeded && !replay.seed_ended() {
            let event = self.end_seed(&mut replay).map_err(|why| broken_seed(&replay, why))?;
            events.push(event);
        }
        Ok(Live::new(header, replay, notes, writer, events, self.clock.clone(), Repair::default()))
    }

    /// Opens a session for writing; `fold` takes the events of its log, those of the repair included.
    ///
    /// The end of an unfinished write is cut and an interrupted turn closed, on disk, before it returns.
    ///
    /// # Errors
    /// When there is no such session, its log cannot be read, or somebody else writes it.
    pub fn open(&self, id: &SessionId, fold: &mut dyn Fold) -> Result<Live, StoreError> {
        let found = self.root.find(id)?;
        // What is read before the lock is taken may change before it is.
        let lock = LogWriter::lock(&*self.disk, &found.path)?;
        let header = self.root.header(&found).map_err(|why| broken(id, &found.path, why))?;
        let mut notes = NotesFold::new(&header);
        let mut both = (&mut *fold, &mut notes);
        let log = self.scan(id, &found, &mut both)?;
        let ReadLog { header, mut replay, length, torn } = log;
        let mut writer =
            LogWriter::open(self.disk.clone(), &found.path, found.encoding, length, lock)?;
        let closers = close(&mut replay, &mut both).map_err(|why| broken(id, &found.path, why))?;
        let repair = Repair {
            cut: torn.as_ref().map_or(0, |torn| length - torn.keep),
            recovered: torn.as_ref().map_or(0, |torn| torn.recovered.len()),
            closers: closers.iter().map(|event| event.kind.clone()).collect(),
        };
        if !repair.is_none() {
            writer.repair(torn, &closers)?;
        }
        let mut pending = Events::default();
        if !replay.seed_ended() {
            let event = self.end_seed(&mut replay).map_err(|why| broken_seed(&replay, why))?;
            feed(&mut both, &event);
            pending.push(event);
        }
        Ok(Live::new(header, replay, notes, writer, pending, self.clock.clone(), repair))
    }

    fn end_seed(&self, replay: &mut Replay) -> Result<Event, EventError> {
        replay.append(Draft::new("session/end-seed", Json::from_trusted("{}")), self.now())
    }

    fn scan(
        &self,
        id: &SessionId,
        found: &Found,
        fold: &mut dyn Fold,
    ) -> Result<ReadLog, StoreError> {
        self.root.count();
        let log = log::read(&found.path, found.encoding, fold)
            .map_err(|why| broken(id, &found.path, why))?;
        self.root.check_place(&log.header, found).map_err(|why| broken(id, &found.path, why))?;
        Ok(log)
    }
}

/// Closes an interrupted turn in memory.
fn close(replay: &mut Replay, fold: &mut dyn Fold) -> Result<Vec<Event>, LogError> {
    let closers = replay.closers();
    for event in &closers {
        replay.event(event).map_err(|why| LogError::Closer { seq: event.seq, why })?;
        feed(fold, event);
    }
    Ok(closers)
}

pub(crate) fn broken(id: &SessionId, path: &Path, why: LogError) -> StoreError {
    StoreError::Unreadable { id: id.clone(), path: path.into(), why }
}

fn broken_seed(replay: &Replay, why: EventError) -> StoreError {
    StoreError::Seed { seq: replay.next_seq(), why }
}
