//! What one store holds: everything about one call of one plugin.

use std::collections::BTreeSet;
use std::sync::Arc;

use wasmtime::ResourceLimiter;
use wasmtime::component::{Resource, ResourceTable, ResourceTableError};

use crate::budget::Meter;
use crate::grants::Capabilities;
use crate::health::Running;
use crate::host::Bounds;
use crate::limits::{Breach, Limit, Limits};
use crate::link::Link;
use crate::services::Services;
use crate::session::Asker;
use crate::slots;
use crate::wasi_empty::Traces;

/// What one store holds. Made for a call and dropped with it, whatever the guest left behind.
pub(crate) struct State {
    /// Lent by the embedder; none in the trial when a plugin is loaded.
    pub(crate) services: Option<Services>,
    /// Who runs, and on whose behalf.
    pub(crate) asker: Asker,
    pub(crate) capabilities: Arc<Capabilities>,
    pub(crate) settings: Arc<str>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) bounds: Bounds,
    pub(crate) meter: Arc<Meter>,
    /// Live handles. Its capacity is the limit.
    pub(crate) table: ResourceTable,
    /// The place in a chain; none in calls of other seams.
    pub(crate) link: Option<Link>,
    /// Whether the call runs on behalf of an agent: a command's does.
    pub(crate) has_agent: bool,
    /// Sessions whose agents the guest has held in this call.
    pub(crate) held: BTreeSet<String>,
    /// The call's place among those of its plugin; none while it waits for a turn, and in a chain, where the link
    /// keeps it.
    pub(crate) place: Option<Running>,
    /// The turn and the step, from one; none outside of them.
    pub(crate) turn: Option<(u64, u64)>,
    /// What traces the call.
    pub(crate) span: tracing::Span,
    /// The last log entry of level error.
    pub(crate) last_words: Option<String>,
    pub(crate) used: Used,
    pub(crate) wasi: Traces,
}

/// What the call has used up so far, but for its time.
#[derive(Default)]
pub(crate) struct Used {
    pub(crate) memory_bytes: u64,
    table_elements: u64,
    pub(crate) host_calls: u64,
    pub(crate) output_bytes: u64,
    acts: u64,
    pub(crate) log_bytes: u64,
}

impl State {
    /// Counts one call of an import, which handed `bytes` to the host.
    pub(crate) fn host_call(&mut self, bytes: usize) -> wasmtime::Result<()> {
        let Used { host_calls, output_bytes, .. } = &mut self.used;
        spend(Limit::HostCalls, host_calls, 1, self.limits.host_calls)?;
        spend(Limit::Output, output_bytes, bytes as u64, self.limits.output_bytes)?;
        Ok(())
    }

    /// Counts one act on an agent.
    pub(crate) fn act(&mut self) -> Result<(), Breach> {
        spend(Limit::Acts, &mut self.used.acts, 1, self.limits.acts)
    }

    /// Counts `bytes` of an export's result.
    pub(crate) fn output(&mut self, bytes: usize) -> Result<(), Breach> {
        spend(Limit::Output, &mut self.used.output_bytes, bytes as u64, self.limits.output_bytes)
    }

    /// Checks before copying that `bytes` for the guest can fit its memory at all.
    pub(crate) fn input(&self, bytes: u64) -> Result<(), Breach> {
        let allowed = self.limits.memory_bytes;
        if bytes <= allowed {
            return Ok(());
        }
        Err(Breach { limit: Limit::Memory, figure: Some(bytes), allowed })
    }

    /// Gives the guest a handle.
    pub(crate) fn push<T: Send + 'static>(&mut self, value: T) -> wasmtime::Result<Resource<T>> {
        self.table.push(value).map_err(|err| match err {
            ResourceTableError::Full => {
                let allowed = self.limits.handles;
                Breach { limit: Limit::Handles, figure: Some(allowed + 1), allowed }.into()
            }
            err => err.into(),
        })
    }
}

/// Adds `more` to what is used of a limit.
fn spend(limit: Limit, used: &mut u64, more: u64, allowed: u64) -> Result<(), Breach> {
    *used = used.saturating_add(more);
    if *used <= allowed {
        return Ok(());
    }
    Err(Breach { limit, figure: Some(*used), allowed })
}

/// A growth past the limit ends the call: an allocator that is told no would only die of it less clearly.
impl ResourceLimiter for State {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let more = desired.saturating_sub(current) as u64;
        spend(Limit::Memory, &mut self.used.memory_bytes, more, self.limits.memory_bytes)?;
        Ok(true)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let more = desired.saturating_sub(current) as u64;
        spend(Limit::Table, &mut self.used.table_elements, more, self.limits.table_elements)?;
        Ok(true)
    }

    // What a component of a toolchain needs, with room: its parts and their adapters.
    fn instances(&self) -> usize {
        200
    }

    fn tables(&self) -> usize {
        slots::TABLES as usize
    }

    // Each one reserves gigabytes of address space.
    fn memories(&self) -> usize {
        slots::MEMORIES as usize
    }
}
