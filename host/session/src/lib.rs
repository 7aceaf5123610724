//! Session logs as dsh keeps them: read, written, folded and queried.
//!
//! The data's way through this crate: a line of a file becomes an [`Event`], events fold into a [`Surface`], and the
//! [`Message`]s of a surface are what a model sees next. Nothing here knows about WebAssembly or about a loop.
//!
//! A [`Store`] is a root of logs on disk. [`Sessions`] is its face for asynchronous code: it makes and opens sessions,
//! and answers questions about all of them. A [`Live`] session is open for writing: what is appended to it is at once
//! part of its surface, and on disk when a commit has returned. A [`Replay`] is the fold behind all of them.
//!
//! ```
//! use std::sync::Arc;
//!
//! use dsh_session::{Draft, Encoding, Header, Json, SessionId, Sessions, Store};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let root = tempfile::tempdir()?;
//! let store = Store::new(root.path(), Encoding::Zstd, Arc::new(|| 1_800_000_000_000));
//! let sessions = Sessions::new(store);
//!
//! let id = SessionId::new("rivers");
//! let header = Header::new(id.clone(), 1_800_000_000_000, Some("/home/ada".into()));
//! let live = sessions.create(header, None).await?;
//! let prompt = r#"{"id": "m1", "role": "user", "source": {"kind": "user"},
//!                  "content": [{"type": "text", "text": "Which rivers are long?"}]}"#;
//! live.append(Draft::node("user/message", Json::parse(prompt)?, None))?;
//! live.commit().await?;
//! drop(live);
//!
//! let observed = sessions.surface(&id).await?;
//! assert_eq!(observed.surface.messages()[0].text(), "Which rivers are long?");
//! # Ok(())
//! # }
//! ```

mod ahead;
mod batch;
mod chain;
mod checked;
mod compressor;
mod cursor;
mod disk;
mod envelope;
mod equal;
mod event;
mod events;
mod examine;
mod fit;
mod fold;
mod frames;
mod header;
mod history;
mod id;
mod index;
mod index_file;
mod json;
mod kind;
mod legacy;
mod live;
mod lock;
mod log;
mod message;
mod notes;
mod number;
mod object;
mod order;
mod packed;
mod parts;
mod path;
mod prefix;
mod publish;
mod query;
mod raw;
mod repair;
mod replay;
mod root;
mod row;
mod scan;
mod seed;
mod shape;
mod side_by_side;
mod stamp;
mod store;
mod surface;
mod survey;
mod title;
mod titles;
mod unreadable;
mod vocabulary;
mod write;

pub use envelope::EventError;
pub use event::{Draft, Event, SurfaceOp};
pub use events::Events;
pub use examine::{Examined, examine};
pub use fit::SurfaceError;
pub use fold::Fold;
pub use frames::FrameError;
pub use header::{Header, HeaderError};
pub use id::SessionId;
pub use index::index_beside;
pub use json::Json;
pub use kind::Kind;
pub use legacy::LegacyError;
pub use live::{Live, Subscription};
pub use message::{Block, Message, MessageError, Role, Source, ToolCall, ToolResult};
pub use notes::Note;
pub use object::Object;
pub use order::newest_first;
pub use packed::Packed;
pub use path::{Encoding, decode_segment, encode_segment, log_path, project_key};
pub use prefix::{
    Cut, ForkError, completed_prefix, completed_turns, fork_after_turn, fork_at, tool_pairing,
};
pub use query::{Observation, QueryError, Record, Records, Sessions};
pub use raw::Raw;
pub use replay::Replay;
pub use root::{Listing, Unreadable};
pub use row::RowError;
pub use seed::Seed;
pub use store::{Clock, ReadSession, Repair, Store, StoreError};
pub use surface::{Node, NodeRole, Replacement, Surface};
pub use title::{Title, TitleError, TitleSource, fallback_title, normalize_title};
pub use unreadable::{LogError, Place};
pub use write::WriteError;

/// Largest integer that JavaScript holds exactly; every number in a log stays within it.
pub const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;
