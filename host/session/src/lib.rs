//! Session logs as dsh keeps them: read, written, folded and queried.
//!
//! The data's way through this crate: a line of a file becomes an [`Event`], events fold into a surface, and the
//! [`Message`]s of a surface are what a model sees next. Nothing here knows about WebAssembly or about a loop.

mod event;
mod header;
mod id;
mod json;
mod message;

pub use event::{Draft, Event, SurfaceOp};
pub use header::Header;
pub use id::SessionId;
pub use json::{Json, Object};
pub use message::{Block, Message, MessageError, Role, Source, ToolCall, ToolResult};

/// Largest integer that JavaScript holds exactly; every number in a log stays within it.
pub const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;
