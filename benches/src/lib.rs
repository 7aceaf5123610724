//! What the benches measure on, and the table that comes of them.
//!
//! Everything is made by a generator that gives the same on every run, and made once: the TypeScript packages are
//! measured on the same files (`reference/`). `cargo run --release -p dsh-benches` measures both and prints the table;
//! docs/speed.md has one and says how to read it.

mod chance;
mod conversation;
mod inputs;
mod sessions;
pub mod table;
mod words;

pub use conversation::Conversation;
pub use inputs::{Inputs, MANY, title};
pub use sessions::Memory;
pub use words::prose;

/// Where inputs and results are kept.
pub const DIR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/speed");
