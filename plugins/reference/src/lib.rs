//! Brings a bounded snapshot of another session into the message that mentions it.
//!
//! A person writes `@[label](dsh-session:…)` in a prompt. Before the model sees
//! it, this plugin makes the mention readable (`@label`) and puts a context
//! message right after it: an excerpt of what the other session's model would
//! see now, as JSON that no text in it can break out of.
//!
//! The parts, in the order in which a reference passes them:
//!
//! | module | from | to |
//! |---|---|---|
//! | [`id`], [`uri`] | `dsh-session:ImEi` | the session `a` |
//! | [`mention`] | a text | its references, and the text made readable |
//! | [`prepare`] | the references of a batch | one read of all the sessions |
//! | [`surface`] | a session's nodes | the messages of its conversation |
//! | [`retention`], [`cut`] | those | what fits into the budget |
//! | [`json`], [`snapshot`] | that | the context message |
//!
//! [`candidates`] lists what can be mentioned, as far as `search` finds it. All of this is plain Rust that
//! knows nothing of the WIT; the private module `component` exports it.
//!
//! Results are byte for byte those of the published client; time is linear in
//! what is read, and memory is bounded by the budget.

pub mod candidates;
mod component;
pub mod config;
pub mod cut;
pub mod error;
pub mod id;
pub mod json;
pub mod mention;
pub mod prepare;
pub mod retention;
mod search;
mod shrink;
pub mod snapshot;
pub mod surface;
pub mod uri;
