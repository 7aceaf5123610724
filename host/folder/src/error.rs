//! What can go wrong with the folder of plugins, and what to do about it.

use std::io;
use std::path::PathBuf;

use dsh_plugin_host::{ManifestError, OperatorError};

use crate::digest::Digest;

/// Something about the folder of plugins, or about a plugin that was to go into it, is not right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// A file or folder cannot be read or written.
    #[error("{} cannot be {doing}: {reason}", path.display())]
    Io {
        /// Which one.
        path: PathBuf,
        /// Completes "it cannot be ...".
        doing: &'static str,
        /// What the system said.
        reason: io::Error,
    },
    /// The operator's file is not right.
    #[error("{}: {reason}", file.display())]
    Operator {
        /// The operator's file.
        file: PathBuf,
        /// What is wrong, with the line.
        reason: OperatorError,
    },
    /// The lock file is not right. It is a program's, so no person can be expected to mend it.
    #[error("{}: {reason} (it is written by `plugin` commands; add the plugins anew if it was lost)", file.display())]
    Lock {
        /// The lock file.
        file: PathBuf,
        /// What is wrong, with the line.
        reason: String,
    },
    /// A manifest is not right. The plugin's author has to act.
    #[error("{place}: {reason}")]
    Manifest {
        /// Where it was.
        place: String,
        /// What is wrong.
        reason: ManifestError,
    },
    /// What was said is neither there nor a reference.
    #[error(
        "there is no {}: {reason} (say a component file, a folder with a plugin.toml, or an OCI reference such as ghcr.io/owner/name:1.0)",
        path.display()
    )]
    NoSource {
        /// What was said.
        said: String,
        /// The path that it would be.
        path: PathBuf,
        /// What the system said.
        reason: io::Error,
    },
    /// A component came without a manifest.
    #[error(
        "{place} carries no manifest: put a plugin.toml beside it and add that folder, or embed it as the section `dsh:plugin/manifest`; the least that it says is\n  id = \"a-name\"\n  version = \"0.1.0\"\n  component = \"the-file.wasm\"\nand `plugin check` says what else it has to declare"
    )]
    NoManifest {
        /// Where the component was.
        place: String,
    },
    /// A `plugin.toml` does not say where its component is.
    #[error("{place} names no component: add a line such as component = \"plugin.wasm\"")]
    NoComponent {
        /// The manifest.
        place: String,
    },
    /// A component is larger than any that is taken.
    #[error("{place} is larger than the {} MiB that a component may have", most >> 20)]
    TooLarge {
        /// Where the component was.
        place: String,
        /// Most bytes of one.
        most: u64,
    },
    /// A component is not the one that was pinned.
    #[error(
        "{place} has the SHA-256 {found}, and {pinned} was pinned (it was changed; if that is right, pin the new digest or add the plugin anew)"
    )]
    Changed {
        /// Where the component was.
        place: String,
        /// What it should have.
        pinned: Digest,
        /// What it has.
        found: Digest,
    },
    /// A registry did not give the component.
    #[error("{reference}: {reason}")]
    Registry {
        /// The reference.
        reference: String,
        /// What went wrong, and what to do.
        reason: String,
    },
    /// There is no such plugin.
    #[error("there is no plugin {id:?}; there is {known}")]
    Unknown {
        /// The id as given.
        id: String,
        /// The ids that there are, or `none`.
        known: String,
    },
    /// The plugin is there already.
    #[error(
        "{id} is there already, in version {version} (use `plugin upgrade {id}`, or remove it first)"
    )]
    Already {
        /// The plugin's id.
        id: String,
        /// The version that is there.
        version: String,
    },
    /// Another plugin came than the one that was to be replaced.
    #[error(
        "{place} is the plugin {found}, and {wanted} was to be replaced (use `plugin add` for another plugin)"
    )]
    OtherPlugin {
        /// Where it was.
        place: String,
        /// Its id.
        found: String,
        /// The id that was expected.
        wanted: String,
    },
    /// There is no version to go back to.
    #[error("{id} has no earlier version to go back to")]
    NothingBefore {
        /// The plugin's id.
        id: String,
    },
    /// An order does not name each plugin once.
    #[error("an order names each plugin once, and {id:?} is there {times} times; there is {known}")]
    Order {
        /// The first plugin that is not.
        id: String,
        /// How often it is named.
        times: usize,
        /// The ids that there are.
        known: String,
    },
    /// What was said is nothing that can be granted.
    #[error("{what:?} cannot be granted: {reason}")]
    Grant {
        /// What was said.
        what: String,
        /// Why not, and what can be.
        reason: String,
    },
    /// The operator's file is laid out in a way that commands do not change.
    #[error("{}: {reason} (change the file by hand, or write each plugin as a [[plugin]] table)", file.display())]
    Layout {
        /// The operator's file.
        file: PathBuf,
        /// What is in the way.
        reason: String,
    },
    /// The folder cannot be watched.
    #[error("{} cannot be watched: {reason}", path.display())]
    Watch {
        /// Which folder.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
}

impl FolderError {
    /// An error of the system's at `path`; `doing` completes "it cannot be ...".
    pub(crate) fn io(
        path: impl Into<PathBuf>,
        doing: &'static str,
    ) -> impl FnOnce(io::Error) -> FolderError {
        let path = path.into();
        move |reason| FolderError::Io { path, doing, reason }
    }

    /// There is no plugin `id` among `known`.
    pub(crate) fn unknown<'a>(id: &str, known: impl Iterator<Item = &'a str>) -> FolderError {
        FolderError::Unknown { id: id.to_owned(), known: listed(known) }
    }
}

/// Ids for an error, or `none`.
pub(crate) fn listed<'a>(ids: impl Iterator<Item = &'a str>) -> String {
    let ids = ids.collect::<Vec<_>>().join(", ");
    if ids.is_empty() { "none".to_owned() } else { ids }
}
