//! How a plugin fares: its running calls, its faults in a row, and the quarantine that they lead to.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{CallError, Cause};
use crate::limits::{Breach, Limit};

/// Faults in a row after which a plugin is not called any more: what fails three times will fail the fourth, and a
/// person waits for each.
pub const FAULTS_UNTIL_QUARANTINE: u32 = 3;

/// A plugin that is not called until somebody lifts it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "is in quarantine after {FAULTS_UNTIL_QUARANTINE} faults in a row, the last of which: {last_fault} (release or replace the plugin)"
)]
#[non_exhaustive]
pub struct Quarantine {
    /// The error of the last call.
    pub last_fault: String,
}

/// What is remembered of a plugin's calls, shared by its clones.
#[derive(Default)]
pub(crate) struct Health {
    running: AtomicU64,
    record: Mutex<Standing>,
}

/// How a plugin stands with its host: what an embedder keeps where a plugin outlives a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Its faults in a row.
    pub faults: u32,
    /// Why it is not called; none while it is.
    pub quarantine: Option<Quarantine>,
}

/// One running call. Dropping it makes room for another.
pub(crate) struct Running(Arc<Health>);

/// The place of a call that waits for others of the same plugin, and takes none itself meanwhile.
pub(crate) struct Left(Arc<Health>);

impl Running {
    /// Makes room while the call waits for what may call the plugin again.
    pub(crate) fn leave(self) -> Left {
        Left(self.0.clone())
    }
}

impl Left {
    /// Takes a place again, were there one too many: the call was let in long ago.
    pub(crate) fn come_back(self) -> Running {
        self.0.running.fetch_add(1, Ordering::AcqRel);
        Running(self.0)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Quarantine {
    /// One that began with this fault.
    #[must_use]
    pub fn after(last_fault: impl Into<String>) -> Quarantine {
        Quarantine { last_fault: last_fault.into() }
    }
}

impl Health {
    fn record(&self) -> MutexGuard<'_, Standing> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a call begin, or says at once why it cannot. One `inside` another call of the plugin takes no place of
    /// its own, for to refuse it would be to refuse the one that is let in already.
    pub(crate) fn admit(
        self: &Arc<Health>,
        allowed: u64,
        inside: bool,
    ) -> Result<Option<Running>, Cause> {
        if let Some(quarantine) = self.quarantine() {
            return Err(Cause::Quarantined(quarantine));
        }
        if inside {
            return Ok(None);
        }
        let before = self.running.fetch_add(1, Ordering::AcqRel);
        let running = Running(self.clone());
        if before < allowed {
            return Ok(Some(running));
        }
        let figure = Some(before.saturating_add(1));
        Err(Cause::Limit(Breach { limit: Limit::ConcurrentCalls, figure, allowed }))
    }

    /// Remembers how a call ended. Gives the quarantine if this is what it begins with.
    pub(crate) fn ended(&self, error: Option<&CallError>) -> Option<Quarantine> {
        let mut record = self.record();
        let Some(fault) = error.filter(|error| error.cause.is_fault()) else {
            record.faults = 0;
            return None;
        };
        record.faults = record.faults.saturating_add(1);
        if record.faults < FAULTS_UNTIL_QUARANTINE || record.quarantine.is_some() {
            return None;
        }
        record.quarantine = Some(Quarantine { last_fault: fault.to_string() });
        record.quarantine.clone()
    }

    /// How it stands now.
    pub(crate) fn standing(&self) -> Standing {
        self.record().clone()
    }

    /// Goes on from where it stood before.
    pub(crate) fn resume(&self, standing: Standing) {
        *self.record() = standing;
    }

    pub(crate) fn quarantine(&self) -> Option<Quarantine> {
        self.record().quarantine.clone()
    }

    /// Forgets all faults.
    pub(crate) fn release(&self) {
        *self.record() = Standing::default();
    }
}
