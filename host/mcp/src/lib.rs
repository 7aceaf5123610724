//! Tools of MCP servers, over stdio and streamable HTTP.
//!
//! [`Servers::start`] reaches each [`Server`] and gives its tools as tools of the loop, under names that every
//! provider takes. A server is a stranger: its time, its number of tools, its output and its restarts are bounded,
//! what it says about itself is believed only where the person trusts it, and whatever it does, the others go on.
//! It gets no roots, no sampling and no way to ask the person.
//!
//! ```
//! use std::sync::Arc;
//!
//! use dsh_mcp::{Limits, Server, Servers, Transport};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let transport = Transport::Process { words: vec!["false".into()], env: Vec::new(), folder: "/".into() };
//! let server = Server { name: "none".into(), transport, trusted: false, limits: Limits::default() };
//! let servers = Servers::start(vec![server], Arc::new(|notice| assert_eq!(notice.server, "none"))).await;
//! assert!(servers.tools().is_empty());
//! # }
//! ```

mod connection;
mod error;
mod http;
mod names;
mod process;
mod result;
mod server;
mod servers;
mod tool;

pub use error::StartError;
pub use server::{Limits, Notice, Notices, Server, Transport};
pub use servers::Servers;
