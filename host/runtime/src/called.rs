//! What one call came to, and what a whole chain did: for spans, logs and statistics.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tracing::Span;
use tracing::field::{Empty, display};

use crate::chain::PreStepCall;
use crate::error::{CallError, Cause};
use crate::message::{Decision, Entered, Source};
use crate::plugin::Plugin;
use crate::state::State;

/// A call that has ended, and what it used up.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Called<'a> {
    /// Whose call it was.
    pub plugin: &'a Plugin,
    /// The export that was called.
    pub export: &'static str,
    /// The session on whose behalf; none for calls that belong to none.
    pub session: Option<&'a str>,
    /// The turn, from one; none outside of one.
    pub turn: Option<u64>,
    /// The step within the turn, from one.
    pub step: Option<u64>,
    /// How it ended; none where it returned what it should. It names another plugin where the call only passed on
    /// what came through `next`.
    pub error: Option<&'a CallError>,
    /// The thread's CPU time inside the guest.
    pub cpu: Duration,
    /// Time on the clock, without the rest of a chain.
    pub wall: Duration,
    /// Bytes of linear memory that it had in the end.
    pub memory_bytes: u64,
    /// Calls of imports.
    pub host_calls: u64,
    /// Bytes that it handed to the host.
    pub output_bytes: u64,
    /// Bytes of log entries.
    pub log_bytes: u64,
}

/// What a chain made of a batch.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Decided<'a> {
    /// What the chain was called with.
    pub call: &'a PreStepCall,
    /// What came of it.
    pub decision: &'a Decision,
    /// Who left out which message, by its place in the batch.
    pub(crate) left_out: &'a BTreeMap<usize, String>,
}

impl Decided<'_> {
    /// The ids of those messages of the user's that enter with other texts, each with the plugins that changed it.
    #[must_use]
    pub fn changed(&self) -> Vec<(&str, BTreeSet<&str>)> {
        let Decision::Enter(entered) = self.decision else { return Vec::new() };
        let edited = entered.iter().filter_map(|entered| match entered {
            Entered::Edited { index, edits } => Some((self.call.batch.get(*index)?, edits)),
            _ => None,
        });
        let users = edited.filter(|(message, _)| message.0.source == Source::User);
        let named = users.map(|(message, edits)| {
            (&*message.0.id, edits.iter().map(|edit| &*edit.plugin).collect())
        });
        named.collect()
    }

    /// The ids of those messages of the user's that do not enter a step that begins, each with the plugin that left it
    /// out.
    #[must_use]
    pub fn dropped(&self) -> Vec<(&str, &str)> {
        let Decision::Enter(_) = self.decision else { return Vec::new() };
        let named = self.left_out.iter().filter_map(|(place, plugin)| {
            Some((&*self.call.batch.get(*place)?.0.id, plugin.as_str()))
        });
        named.collect()
    }
}

impl Called<'_> {
    /// The error of this plugin itself; none where the call only passed one on.
    #[must_use]
    pub fn own_error(&self) -> Option<&CallError> {
        self.error.filter(|error| error.plugin == self.plugin.id())
    }

    /// How it ended, in a word: `ok`, `failed`, `trap`, `limit`, `refused`, `quarantined` or `not-exported`, or
    /// `passed-on` where the error is another plugin's.
    #[must_use]
    pub fn outcome(&self) -> &'static str {
        match self.own_error().map(|error| &error.cause) {
            None if self.error.is_some() => "passed-on",
            None => "ok",
            Some(Cause::Failed(_)) => "failed",
            Some(Cause::Trap(_)) => "trap",
            Some(Cause::Limit(_)) => "limit",
            Some(Cause::Refused(_)) => "refused",
            Some(Cause::Quarantined(_)) => "quarantined",
            Some(Cause::NotExported) => "not-exported",
        }
    }

    /// Says on the call's span what it came to.
    pub(crate) fn record(&self, span: &Span) {
        if span.is_disabled() {
            return;
        }
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        span.record("outcome", self.outcome());
        if let Some(error) = self.error {
            span.record("error", display(error));
        }
        span.record("cpu_us", micros(self.cpu));
        span.record("wall_us", micros(self.wall));
        span.record("memory_bytes", self.memory_bytes);
        span.record("host_calls", self.host_calls);
        span.record("output_bytes", self.output_bytes);
    }
}

/// The span of a call that begins. Nothing is put together where nobody listens.
pub(crate) fn span(plugin: &Plugin, export: &'static str, state: &State) -> Span {
    let (turn, step) = state.turn.unzip();
    tracing::info_span!(
        "plugin_call",
        plugin = plugin.id(),
        version = plugin.manifest().version,
        digest = plugin.digest(),
        export,
        session = state.asker.session,
        turn,
        step,
        outcome = Empty,
        error = Empty,
        cpu_us = Empty,
        wall_us = Empty,
        memory_bytes = Empty,
        host_calls = Empty,
        output_bytes = Empty,
    )
}
