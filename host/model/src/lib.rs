//! Models for the agent loop.
//!
//! Both models here work offline and need no key: [`Scripted`] replays replies from a file, [`Echo`] says what it was
//! asked. Both stream several chunks, as a provider does.

mod echo;
mod reply;
mod script;
mod scripted;

pub use echo::Echo;
pub use script::{Script, ScriptError};
pub use scripted::Scripted;
