//! Sandboxed plugins for agent loops, as WebAssembly components.
//!
//! A plugin is a component that stands in a seam of the loop: it sees each step before the model does, completes
//! what follows an `@`, makes snapshots of other sessions, allows or denies tool calls, adds commands. This crate loads plugins, gives each what it declares
//! *and* was granted, calls them within limits, and checks what they hand back. It knows no session store and no
//! agent loop: both are the embedder's, seen through small traits.
//!
//! # The parts, in the order that a call meets them
//!
//! - [`Manifest`]: who a plugin is, and what it asks for; a component can carry it. [`Grants`]: what the operator
//!   allows it, all plugins' in one [`OperatorFile`]; [`Scope`]: which sessions it may read, enforced here, in front
//!   of the embedder's store.
//! - [`PluginHost`] loads it: compiles, links, checks the types, instantiates it once. Whatever does not fit is a
//!   [`LoadError`] that says what to do.
//! - [`Plugin`]: loaded. Its calls are [`Plugin::candidates`], [`Plugin::parse`], [`Plugin::format`] and
//!   [`Plugin::prepare`], [`Plugin::commands`] and [`Plugin::run_command`]; plugins that see steps are ordered in a
//!   [`Chain`], whose call is [`Chain::pre_step`], and those that see tool calls in [`Gates`], with [`Gates::check`].
//! - [`Catalog`]: plugins that can be added, replaced, ordered and removed while others talk. A turn keeps the
//!   [`Generation`] that it began with.
//! - [`Services`]: what the embedder lends to a call. [`Sessions`] and [`Surface`] answer reads, [`Agents`],
//!   [`LiveAgent`] and [`Seed`] do what commands ask for, [`Log`] takes diagnostics.
//! - [`Limits`]: what one call may use up. Every call runs in a store and an instance of its own, which are thrown
//!   away with it, so a call that ended badly has no effect on the next.
//! - [`Decision`]: what became of a batch of [`Message`]s. Each message that enters is one of the batch, one of the
//!   batch with texts edited, or new [`Context`] under a plugin's name; a plugin can make no other.
//! - [`CallError`]: the plugin, its export, and the cause: its own failure, a trap, a limit, a broken contract.
//!   [`OnFault`] is what a fault does to a turn; after three in a row a plugin is in [`Quarantine`].
//!
//! # A program
//!
//! ```no_run
//! use std::sync::Arc;
//! use dsh_plugin_host::*;
//!
//! /// A store without sessions.
//! struct Empty;
//!
//! #[async_trait::async_trait]
//! impl Sessions for Empty {
//!     async fn list(&self, _: &Asker) -> Result<Vec<Header>, Failure> {
//!         Ok(Vec::new())
//!     }
//!     async fn titles(&self, _: &Asker, ids: &[String]) -> Vec<Result<Option<String>, Failure>> {
//!         ids.iter().map(|id| Err(Failure::new("not-found", id))).collect()
//!     }
//!     async fn surfaces(&self, _: &Asker, ids: &[String]) -> Vec<Result<Arc<dyn Surface>, Failure>> {
//!         ids.iter().map(|id| Err(Failure::new("not-found", id))).collect()
//!     }
//!     async fn own_notes(&self, _: &Asker, id: &str) -> Result<Vec<OwnNote>, Failure> {
//!         Err(Failure::new("not-found", id))
//!     }
//! }
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let host = PluginHost::new(HostOptions::default())?;
//!     let manifest = Manifest::parse(&std::fs::read_to_string("plugin.toml")?)?;
//!     let grants = Grants::new(manifest.declares.clone());
//!     let wasm = std::fs::read("plugin.wasm")?;
//!     let plugin = host.load(manifest, &wasm, Settings::default(), &grants).await?;
//!
//!     let ids = std::sync::atomic::AtomicU64::new(0);
//!     let new_id = move || format!("c{}", ids.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
//!     let services = Services::new(Arc::new(Empty), Arc::new(()), Arc::new(new_id));
//!     let facts = r#"{"kind":"user"}"#;
//!     let prompt = Message::new("m1", Source::User, facts, vec![Block::text("hello")]);
//!     let call = PreStepCall::new("session-1", 1, 1, vec![prompt]);
//!     match Chain::new([plugin]).pre_step(&services, call).await? {
//!         Decision::Enter(messages) => println!("{} messages enter", messages.len()),
//!         Decision::Reject(rejection) => println!("blocked by {}", rejection.by),
//!     }
//!     Ok(())
//! }
//! ```
//!
//! # What it needs, and what it leaves alone
//!
//! Calls run on the caller's tokio runtime, current-thread included, with its time driver enabled. Every future may
//! be dropped at any await: that cancels the call, its store goes, and reads that wait for it are dropped. There is
//! one thread besides, which sleeps while no call runs, and the compiler's own pool. The crate sets no global state, subscriber or exit, and
//! reads neither environment nor current directory. The engine installs a handler for the fault signals of guest
//! code, which passes on all others; [`HostOptions::fault_signals`] does without.
//!
//! # What this is not
//!
//! No session store, no agent loop, no model: those are the embedder's. Nothing that
//! watches a folder of plugins, and no WASI but an empty one, for plugins that were granted `wasi-empty`.
//!
//! # Features
//!
//! - `cache` (default): compiled code on disk, see [`HostOptions::cache_dir`]. Pulls in zstd.
//! - `schema` (default): settings are checked against the manifest's schema. Pulls in ICU data. Without it a
//!   schema is read and not applied.
//!
//! # Versions
//!
//! The minimum supported Rust version is 1.95; raising it is a minor version. Wasmtime is the LTS line 48 by a caret
//! requirement and no part of this API, so moving to another line is not breaking. Semver covers the items of this
//! page, the keys of `plugin.toml` and the versions of the contract that load. It does not cover the texts of
//! errors, nor the bytes in the cache directory.

