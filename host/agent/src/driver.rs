//! Drives turns while there is something to do.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use dsh_session::{Draft, Event, Live, Message, Surface};

use crate::ask::{Awaited, reply_text};
use crate::cancel::CancelSource;
use crate::compaction::{Gauge, Reading};
use crate::header::Headers;
use crate::lifecycle::Place;
use crate::note::Due;
use crate::turn::Turn;
use crate::{
    AgentError, Cancel, Cause, CompactError, Composition, EndedTurn, Inbox, LogError, MessageIds,
    Progress, Splice, Status, Target, TurnEnd,
};

/// What the clones of an agent and its task share.
pub(crate) struct Shared {
    live: Live,
    ids: MessageIds,
    runtime: Handle,
    status: watch::Sender<Status>,
    state: Mutex<State>,
}

/// Held only between awaits; an event is logged before the state says so.
pub(crate) struct State {
    pub(crate) inbox: Inbox,
    /// What waits beside the batch that was claimed last.
    pub(crate) due: Vec<Due>,
    /// What lies before this place may have been sent to a model.
    pub(crate) asked_through: u64,
    pub(crate) awaited: Awaited,
    /// The last text of the model in the turn that runs.
    reply: Option<String>,
    headers: Headers,
    gauge: Gauge,
    /// Whether the log holds the start of a compaction without its end.
    bracket_open: bool,
    /// The last turn that was started.
    turn: u64,
    pub(crate) composition: Arc<Composition>,
    activity: Option<Activity>,
    /// The task of this activity, or of the one before; it holds the session until it is over.
    driver: Option<JoinHandle<()>>,
    last: Option<EndedTurn>,
    pub(crate) disposed: bool,
}

/// What runs.
struct Activity {
    cancel: CancelSource,
    /// Whether the turn ended so that nothing follows by itself.
    stopping: bool,
    /// Whether steering came that no step has claimed.
    steered: bool,
    /// What came too late for this activity, and wakes the next.
    latched: Vec<String>,
}

impl Activity {
    fn new() -> Self {
        Self { cancel: CancelSource::new(), stopping: false, steered: false, latched: Vec::new() }
    }
}

impl Shared {
    pub(crate) fn new(
        live: Live,
        progress: Progress,
        composition: Composition,
        ids: MessageIds,
        runtime: Handle,
    ) -> Self {
        let seed_length = live.header().seed_length.unwrap_or(0);
        let asked_through = progress.asked_through();
        let (turn, headers, gauge, inbox) = progress.finish(seed_length);
        // An open bracket of an earlier process is stale: a session that is opened ends its seed anew.
        let state = State {
            inbox,
            due: Vec::new(),
            asked_through,
            awaited: Awaited::default(),
            reply: None,
            headers,
            gauge,
            bracket_open: false,
            turn,
            composition: Arc::new(composition),
            activity: None,
            driver: None,
            last: None,
            disposed: false,
        };
        let status = watch::Sender::new(Status::Idle);
        Self { live, ids, runtime, status, state: Mutex::new(state) }
    }

    pub(crate) fn live(&self) -> &Live {
        &self.live
    }

    pub(crate) fn new_id(&self) -> String {
        (self.ids)()
    }

    pub(crate) fn status(&self) -> watch::Receiver<Status> {
        self.status.subscribe()
    }

    pub(crate) fn last_turn(&self) -> Option<EndedTurn> {
        self.state().last.clone()
    }

    pub(crate) fn composition(&self) -> Arc<Composition> {
        Arc::clone(&self.state().composition)
    }

    pub(crate) fn compose(&self, composition: Composition) {
        self.state().composition = Arc::new(composition);
    }

    pub(crate) fn waiting(&self, target: Target) -> Vec<Message> {
        self.state().inbox.waiting(target).to_vec()
    }

    /// Puts a message into the inbox; one that wakes starts the driver.
    pub(crate) fn send(
        self: &Arc<Self>,
        message: Message,
        target: Target,
        wakes: bool,
    ) -> Result<(), AgentError> {
        let mut state = self.state();
        if state.disposed {
            return Err(AgentError::Disposed);
        }
        let cancelled =
            state.activity.as_ref().is_some_and(|running| running.cancel.is_cancelled());
        let target = if wakes && cancelled { Target::NextTurn } else { target };
        let id = message.id().to_owned();
        let splice = state.inbox.push(target, message)?;
        self.log_splice(&mut state, &splice)?;
        if !wakes {
            return Ok(());
        }
        match &mut state.activity {
            Some(running) if running.stopping || cancelled => running.latched.push(id),
            Some(running) => running.steered |= target == Target::NextStep,
            None => {
                let own = Arc::clone(self);
                let first = async move { turn(&own).await };
                self.begin(&mut state, Activity::new(), first, |()| {});
            }
        }
        Ok(())
    }

