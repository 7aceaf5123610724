//! A model behind a URL, against a server on this machine that misbehaves byte by byte.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

mod events;
mod probes;
mod refusals;
mod requests;
mod server;
mod shapes;
mod silence;
mod turn;
mod turns;