mod agents;
mod bindings;
mod budget;
mod called;
mod capability;
mod catalog;
mod chain;
mod commands;
mod embedded;
mod engines;
mod error;
mod gates;
mod grants;
mod health;
mod host;
mod item;
mod json;
mod limits;
mod link;
mod load;
mod load_error;
mod log;
mod manifest;
mod mentions;
mod message;
mod operator;
mod plugin;
mod policy;
mod references;
mod scope;
mod scoped;
mod seam;
mod services;
mod session;
mod settings;
mod slots;
mod state;
mod ticker;
mod tool_gate;
mod version;
mod wasi_empty;

pub use agents::{Agents, Answer, Birth, Delivery, LiveAgent, Seed};
pub use called::{Called, Decided};
pub use catalog::{Catalog, CatalogError, Generation, Package};
pub use chain::{Chain, PreStepCall, Rest};
pub use commands::{Command, Draft, Invocation, Opening, Outcome, Question};
pub use embedded::MANIFEST_SECTION;
pub use error::{CallError, Cause, Failure, Refusal, Trap};
pub use gates::{Gates, Ruling};
pub use grants::{Capabilities, GRANTED_IMPORTS, Grants, RESERVED_KINDS};
pub use health::{FAULTS_UNTIL_QUARANTINE, Quarantine, Standing};
pub use host::{HostOptions, Interfaces, PluginHost};
pub use limits::{Breach, Limit, Limits};
pub use load_error::LoadError;
pub use log::{Level, Log, LogEntry};
pub use manifest::{ComponentPlace, Manifest, ManifestError};
pub use mentions::{Candidate, Target};
pub use message::{Block, Context, Decision, Edit, Entered, Message, Rejection, Source};
pub use operator::{OperatorError, OperatorFile};
pub use plugin::Plugin;
pub use policy::{FaultPolicy, Notice, OnFault};
pub use references::{Parsed, Prepared, Reference, Snapshot};
pub use scope::{Scope, SessionScopes};
pub use seam::Seam;
pub use services::Services;
pub use session::{Asker, Header, Node, OwnNote, Role, Sessions, Surface, part};
pub use settings::Settings;
pub use tool_gate::{ToolCall, Verdict};
