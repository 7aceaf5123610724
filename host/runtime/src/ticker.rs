//! The clock that guests are stopped by.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use wasmtime::EngineWeak;

/// How often a busy guest is looked at, and yields to what else the runtime has to do.
const TICK: Duration = Duration::from_millis(2);

/// Ticks without a call after which the ticker goes to sleep: a second, so that steps in quick succession need not
/// wake it.
const IDLE_TICKS: u32 = 500;

/// The thread that moves the engines' epoch on while calls run.
pub(crate) struct Ticker(Arc<Clock>);

struct Clock {
    face: Mutex<Face>,
    wake: Condvar,
}

struct Face {
    /// Held weakly, as their owner ends the thread.
    engines: Vec<EngineWeak>,
    calls: usize,
    asleep: bool,
    over: bool,
}

impl Clock {
    fn face(&self) -> MutexGuard<'_, Face> {
        self.face.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ticks until it is over.
    fn run(&self) {
        let mut idle = 0;
        let mut face = self.face();
        while !face.over {
            idle = if face.calls > 0 { 0 } else { idle + 1 };
            face = if idle > IDLE_TICKS {
                face.asleep = true;
                let mut woken = self.wake.wait(face).unwrap_or_else(PoisonError::into_inner);
                woken.asleep = false;
                woken
            } else {
                let waited = self.wake.wait_timeout(face, TICK);
                waited.unwrap_or_else(PoisonError::into_inner).0
            };
            for engine in face.engines.iter().filter_map(EngineWeak::upgrade) {
                engine.increment_epoch();
            }
        }
    }
}

impl Ticker {
    pub(crate) fn start(engine: EngineWeak) -> std::io::Result<Ticker> {
        let face = Mutex::new(Face { engines: vec![engine], calls: 0, asleep: false, over: false });
        let clock = Arc::new(Clock { face, wake: Condvar::new() });
        let running = clock.clone();
        let thread = std::thread::Builder::new().name("plugin-ticker".to_owned());
        thread.spawn(move || running.run())?;
        Ok(Ticker(clock))
    }

    /// Ticks for one more engine.
    pub(crate) fn also(&self, engine: EngineWeak) {
        self.0.face().engines.push(engine);
    }

    /// Keeps it ticking until the value is dropped.
    pub(crate) fn hold(&self) -> Ticking<'_> {
        let mut face = self.0.face();
        face.calls += 1;
        if face.asleep {
            self.0.wake.notify_one();
        }
        Ticking(&self.0)
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.0.face().over = true;
        self.0.wake.notify_one();
    }
}

/// A call is running.
pub(crate) struct Ticking<'a>(&'a Clock);

impl Drop for Ticking<'_> {
    fn drop(&mut self) {
        self.0.face().calls -= 1;
    }
}

#[cfg(test)]
mod tests {
    use wasmtime::Engine;

    use super::*;

    /// Gives way to the ticker until its clock's face is as `done` wants it.
    fn wait_until(ticker: &Ticker, done: impl Fn(&Face) -> bool) {
        while !done(&ticker.0.face()) {
            std::thread::yield_now();
        }
    }

    #[test]
    fn the_ticker_sleeps_while_no_call_runs_and_wakes_for_one() {
        let engine = Engine::default();
        let ticker = Ticker::start(engine.weak()).expect("a thread");
        wait_until(&ticker, |face| face.asleep);
        let _call = ticker.hold();
        wait_until(&ticker, |face| !face.asleep);
    }

    #[test]
    fn the_tickers_thread_ends_with_its_host() {
        let engine = Engine::default();
        let ticker = Ticker::start(engine.weak()).expect("a thread");
        let clock = Arc::downgrade(&ticker.0);
        drop(ticker);
        while clock.strong_count() > 0 {
            std::thread::yield_now();
        }
    }
}
