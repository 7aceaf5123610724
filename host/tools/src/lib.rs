//! Tools that read, search and change files, and run commands; and the rules that say which calls may run.
//!
//! A [`Workspace`] is the folders that may be reached. [`Rules`] say what runs without a question, what is asked
//! about and what does not run. A [`Toolbox`] is both put together for one session: its [`Toolbox::tools`] and its
//! [`Toolbox::gate`] go into an agent's composition, and whoever asks the person shows them a [`Preview`].
//!
//! ```
//! use std::sync::Arc;
//!
//! use dsh_agent::Composition;
//! use dsh_tools::{Rules, ShellOptions, Toolbox, Workspace};
//!
//! let folder = tempfile::tempdir()?;
//! let workspace = Workspace::new(folder.path(), &[])?;
//! let rules = Rules { allow: vec!["write(notes/**)".parse()?], ..Rules::default() };
//! let toolbox = Toolbox::new(workspace, Arc::new(rules), ShellOptions::default())?;
//!
//! let mut parts = Composition::new(Arc::new(dsh_model::Echo));
//! parts.tools.extend(toolbox.tools());
//! parts.gates.push(toolbox.gate());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bounded;
mod change;
mod command;
mod diff;
mod edit;
mod error;
mod list;
mod place;
mod process;
mod read;
mod rule;
mod rules;
mod search;
mod shell;
mod spec;
mod stamp;
mod subject;
mod toolbox;
mod workspace;
mod write;

pub use diff::Diff;
pub use error::FileError;
pub use rule::{Rule, RuleError};
pub use rules::Rules;
pub use shell::ShellOptions;
pub use toolbox::{NAMES, Preview, Toolbox};
pub use workspace::Workspace;
