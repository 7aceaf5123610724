//! What one call of a plugin may use up.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Limits of one call of one plugin. The default is what is in force where nobody says otherwise.
///
/// A manifest may want more or less, the operator's grant caps it; every figure but the last holds for a whole call
/// of one export, counted anew for each link of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of linear memory, of all memories of the instance together.
    pub memory_bytes: u64,
    /// Elements of all tables of the instance together.
    pub table_elements: u64,
    /// Milliseconds of the thread's CPU time inside the guest.
    ///
    /// Waiting, time inside imports that wait and a busy machine cost nothing. What the host does at once on the
    /// guest's behalf, such as copying a text to it, is the guest's own time.
    pub cpu_ms: u64,
    /// Milliseconds on the clock, without those spent in the rest of a chain. A command has as many as it likes: it
    /// may wait for a model, and the person can cancel it.
    pub wall_ms: u64,
    /// Calls of imports.
    pub host_calls: u64,
    /// Bytes that the guest hands to the host, as arguments of imports and as the result.
    pub output_bytes: u64,
    /// Bytes of log entries that are kept. What is more is dropped and said so; the call goes on.
    pub log_bytes: u64,
    /// Messages, steps, surfaces, agents and whatever else is a handle, that the guest holds at one time.
    pub handles: u64,
    /// Acts on agents: sessions that it creates, messages that it injects or withdraws, turns that it asks for.
    pub acts: u64,
    /// Calls that run at one time. One more is refused and never waits; one inside another call of the same plugin
    /// does not count, and neither does one that waits for a turn of an agent.
    pub concurrent_calls: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            memory_bytes: 64 << 20,
            // A JavaScript engine needs about ten thousand.
            table_elements: 100_000,
            cpu_ms: 250,
            wall_ms: 10_000,
            host_calls: 10_000,
            output_bytes: 8 << 20,
            log_bytes: 64 << 10,
            handles: 4096,
            // A command needs a few; each can be a request to a model.
            acts: 16,
            concurrent_calls: 64,
        }
    }
}

impl Limits {
    /// The smaller of both, figure by figure.
    #[must_use]
    pub fn capped_by(&self, cap: &Limits) -> Limits {
        Limits {
            memory_bytes: self.memory_bytes.min(cap.memory_bytes),
            table_elements: self.table_elements.min(cap.table_elements),
            cpu_ms: self.cpu_ms.min(cap.cpu_ms),
            wall_ms: self.wall_ms.min(cap.wall_ms),
            host_calls: self.host_calls.min(cap.host_calls),
            output_bytes: self.output_bytes.min(cap.output_bytes),
            log_bytes: self.log_bytes.min(cap.log_bytes),
            handles: self.handles.min(cap.handles),
            acts: self.acts.min(cap.acts),
            concurrent_calls: self.concurrent_calls.min(cap.concurrent_calls),
        }
    }
}

/// Which limit a call ran into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Limit {
    /// [`Limits::memory_bytes`].
    Memory,
    /// [`Limits::table_elements`].
    Table,
    /// [`Limits::cpu_ms`].
    Cpu,
    /// [`Limits::wall_ms`].
    Wall,
    /// [`Limits::host_calls`].
    HostCalls,
    /// [`Limits::output_bytes`].
    Output,
    /// [`Limits::handles`].
    Handles,
    /// [`Limits::acts`].
    Acts,
    /// [`Limits::concurrent_calls`].
    ConcurrentCalls,
    /// [`HostOptions::stack_bytes`](crate::HostOptions::stack_bytes).
    Stack,
    /// [`HostOptions::calls`](crate::HostOptions::calls).
    Slots,
}

impl Limit {
    /// The key under `[limits]` in a manifest; none for what is one for all plugins of a host.
    #[must_use]
    pub fn key(self) -> Option<&'static str> {
        match self {
            Limit::Memory => Some("memory-bytes"),
            Limit::Table => Some("table-elements"),
            Limit::Cpu => Some("cpu-ms"),
            Limit::Wall => Some("wall-ms"),
            Limit::HostCalls => Some("host-calls"),
            Limit::Output => Some("output-bytes"),
            Limit::Handles => Some("handles"),
            Limit::Acts => Some("acts"),
            Limit::ConcurrentCalls => Some("concurrent-calls"),
            Limit::Stack | Limit::Slots => None,
        }
    }

    fn noun(self) -> &'static str {
        match self {
            Limit::Memory => "bytes of memory",
            Limit::Table => "table elements",
            Limit::Cpu => "ms of CPU time",
            Limit::Wall => "ms on the clock",
            Limit::HostCalls => "calls of imports",
            Limit::Output => "bytes handed to the host",
            Limit::Handles => "live handles",
            Limit::Acts => "acts on agents",
            Limit::ConcurrentCalls => "calls at one time",
            Limit::Stack => "bytes of stack",
            Limit::Slots => "calls of all plugins at one time",
        }
    }
}

/// A limit that was run into: which, with what figure, and how to raise it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct Breach {
    /// Which limit.
    pub limit: Limit,
    /// What the guest wanted or had used, in the limit's unit; none where the engine does not say.
    pub figure: Option<u64>,
    /// What it may have.
    pub allowed: u64,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Breach { limit, figure, allowed } = self;
        match figure {
            Some(figure) => write!(f, "{figure} {} where {allowed} are allowed", limit.noun())?,
            None => write!(f, "more than {allowed} {}", limit.noun())?,
        }
        match limit.key() {
            Some(key) => {
                write!(
                    f,
                    " (raise `{key}` under [limits] of the plugin's manifest and of its grant)"
                )
            }
            None if *limit == Limit::Slots => {
                f.write_str(" (try again when some have ended, or raise the host's option `calls`)")
            }
            None => f.write_str(" (raise the host's option `stack_bytes`)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_figure_of_manifest_and_grant_holds() {
        let wanted = Limits { cpu_ms: 900, handles: 3, ..Limits::default() };
        let cap = Limits { cpu_ms: 500, ..Limits::default() };
        let held = wanted.capped_by(&cap);
        assert_eq!((held.cpu_ms, held.handles), (500, 3));
    }

    #[test]
    fn a_breach_says_figure_limit_and_way_out() {
        let breach = Breach { limit: Limit::Cpu, figure: Some(251), allowed: 250 };
        assert_eq!(
            breach.to_string(),
            "251 ms of CPU time where 250 are allowed (raise `cpu-ms` under [limits] of the plugin's manifest and of its grant)"
        );
    }
}
