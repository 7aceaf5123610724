//! Models for the agent loop.
//!
//! [`Chat`] is any model behind a URL that speaks OpenAI's chat completions, DeepSeek's members included; an
//! [`Endpoint`] says where it is, and a [`Provider`] knows that of some services by name. [`Scripted`] replays replies
//! from a file and [`Echo`] says what it was asked; both work offline and need no key. All of them stream several
//! chunks.
//!
//! ```no_run
//! use dsh_model::{Chat, Endpoint, Secret};
//!
//! # fn main() -> Result<(), dsh_model::EndpointError> {
//! let mut endpoint = Endpoint::new("https://api.deepseek.com", "deepseek-v4-flash")?;
//! endpoint.key = Some(Secret::new("sk-…"));
//! let model = Chat::new(endpoint)?;
//! # Ok(())
//! # }
//! ```

mod answer;
mod calls;
mod chat;
mod client;
mod echo;
mod endpoint;
mod failure;
mod probe;
mod provider;
mod reading;
mod reply;
mod script;
mod scripted;
mod secret;
mod sse;
mod wire;

pub use chat::Chat;
pub use echo::Echo;
pub use endpoint::{Endpoint, EndpointError, Timeouts};
pub use probe::Probe;
pub use provider::{Dialect, PROVIDERS, Passback, Provider};
pub use script::{Script, ScriptError};
pub use scripted::Scripted;
pub use secret::Secret;
