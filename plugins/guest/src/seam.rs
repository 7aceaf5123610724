//! The seams of the agent loop as traits, and the macro that exports them.

use std::marker::PhantomData;

use crate::bindings;
use crate::commands::{Command, Outcome};
use crate::mentions::{Candidate, Target};
use crate::references::{Parsed, Prepared, Reference};
use crate::tool_gate::Verdict;
use crate::{Block, Call, Decision, Failure, Invocation, Message, SessionId, panic};

/// `agent/pre-step`: decides whether the loop enters a step, and with which messages.
pub trait PreStep {
    /// Called once for each step, with the batch that was claimed for it; empty
    /// for a step that only continues after tool results.
    ///
    /// Call [`next`](crate::next) for what the rest of the chain decides; a
    /// link that does not call it stops the chain there.
    ///
    /// # Errors
    ///
    /// A failure, with the plugin's own code, ends the turn before any message
    /// of the batch is logged.
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure>;
}

/// Mentions that a person can complete with `@`.
pub trait Mentions {
    /// Sessions whose id, directory or title holds `query`, whatever its case,
    /// best first and at most `limit`; all of them for an empty query.
    ///
    /// # Errors
    ///
    /// A failure with a code of the plugin's own, such as for a limit of zero.
    fn candidates(
        target: Target,
        query: String,
        limit: Option<u32>,
    ) -> Result<Vec<Candidate>, Failure>;
}

/// References for hosts that hold them as values and not as text.
pub trait References {
    /// Finds the mentions in one text.
    ///
    /// # Errors
    ///
    /// A failure with a code of the plugin's own for a mention that names no session.
    fn parse(text: String) -> Result<Parsed, Failure>;

    /// The canonical mention, which [`parse`](Self::parse) reads back as the same reference.
    fn format(reference: Reference) -> String;

    /// Reads what `references` name and makes one snapshot of it, for `target`.
    /// `content` comes back as it went in.
    ///
    /// # Errors
    ///
    /// All or nothing: a failure, with a code of the plugin's own, leaves no
    /// partial snapshot.
    fn prepare(
        target: SessionId,
        content: Vec<Block>,
        references: Vec<Reference>,
    ) -> Result<Prepared, Failure>;
}

/// `tools/pre-execute`: allows or denies one tool call before it runs.
pub trait ToolGate {
    /// Deny beats ask, ask beats allow, over all the gates.
    ///
    /// # Errors
    ///
    /// A failure denies.
    fn check(call: Call) -> Result<Verdict, Failure>;
}

/// Commands that a person can run, such as `/side`.
pub trait Commands {
    /// The commands, without the slash.
    fn available() -> Vec<Command>;

    /// Runs one of them.
    ///
    /// # Errors
    ///
    /// A failure is shown to the person.
    fn run(invocation: Invocation) -> Result<Outcome, Failure>;
}

/// The exports of plugin `P`: the seams as the component model calls them.
///
/// Every call passes here first, so that a panic in it is logged.
#[doc(hidden)]
pub struct Exported<P>(PhantomData<P>);

impl<P: PreStep> bindings::pre_step::exports::dsh::agent::pre_step::Guest for Exported<P> {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        panic::install();
        P::handle(batch)
    }
}

impl<P: Mentions> crate::mentions::Guest for Exported<P> {
    fn candidates(
        target: Target,
        query: String,
        limit: Option<u32>,
    ) -> Result<Vec<Candidate>, Failure> {
        panic::install();
        P::candidates(target, query, limit)
    }
}

impl<P: References> crate::references::Guest for Exported<P> {
    fn parse(text: String) -> Result<Parsed, Failure> {
        panic::install();
        P::parse(text)
    }

    fn format(reference: Reference) -> String {
        panic::install();
        P::format(reference)
    }

    fn prepare(
        target: SessionId,
        content: Vec<Block>,
        references: Vec<Reference>,
    ) -> Result<Prepared, Failure> {
        panic::install();
        P::prepare(target, content, references)
    }
}

impl<P: ToolGate> crate::tool_gate::Guest for Exported<P> {
    fn check(call: Call) -> Result<Verdict, Failure> {
        panic::install();
        P::check(call)
    }
}

impl<P: Commands> crate::commands::Guest for Exported<P> {
    fn available() -> Vec<Command> {
        panic::install();
        P::available()
    }

    fn run(invocation: Invocation) -> Result<Outcome, Failure> {
        panic::install();
        P::run(invocation)
    }
}

/// Exports a plugin's seams: `export!(MyPlugin: PreStep, Mentions)`.
///
/// Name each seam once, and use the macro once in a component. For another
/// target than WebAssembly there is nothing to export: the seams are checked
/// and the crate is an ordinary library, whose logic can be tested natively.
#[macro_export]
macro_rules! export {
    ($plugin:ty: $($seam:ident),+ $(,)?) => {
        $($crate::export!(@ $seam $plugin);)+
    };
    (@ PreStep $plugin:ty) => { $crate::export!(@@ PreStep pre_step $plugin); };
    (@ Mentions $plugin:ty) => { $crate::export!(@@ Mentions mentions $plugin); };
    (@ References $plugin:ty) => { $crate::export!(@@ References references $plugin); };
    (@ ToolGate $plugin:ty) => { $crate::export!(@@ ToolGate tool_gate $plugin); };
    (@ Commands $plugin:ty) => { $crate::export!(@@ Commands commands $plugin); };
    (@@ $seam:ident $module:ident $plugin:ty) => {
        const _: () = {
            const fn stands_in<P: $crate::$seam>() {}
            stands_in::<$plugin>();
            #[cfg(target_arch = "wasm32")]
            type Seam = $crate::Exported<$plugin>;
            #[cfg(target_arch = "wasm32")]
            $crate::bindings::$module::export!(Seam with_types_in $crate::bindings::$module);
        };
    };
}
