//! Whole turns: a prompt, the chain of components, the log on disk, and the request that the model got.

mod commands;
mod failing;
mod interop;
mod mentioning;
mod recorded;
mod rejecting;
mod reopening;