    /// Does `work` between turns. What would wake the agent meanwhile wakes it afterwards.
    ///
    /// What came of it is sent when the agent is free again, or its next turn has begun.
    pub(crate) fn maintain<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(Arc<Self>, Arc<Composition>, Cancel) -> F,
    ) -> Result<oneshot::Receiver<T>, CompactError> {
        let mut state = self.state();
        if state.disposed {
            return Err(CompactError::Disposed);
        }
        if state.activity.is_some() || state.bracket_open {
            return Err(CompactError::Busy);
        }
        let activity = Activity { stopping: true, ..Activity::new() };
        let (composition, cancel) = (Arc::clone(&state.composition), activity.cancel.token());
        let work = work(Arc::clone(self), composition, cancel);
        let (sender, done) = oneshot::channel();
        // Nobody listens where the receiver was dropped.
        self.begin(&mut state, activity, work, |done| drop(sender.send(done)));
        Ok(done)
    }

    /// Runs `first`, tells what came of it, and runs the turns that follow.
    fn begin<T: Send + 'static>(
        self: &Arc<Self>,
        state: &mut State,
        activity: Activity,
        first: impl Future<Output = T> + Send + 'static,
        tell: impl FnOnce(T) + Send + 'static,
    ) {
        state.activity = Some(activity);
        self.status.send_replace(Status::Running);
        state.driver = Some(self.runtime.spawn(drive(Arc::clone(self), first, tell)));
    }

    /// Puts `messages` where the one with this id waits.
    pub(crate) fn replace(
        &self,
        id: &str,
        messages: Vec<Message>,
    ) -> Result<Option<Message>, AgentError> {
        let mut state = self.state();
        let Some((target, place)) = state.inbox.find(id) else {
            return Ok(None);
        };
        let place = i64::try_from(place).unwrap_or(i64::MAX);
        match state.inbox.splice(target, place, 1, messages)? {
            Some(splice) => Ok(self.log_splice(&mut state, &splice)?.pop()),
            None => Ok(None),
        }
    }

    /// Cancels what runs, even where the log refuses to say that what waits is gone.
    pub(crate) fn cancel(&self, cause: Cause, keep_inbox: bool) -> Result<(), LogError> {
        let mut state = self.state();
        let cleared = if keep_inbox { Ok(()) } else { self.clear(&mut state) };
        if let Some(running) = &state.activity {
            running.cancel.cancel(cause);
        }
        cleared
    }

    pub(crate) fn dispose(&self) -> Result<(), LogError> {
        let mut state = self.state();
        state.disposed = true;
        let cleared = self.clear(&mut state);
        match &state.activity {
            Some(running) => running.cancel.cancel(Cause::Disposed),
            None => {
                self.status.send_replace(Status::Disposed);
            }
        }
        cleared
    }

    /// The task that is over as soon as the agent is idle.
    pub(crate) fn take_driver(&self) -> Option<JoinHandle<()>> {
        self.state().driver.take()
    }

    /// What a step takes from the inbox.
    pub(crate) fn claim(&self, prompt: bool) -> Result<Vec<Message>, LogError> {
        let mut state = self.state();
        Self::note_due(&mut state);
        let mut claimed = Vec::new();
        for splice in state.inbox.claim(prompt) {
            claimed.extend(self.log_splice(&mut state, &splice)?);
        }
        let turn = state.turn;
        state.awaited.claimed(turn, &claimed);
        if let Some(running) = &mut state.activity {
            running.steered = false;
        }
        Ok(claimed)
    }

    /// Gives tools' messages to the next step.
    pub(crate) fn join_next_step(&self, messages: Vec<Message>) -> Result<(), AgentError> {
        let mut state = self.state();
        for message in messages {
            let splice = state.inbox.push(Target::NextStep, message)?;
            self.log_splice(&mut state, &splice)?;
        }
        Ok(())
    }

    /// The number and the parts of a turn that is about to start.
    pub(crate) fn next_turn(&self) -> (u64, Arc<Composition>, Cancel) {
        let state = self.state();
        let cancel = state
            .activity
            .as_ref()
            .map_or_else(|| CancelSource::new().token(), |running| running.cancel.token());
        (state.turn + 1, Arc::clone(&state.composition), cancel)
    }

    /// Logs the start of a turn.
    pub(crate) fn start_turn(&self, place: Place) -> Result<(), LogError> {
        let mut state = self.state();
        self.append(place.turn_start())?;
        state.turn = place.turn;
        state.reply = None;
        Ok(())
    }

    /// The messages of a request that is sent now: nothing of it can be withdrawn any more.
    pub(crate) fn asked(&self) -> Vec<Message> {
        let mut state = self.state();
        state.asked_through = self.live.next_seq();
        self.live.messages()
    }

    /// Keeps the text of a reply, where it has one.
    pub(crate) fn replied(&self, reply: &Message) {
        if let Some(text) = reply_text(reply) {
            self.state().reply = Some(text);
        }
    }

    /// Runs `read` on the request headers of the log.
    pub(crate) fn headers<T>(&self, read: impl FnOnce(&mut Headers) -> T) -> T {
        read(&mut self.state().headers)
    }

    pub(crate) fn append(&self, draft: Result<Draft, LogError>) -> Result<Event, LogError> {
        Ok(self.live.append(draft?)?)
    }

    /// Logs an event that changes how much there is.
    pub(crate) fn append_measured(&self, draft: Result<Draft, LogError>) -> Result<(), LogError> {
        let event = self.append(draft)?;
        self.state().gauge.event(&event);
        Ok(())
    }

    /// How much a request of `composition` would be with the messages of `surface`.
    pub(crate) fn measure(&self, composition: &Composition, surface: &Surface) -> Reading {
        let state = self.state();
        state.gauge.read(&state.headers.next(composition), surface)
    }

    /// Logs the start of a compaction, and gives its place.
    pub(crate) fn open_bracket(&self, start: Result<Draft, LogError>) -> Result<u64, CompactError> {
        let mut state = self.state();
        if state.bracket_open {
            return Err(CompactError::Busy);
        }
        let event = self.append(start)?;
        state.bracket_open = true;
        Ok(event.seq)
    }

    /// Logs the end of a compaction.
    pub(crate) fn close_bracket(&self, end: Result<Draft, LogError>) -> Result<(), LogError> {
        let mut state = self.state();
        self.append(end)?;
        state.bracket_open = false;
        Ok(())
    }

    pub(crate) async fn commit(&self) -> Result<(), LogError> {
        Ok(self.live.commit().await?)
    }

    /// Logs how a turn ended. From then on it takes a new wake to start another, where it did not end well.
    pub(crate) fn end_turn(&self, place: Place, end: TurnEnd) -> Result<(), LogError> {
        let mut state = self.state();
        let logged = self.append(place.turn_end(&end));
        if let Ok(event) = &logged {
            // What is refused here waits on.
            let _ = self.log_waiting(&mut state);
            let reply = state.reply.take();
            state.awaited.ended(place.turn, &end, reply.as_deref(), Some(event.seq));
        }
        let normal = matches!(end, TurnEnd::Completed | TurnEnd::MaxTokens);
        if let Some(running) = &mut state.activity {
            running.stopping = !normal || logged.is_err();
        }
        state.last = Some(EndedTurn { turn: place.turn, end });
        logged.map(drop)
    }

    /// Notes a turn that could not even be logged.
    pub(crate) fn turn_failed(&self, turn: u64, end: TurnEnd) {
        let mut state = self.state();
        state.awaited.ended(turn, &end, None, None);
        if let Some(running) = &mut state.activity {
            running.stopping = true;
        }
        state.last = Some(EndedTurn { turn, end });
    }

    /// Whether another turn follows; if none does, the agent is idle from here on.
    fn goes_on(&self, may_follow: bool) -> bool {
        let mut state = self.state();
        let follows = state.activity.as_ref().is_some_and(|running| {
            let latched = running.latched.iter().any(|id| state.inbox.find(id).is_some());
            let latched = latched || state.awaited.is_due(&state.inbox);
            let halted = running.stopping || running.cancel.is_cancelled();
            let steered = running.steered && !state.inbox.waiting(Target::NextStep).is_empty();
            let queued = steered || !state.inbox.waiting(Target::NextTurn).is_empty();
            latched || (!halted && queued)
        });
        let goes_on = may_follow && follows && !state.disposed;
        state.activity = goes_on.then(Activity::new);
        if !goes_on {
            self.status.send_replace(if state.disposed { Status::Disposed } else { Status::Idle });
        }
        goes_on
    }

    fn clear(&self, state: &mut State) -> Result<(), LogError> {
        for splice in state.inbox.clear() {
            self.log_splice(state, &splice)?;
        }
        Ok(())
    }

    /// Logs a change of the inbox, then makes it.
    pub(crate) fn log_splice(
        &self,
        state: &mut State,
        splice: &Splice,
    ) -> Result<Vec<Message>, LogError> {
        self.append(splice.draft())?;
        let removed = state.inbox.apply(splice);
        if splice.canceled {
            state.awaited.taken_back(&removed);
        }
        Ok(removed)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        // Every change of the state is whole before anything can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Does what there is to do first, and runs turns until nothing more follows.
async fn drive<T>(shared: Arc<Shared>, first: impl Future<Output = T>, tell: impl FnOnce(T)) {
    let mut idle = IdleOnDrop { shared: &shared, armed: true };
    let done = first.await;
    let mut goes_on = shared.goes_on(true);
    tell(done);
    while goes_on {
        turn(&shared).await;
        goes_on = shared.goes_on(true);
    }
    idle.armed = false;
}

async fn turn(shared: &Arc<Shared>) {
    Turn::run(shared).await;
    // A failure stays with the log: whoever waits for idle is told, and so is the next turn.
    let _ = shared.commit().await;
}

/// Sees to it that nobody waits for a driver that is gone, such as one whose runtime was shut down.
struct IdleOnDrop<'a> {
    shared: &'a Shared,
    armed: bool,
}

impl Drop for IdleOnDrop<'_> {
    fn drop(&mut self) {
        if !self.armed {
            return;
        }
        if std::thread::panicking() {
            let turn = self.shared.state().turn;
            self.shared.turn_failed(turn, TurnEnd::failed("PANIC", "the loop itself panicked"));
        }
        self.shared.goes_on(false);
    }
}
