//! Questions about sessions, open or on disk, asked side by side (contracts §4).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt as _;
use futures::stream;
use thiserror::Error;
use tokio::task::spawn_blocking;

use crate::live::WeakLive;
use crate::notes::{Note, NotesFold};
use crate::store::StoreError;
use crate::{Events, Fold, Header, Listing, Live, SessionId, Store, Surface, newest_first};

/// How many logs are read side by side.
pub(crate) const SIDE_BY_SIDE: usize = 4;

/// The sessions of a store, those that are open included. Clones share it.
///
/// Every answer about an open session comes from memory, that about any other from its log; nothing is changed by
/// asking. Each future may be dropped at any time: what it was reading goes on in the background, unheard.
/// Everything here runs on the caller's tokio runtime, and panics outside of one.
#[derive(Clone)]
pub struct Sessions {
    pub(crate) store: Arc<Store>,
    live: Arc<Mutex<HashMap<SessionId, WeakLive>>>,
}

/// A session as it is listed.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Its facts.
    pub header: Header,
    /// Whether it is open here.
    pub live: bool,
    /// Whether it is on disk.
    pub persisted: bool,
}

/// Every session that can be listed, and every log that cannot.
#[derive(Debug, Default)]
pub struct Records {
    /// Newest first, then by id.
    pub sessions: Vec<Record>,
    /// Logs whose header cannot be worked with.
    pub unreadable: Vec<crate::Unreadable>,
}

/// One observation of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// Its facts.
    pub header: Arc<Header>,
    /// Its surface at that moment.
    pub surface: Surface,
}

/// Why a question has no answer.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum QueryError {
    /// There is no such session.
    #[error("there is no session {0:?}")]
    NotFound(SessionId),
    /// Its log exists and cannot be read whole; the cause says where it breaks.
    #[error("{0}")]
    Unreadable(Arc<StoreError>),
    /// The title of the session cannot be read; everything else can.
    #[error("session {id:?}: {why}")]
    Title {
        /// Whose.
        id: SessionId,
        /// Why.
        why: crate::TitleError,
    },
    /// An open session and its log disagree about what cannot change.
    #[error("session {0:?} is open with other facts than its log holds")]
    Conflict(SessionId),
    /// The store did not answer.
    #[error("the sessions cannot be read: {0}")]
    Unavailable(Arc<StoreError>),
    /// The read was given up, as the runtime is shutting down.
    #[error("the read was given up, as the runtime is shutting down")]
    GivenUp,
}

impl Sessions {
    /// The sessions of `store`.
    pub fn new(store: Store) -> Self {
        Self { store: Arc::new(store), live: Arc::default() }
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The session, where it is open.
    pub fn live(&self, id: &SessionId) -> Option<Live> {
        self.registry().get(id).and_then(WeakLive::upgrade)
    }

    /// Makes a new session: see [`Store::create`].
    ///
    /// # Errors
    /// As [`Store::create`].
    pub async fn create(&self, header: Header, seed: Option<Events>) -> Result<Live, StoreError> {
        if self.live(&header.id).is_some() {
            return Err(StoreError::Exists(header.id));
        }
        let store = self.store.clone();
        let live = blocking(move || store.create(header, seed)).await?;
        self.register(&live)?;
        Ok(live)
    }

    /// Opens a session for writing: see [`Store::open`]. Gives `fold` back with every event of the log in it.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub async fn open<F: Fold + 'static>(
        &self,
        id: &SessionId,
        mut fold: F,
    ) -> Result<(Live, F), StoreError> {
        if self.live(id).is_some() {
            return Err(StoreError::Open(id.clone()));
        }
        let (store, wanted) = (self.store.clone(), id.clone());
        let (live, fold) = blocking(move || Ok((store.open(&wanted, &mut fold)?, fold))).await?;
        self.register(&live)?;
        Ok((live, fold))
    }

    /// Every session: those on disk, and those that are open.
    ///
    /// # Errors
    /// When the root cannot be listed, or an open session and its log disagree.
    pub async fn list(&self) -> Result<Records, QueryError> {
        let listing = self.listing().await?;
        let mut open = self.all_live();
        let mut records = Records { sessions: Vec::new(), unreadable: listing.unreadable };
        for header in listing.sessions {
            let live = open.remove(&header.id);
            if live.as_ref().is_some_and(|live| !live.header().agrees_with(&header)) {
                return Err(QueryError::Conflict(header.id));
            }
            let header = live.as_ref().map_or(header, |live| live.header().clone());
            records.sessions.push(Record { header, live: live.is_some(), persisted: true });
        }
        let rest = open.into_values().map(|live| live.header().clone());
        records.sessions.extend(rest.map(|header| Record { header, live: true, persisted: false }));
        newest_first(&mut records.sessions, |record| &record.header);
        Ok(records)
    }

