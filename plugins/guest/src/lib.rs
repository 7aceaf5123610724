//! What a Rust plugin links: the contract as Rust types, the seams as traits, and panics that reach the log.
//!
//! A plugin implements the traits of the seams it stands in, and names them in
//! [`export!`]. It is an ordinary crate (`crate-type = ["cdylib"]`); plain
//! `cargo build --target wasm32-unknown-unknown` makes a component of it that
//! imports what its code calls and nothing of WASI.
//!
//! | a plugin that | implements | and calls |
//! |---|---|---|
//! | sees each step before the model does | [`PreStep`] | [`next`], [`Message`], [`Step`] |
//! | completes what follows an `@` | [`Mentions`] | [`query`] |
//! | prepares references held as values | [`References`] | [`query`] |
//! | allows or denies tool calls | [`ToolGate`] | |
//! | adds commands | [`Commands`] | [`agents`], [`query`] |
//!
//! All of them have their [`settings`] and a [`log`]. Everything else that a
//! plugin imports is declared in its `plugin.toml` and granted by the operator.
//!
//! ```
//! //! Adds the working directory to every direct message.
//!
//! use dsh_plugin::{Block, Decision, Failure, Message, PreStep, Source, Step, next};
//!
//! struct WhereAmI;
//!
//! impl PreStep for WhereAmI {
//!     fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
//!         let messages = match next(batch)? {
//!             Decision::Enter(messages) => messages,
//!             rejected => return Ok(rejected),
//!         };
//!         let cwd = Step::current().and_then(|step| step.cwd()).unwrap_or_default();
//!         let mut entered = Vec::new();
//!         for message in messages {
//!             let direct = matches!(message.source(), Source::User);
//!             entered.push(message);
//!             if direct {
//!                 let note = Block::Text(format!("The working directory is {cwd}."));
//!                 entered.push(Message::context(&[note], r#"{"kind":"plugin"}"#)?);
//!             }
//!         }
//!         Ok(Decision::Enter(entered))
//!     }
//! }
//!
//! dsh_plugin::export!(WhereAmI: PreStep);
//! # fn main() {}
//! ```

#[doc(hidden)]
pub mod bindings;
pub mod log;
mod panic;
mod seam;
mod settings;

#[doc(hidden)]
pub use seam::Exported;
pub use seam::{Commands, Mentions, PreStep, References, ToolGate};
pub use settings::settings;

pub use bindings::imports::dsh::agent::agents;
pub use bindings::imports::dsh::agent::invocations::Invocation;
pub use bindings::imports::dsh::agent::messages::{Decision, Edit, Message, Rejection, Step};
pub use bindings::imports::dsh::agent::pre_step::handle as next;
pub use bindings::imports::dsh::agent::tools::Call;
pub use bindings::imports::dsh::session::query;
pub use bindings::imports::dsh::session::types::{
    Block, Failure, Header, Json, Seq, SessionId, Source,
};

/// The types of [`Commands`].
pub use bindings::commands::exports::dsh::agent::commands;
/// The types of [`Mentions`].
pub use bindings::mentions::exports::dsh::agent::mentions;
/// The types of [`References`].
pub use bindings::references::exports::dsh::agent::references;
/// The types of [`ToolGate`].
pub use bindings::tool_gate::exports::dsh::agent::tool_gate;
