//! Whole turns: a prompt, the chain of components, the log on disk, and the request that the model got.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

mod commands;
mod compacting;
mod desk;
mod doctor;
mod explaining;
mod failing;
mod hostile;
mod interop;
mod mentioning;
mod plugins;
mod recorded;
mod rejecting;
mod reopening;
mod service;
mod settings;
mod tooling;
mod unharmed;
