//! Side sessions: ask on the side, without polluting the work, and take one short note back.
//!
//! `/side` forks the session that it is given in, and frames the fork: explain,
//! change nothing, do not go on with the task. Tools that are not read-only are
//! denied there. `/merge` asks the side session for a note and hands it to the
//! session that it came from; `/merge --undo` withdraws it, `/promote` lifts
//! the read-only rule, `/sides` lists.
//!
//! The parts:
//!
//! | module | what |
//! |---|---|
//! | [`arguments`] | what a person typed after a command |
//! | [`framing`] | what makes a session a side session |
//! | [`note`] | this plugin's own messages in a log, read back from their facts |
//! | [`request`] | how a side session is asked for its handback |
//! | [`handback`] | the note made of it, cut to its cap |
//! | [`gate`] | which tool calls are denied |
//! | [`listing`] | side sessions with their marks |
//!
//! All of this is plain Rust that knows nothing of the WIT; the private module
//! `component` exports it. The plugin keeps nothing of its own: what it knows
//! of a session it reads from the session's log, each time.

pub mod arguments;
mod component;
pub mod config;
pub mod error;
pub mod framing;
pub mod gate;
pub mod handback;
mod id;
pub mod listing;
pub mod note;
pub mod request;
