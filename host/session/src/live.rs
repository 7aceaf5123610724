//! A session open for writing: appended to in memory, committed to disk.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::{Mutex as AsyncMutex, mpsc};
use tokio::task::spawn_blocking;

use crate::notes::{Note, NotesFold};
use crate::store::{Clock, Repair};
use crate::write::LogWriter;
use crate::{
    Draft, Event, EventError, Events, Fold as _, Header, Json, Message, Replay, Surface, Title,
    TitleError, WriteError,
};

/// A session that is open for writing. Clones are the same session.
///
/// What is appended is at once part of the session's surface and of what subscribers see, and is on disk when a
/// later [`commit`](Self::commit) has returned. When the last clone is dropped, others may write the session; what was
/// not committed by then is lost.
#[derive(Clone, Debug)]
pub struct Live(Arc<Shared>);

/// A session, as long as somebody has it open.
#[derive(Clone, Debug)]
pub(crate) struct WeakLive(Weak<Shared>);

struct Shared {
    header: Arc<Header>,
    repair: Repair,
    clock: Clock,
    state: Arc<Mutex<State>>,
    /// Whoever holds it writes; the order of waiting is the order of batches.
    writer: Arc<AsyncMutex<LogWriter>>,
}

struct State {
    replay: Replay,
    notes: NotesFold,
    /// Events that are being written.
    writing: Arc<Events>,
    /// Those after them, which are not on disk either.
    pending: Events,
    subscribers: Vec<mpsc::UnboundedSender<Event>>,
}

/// Every event that is appended to a session from some moment on.
///
/// Events wait for their reader without bound: drop what is not read.
#[derive(Debug)]
pub struct Subscription(mpsc::UnboundedReceiver<Event>);

impl Live {
    pub(crate) fn new(
        header: Header,
        replay: Replay,
        notes: NotesFold,
        writer: LogWriter,
        pending: Events,
        clock: Clock,
        repair: Repair,
    ) -> Self {
        let writing = Arc::default();
        let state = State { replay, notes, writing, pending, subscribers: Vec::new() };
        Self(Arc::new(Shared {
            header: Arc::new(header),
            repair,
            clock,
            state: Arc::new(Mutex::new(state)),
            writer: Arc::new(AsyncMutex::new(writer)),
        }))
    }

    /// The session's facts.
    pub fn header(&self) -> &Header {
        &self.0.header
    }

    /// What was done to the log when it was opened.
    pub fn repair(&self) -> &Repair {
        &self.0.repair
    }

    /// Gives the draft its place and time, and takes it into the session.
    ///
    /// # Errors
    /// When the event cannot follow what is there; the session is then as it was.
    pub fn append(&self, draft: Draft) -> Result<Event, EventError> {
        let mut appended = self.append_all(vec![draft])?;
        appended.pop().ok_or(EventError::Envelope("draft was lost"))
    }

    /// Takes the drafts one after the other, with no other event between them.
    ///
    /// # Errors
    /// When one of them cannot follow; those before it have been taken then.
    pub fn append_all(&self, drafts: Vec<Draft>) -> Result<Vec<Event>, EventError> {
        let mut state = lock(&self.0.state);
        let mut appended = Vec::with_capacity(drafts.len());
        for mut draft in drafts {
            draft.data = one_line(draft.data);
            let event = state.replay.append(draft, (self.0.clock)())?;
            state.notes.event(&event);
            state.pending.push(event.clone());
            state.subscribers.retain(|subscriber| subscriber.send(event.clone()).is_ok());
            appended.push(event);
        }
        Ok(appended)
    }

