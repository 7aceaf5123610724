//! The two budgets of a call: the guest's CPU time and the time on the clock.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::time::{Instant, Sleep};

use crate::limits::{Breach, Limit, Limits};

/// Measures one call.
///
/// Shared between the future that runs the guest, the epoch's callback and the imports, none of which ever run at
/// the same time: the lock is never waited for.
pub(crate) struct Meter(Mutex<Spent>);

struct Spent {
    cpu_allowed: Duration,
    /// None where the clock does not count.
    wall_allowed: Option<Duration>,
    cpu: Duration,
    /// The thread's CPU time when the guest last went on; none while it does not run.
    ///
    /// Never kept over a poll: the next one may be on another thread.
    running_since: Option<Duration>,
    wall: Duration,
    /// When the clock last went on; none in the rest of a chain, and before the first poll.
    ticking_since: Option<Instant>,
    place: Place,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Guest,
    /// In an import that may wait.
    Import,
    /// In the rest of a chain: what it takes is for the links further down to answer for.
    Next,
}

/// CPU time of the calling thread since it began.
fn thread_cpu() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(now.tv_nsec).unwrap_or_default())
}

impl Meter {
    pub(crate) fn new(limits: &Limits) -> Arc<Meter> {
        Meter::allowing(limits, Some(Duration::from_millis(limits.wall_ms)))
    }

    /// For a call that may wait as long as it likes.
    pub(crate) fn without_clock(limits: &Limits) -> Arc<Meter> {
        Meter::allowing(limits, None)
    }

    fn allowing(limits: &Limits, wall_allowed: Option<Duration>) -> Arc<Meter> {
        Arc::new(Meter(Mutex::new(Spent {
            cpu_allowed: Duration::from_millis(limits.cpu_ms),
            wall_allowed,
            cpu: Duration::ZERO,
            running_since: None,
            wall: Duration::ZERO,
            ticking_since: None,
            place: Place::Guest,
        })))
    }

    fn spent(&self) -> MutexGuard<'_, Spent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The CPU time inside the guest and the time on the clock, so far.
    pub(crate) fn totals(&self) -> (Duration, Duration) {
        let spent = self.spent();
        let running = spent.ticking_since.map(|since| since.elapsed()).unwrap_or_default();
        (spent.cpu, spent.wall.saturating_add(running))
    }

    /// The epoch's alarm, in the guest: charges it, and says whether it can go on.
    pub(crate) fn alarm(&self) -> Result<(), Breach> {
        let mut spent = self.spent();
        spent.stop_cpu();
        spent.start_cpu();
        spent.check_cpu()
    }

    /// Leaves the guest for an import that may wait, until the value is dropped.
    pub(crate) fn in_import(self: &Arc<Meter>) -> Away {
        Away::new(self, Place::Import)
    }

    /// Leaves the guest for the rest of the chain, until the value is dropped.
    pub(crate) fn in_next(self: &Arc<Meter>) -> Away {
        Away::new(self, Place::Next)
    }
}

impl Spent {
    fn start_cpu(&mut self) {
        self.running_since = (self.place == Place::Guest).then(thread_cpu);
    }

    fn stop_cpu(&mut self) {
        if let Some(since) = self.running_since.take() {
            self.cpu += thread_cpu().saturating_sub(since);
        }
    }

    fn start_wall(&mut self) {
        if self.place != Place::Next && self.ticking_since.is_none() {
            self.ticking_since = Some(Instant::now());
        }
    }

    fn stop_wall(&mut self) {
        if let Some(since) = self.ticking_since.take() {
            self.wall += since.elapsed();
        }
    }

    fn check_cpu(&self) -> Result<(), Breach> {
        if self.cpu <= self.cpu_allowed {
            return Ok(());
        }
        Err(breach(Limit::Cpu, self.cpu, self.cpu_allowed))
    }

    /// When the clock's budget ends and how large it is, if it is running down.
    fn deadline(&self) -> Option<(Instant, Duration)> {
        let (since, allowed) = (self.ticking_since?, self.wall_allowed?);
        Some((since.checked_add(allowed.saturating_sub(self.wall))?, allowed))
    }
}

fn breach(limit: Limit, used: Duration, allowed: Duration) -> Breach {
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    Breach { limit, figure: Some(millis(used).max(millis(allowed) + 1)), allowed: millis(allowed) }
}

/// The guest waits for an import. Dropping it is the way back.
pub(crate) struct Away(Arc<Meter>);

impl Away {
    fn new(meter: &Arc<Meter>, place: Place) -> Away {
        let mut spent = meter.spent();
        spent.stop_cpu();
        spent.place = place;
        if place == Place::Next {
            spent.stop_wall();
        }
        drop(spent);
        Away(meter.clone())
    }
}

impl Drop for Away {
    fn drop(&mut self) {
        let mut spent = self.0.spent();
        spent.place = Place::Guest;
        spent.start_wall();
        spent.start_cpu();
    }
}

/// A guest's call, metered at each poll.
pub(crate) struct Metered<F> {
    call: Pin<Box<F>>,
    meter: Arc<Meter>,
    /// Made when the call first has to wait, so that one that never waits needs no timer.
    alarm: Option<Pin<Box<Sleep>>>,
}

impl<F> Metered<F> {
    pub(crate) fn new(meter: Arc<Meter>, call: F) -> Metered<F> {
        Metered { call: Box::pin(call), meter, alarm: None }
    }
}

impl<T, F: Future<Output = wasmtime::Result<T>>> Future for Metered<F> {
    type Output = wasmtime::Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<wasmtime::Result<T>> {
        let this = &mut *self;
        let mut spent = this.meter.spent();
        spent.start_wall();
        spent.start_cpu();
        drop(spent);
        let polled = this.call.as_mut().poll(cx);
        let mut spent = this.meter.spent();
        spent.stop_cpu();
        if polled.is_ready() {
            return polled;
        }
        let Some((deadline, allowed)) = spent.deadline() else {
            this.alarm = None;
            return Poll::Pending;
        };
        let wall = spent.wall;
        drop(spent);
        let alarm = this.alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if alarm.deadline() != deadline {
            alarm.as_mut().reset(deadline);
        }
        ready!(alarm.as_mut().poll(cx));
        Poll::Ready(Err(breach(Limit::Wall, wall, allowed).into()))
    }
}