    /// One observation of each session, in the order asked. An id given twice is read once and answered twice.
    pub async fn surfaces(&self, ids: &[SessionId]) -> Vec<Result<Observation, QueryError>> {
        let from_live = |live: &Live| {
            Ok(Observation { header: Arc::new(live.header().clone()), surface: live.surface() })
        };
        let from_log = |store: &Store, id: &SessionId| {
            let read = store.read(id, &mut ())?;
            Ok(Observation { header: Arc::new(read.header), surface: read.surface })
        };
        self.each(ids, from_live, from_log).await
    }

    /// One observation of one session.
    ///
    /// # Errors
    /// When there is no such session, or its log cannot be read.
    pub async fn surface(&self, id: &SessionId) -> Result<Observation, QueryError> {
        let mut surfaces = self.surfaces(std::slice::from_ref(id)).await;
        surfaces.pop().unwrap_or(Err(QueryError::GivenUp))
    }

    /// Context messages that `plugin` put into the session's own history, waiting ones included, shadowed or not.
    ///
    /// # Errors
    /// When there is no such session, or its log cannot be read.
    pub async fn own_notes(&self, id: &SessionId, plugin: &str) -> Result<Vec<Note>, QueryError> {
        let from_live = |live: &Live| Ok(live.own_notes(plugin));
        let plugin: Arc<str> = plugin.into();
        let from_log = move |store: &Store, id: &SessionId| {
            let mut notes = NotesFold::new(&store.read_header(id)?);
            store.read(id, &mut notes)?;
            Ok(notes.of(&plugin))
        };
        let mut notes = self.each(std::slice::from_ref(id), from_live, from_log).await;
        notes.pop().unwrap_or(Err(QueryError::GivenUp))
    }

    /// Asks each session once, those that are open first, and answers in the order asked.
    async fn each<T: Clone + Send + 'static>(
        &self,
        ids: &[SessionId],
        from_live: impl Fn(&Live) -> Result<T, StoreError>,
        from_log: impl Fn(&Store, &SessionId) -> Result<T, StoreError> + Clone + Send + 'static,
    ) -> Vec<Result<T, QueryError>> {
        let mut answers: HashMap<SessionId, Result<T, QueryError>> = HashMap::new();
        let mut cold = Vec::new();
        for id in ids {
            if answers.contains_key(id) {
                continue;
            }
            let answer = match self.live(id) {
                Some(live) => from_live(&live).map_err(QueryError::from),
                None => {
                    cold.push(id.clone());
                    Err(QueryError::GivenUp)
                }
            };
            answers.insert(id.clone(), answer);
        }
        // Owned ids: a future that borrows each in turn is not `Send` for its caller.
        let reads = cold.into_iter().map(|id| {
            let (store, wanted, from_log) = (self.store.clone(), id.clone(), from_log.clone());
            async move {
                let answer = blocking(move || from_log(&store, &wanted)).await;
                (id, answer.map_err(QueryError::from))
            }
        });
        let read: Vec<_> = stream::iter(reads).buffer_unordered(SIDE_BY_SIDE).collect().await;
        for (id, answer) in read {
            // It may have been opened, or come to be, in the meantime; what is open is newer.
            let answer = match self.live(&id) {
                Some(live) => from_live(&live).map_err(QueryError::from),
                None => answer,
            };
            answers.insert(id, answer);
        }
        ids.iter().map(|id| answers.get(id).cloned().unwrap_or(Err(QueryError::GivenUp))).collect()
    }

    async fn listing(&self) -> Result<Listing, QueryError> {
        let store = self.store.clone();
        Ok(blocking(move || store.list()).await?)
    }

    fn register(&self, live: &Live) -> Result<(), StoreError> {
        let id = live.header().id.clone();
        let mut registry = self.registry();
        registry.retain(|_, live| live.upgrade().is_some());
        if registry.contains_key(&id) {
            return Err(StoreError::Open(id));
        }
        registry.insert(id, live.downgrade());
        Ok(())
    }

    fn all_live(&self) -> HashMap<SessionId, Live> {
        let registry = self.registry();
        let live = registry.iter().filter_map(|(id, live)| Some((id.clone(), live.upgrade()?)));
        live.collect()
    }

    fn registry(&self) -> MutexGuard<'_, HashMap<SessionId, WeakLive>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<StoreError> for QueryError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound(id) => Self::NotFound(id),
            StoreError::GivenUp => Self::GivenUp,
            StoreError::Root { .. } => Self::Unavailable(Arc::new(error)),
            _ => Self::Unreadable(Arc::new(error)),
        }
    }
}

/// Runs what blocks on files where it holds up nobody.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    spawn_blocking(work).await.unwrap_or(Err(StoreError::GivenUp))
}