    /// Brings everything that has been appended so far to the disk, as one batch.
    ///
    /// Runs on the caller's tokio runtime. A batch that failed is tried again by the next commit, and dropping the
    /// future loses nothing: a write that has begun goes on.
    ///
    /// # Errors
    /// When the disk does not have them all; the log is then as it was before the batch.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub async fn commit(&self) -> Result<(), WriteError> {
        let writer = self.0.writer.clone().lock_owned().await;
        if self.pending() == 0 {
            return Ok(());
        }
        let state = self.0.state.clone();
        let write = move || {
            let mut writer = writer;
            let batch = lock(&state).batch();
            writer.append(&batch)?;
            lock(&state).writing = Arc::default();
            Ok(())
        };
        spawn_blocking(write).await.unwrap_or(Err(WriteError::GivenUp))
    }

    /// The events that wait for a commit, and the place of the first event that the disk does not surely have.
    pub(crate) fn unwritten(&self) -> (Events, u64) {
        let state = lock(&self.0.state);
        let mut unwritten = Events::clone(&state.writing);
        unwritten.append(state.pending.clone());
        let written = state.replay.next_seq() - unwritten.len() as u64;
        (unwritten, written)
    }

    /// How many events wait for a commit.
    pub fn pending(&self) -> usize {
        let state = lock(&self.0.state);
        state.writing.len() + state.pending.len()
    }

    /// The surface as it is now.
    pub fn surface(&self) -> Surface {
        lock(&self.0.state).replay.surface()
    }

    /// The messages of the next request.
    pub fn messages(&self) -> Vec<Message> {
        self.surface().messages()
    }

    /// The latest title.
    ///
    /// # Errors
    /// When the log holds one that nobody can read.
    pub fn title(&self) -> Result<Option<Title>, TitleError> {
        lock(&self.0.state).replay.title()
    }

    /// The place of the next event.
    pub fn next_seq(&self) -> u64 {
        lock(&self.0.state).replay.next_seq()
    }

    /// Whether a turn is open.
    pub fn turn_is_open(&self) -> bool {
        lock(&self.0.state).replay.turn_is_open()
    }

    /// Context messages that `plugin` put into the session's own history, waiting ones included, shadowed or not.
    pub fn own_notes(&self, plugin: &str) -> Vec<Note> {
        lock(&self.0.state).notes.of(plugin)
    }

    /// Those of every plugin.
    pub fn notes(&self) -> Vec<Note> {
        lock(&self.0.state).notes.all().collect()
    }

    /// Messages with a key that a step claimed and no event of the log holds: the process died in between.
    pub fn lost_notes(&self) -> Vec<Message> {
        lock(&self.0.state).notes.lost().to_vec()
    }

    /// Every event from now on, in order.
    pub fn subscribe(&self) -> Subscription {
        let (sender, receiver) = mpsc::unbounded_channel();
        lock(&self.0.state).subscribers.push(sender);
        Subscription(receiver)
    }

    pub(crate) fn downgrade(&self) -> WeakLive {
        WeakLive(Arc::downgrade(&self.0))
    }
}

impl State {
    /// The next batch: what a write before could not bring to the disk, and whatever waits.
    fn batch(&mut self) -> Arc<Events> {
        let mut batch = Arc::unwrap_or_clone(std::mem::take(&mut self.writing));
        batch.append(std::mem::take(&mut self.pending));
        self.writing = Arc::new(batch);
        self.writing.clone()
    }
}

impl WeakLive {
    pub(crate) fn upgrade(&self) -> Option<Live> {
        self.0.upgrade().map(Live)
    }
}

impl Subscription {
    /// The next event; none when the session was closed and every event has been read.
    pub async fn next(&mut self) -> Option<Event> {
        self.0.recv().await
    }

    /// The next event that is there already.
    pub fn try_next(&mut self) -> Option<Event> {
        self.0.try_recv().ok()
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live").field("id", &self.header.id).finish_non_exhaustive()
    }
}

/// Nothing panics while it holds the state, so that a poisoned lock guards a sound one.
fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A row is one line: newlines between the tokens of its data go. Within strings JSON has none.
fn one_line(data: Json) -> Json {
    match memchr::memchr2(b'\n', b'\r', data.as_str().as_bytes()) {
        Some(_) => Json::from_trusted(data.as_str().replace(['\n', '\r'], " ")),
        None => data,
    }
}
