//! The folder of installed plugins: what is there, what it is granted, and what it did.
//!
//! [`Folder`] is the whole. A [`Source`] says where a plugin comes from; [`Fetched`] is the plugin as it came, with
//! its manifest checked and nothing of it run. A [`Change`] holds the operator's file as [`Edits`] and the lock file
//! as [`Lock`]; nobody else changes the folder meanwhile, and a reader finds all of it or nothing. [`Grant`] is one
//! thing that a plugin can be granted, as people say and read it.
//!
//! Components are kept under their SHA-256 and checked against it each time they are read, so that what runs is to
//! the byte what was added.
//!
//! Nothing here runs a plugin: that is `dsh-plugin-host`'s.

mod digest;
mod edits;
mod error;
mod fetch;
mod folder;
mod grant;
mod journal;
mod lock;
mod registry;
mod source;
mod standing;
mod watch;

pub use digest::{Digest, NoDigest};
pub use edits::Edits;
pub use error::FolderError;
pub use fetch::{Fetched, MOST_BYTES};
pub use folder::{Change, Contents, Folder};
pub use grant::Grant;
pub use journal::Journal;
pub use lock::{Lock, Locked, Pin};
pub use source::Source;
pub use watch::{Watch, places};
