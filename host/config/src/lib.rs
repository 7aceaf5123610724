//! Settings in layers, the folders that a person trusts, and the instructions that a project gives.
//!
//! [`ROWS`] is the catalogue: every key with its kind, bounds, default and who may set it. [`Layers`] takes what the
//! person's file, a [`Project`]'s file, the environment and the command line say, and lays them over one another;
//! [`Settings`] is what holds, and remembers where each value came from. What a project's file says is data until
//! [`Trust`] knows exactly these values in exactly this place. [`instructions`] reads `AGENTS.md` and its like.
//!
//! Nothing here starts a process, opens a connection, or reads the environment: what comes from there is handed in.
//!
//! ```
//! use std::path::Path;
//!
//! use dsh_config::{Base, Layers, Project, Trust};
//!
//! let dir = tempfile::tempdir()?;
//! std::fs::create_dir(dir.path().join(".dsh-wasm"))?;
//! let file = dir.path().join(".dsh-wasm/config.toml");
//! std::fs::write(&file, "encoding = 'raw'\nmodel.base-url = 'http://elsewhere'\n")?;
//!
//! let project = Project::find(dir.path(), None)?.expect("it was just written");
//! let trust = Trust::new(dir.path().join("trust"));
//! let trusted = project.offer().is_none_or(|offer| trust.holds(&offer));
//!
//! let mut layers = Layers::default();
//! layers.project(&project, trusted);
//! layers.flag("--model", "model.name", "small", Base { folder: Path::new("/"), home: None })?;
//! let settings = layers.settle()?;
//!
//! assert_eq!(settings.model.name, "small");
//! assert_eq!(settings.encoding.as_deref(), Some("raw"));
//! assert_eq!(settings.model.base_url, None, "nobody trusts this folder yet");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod catalogue;
mod error;
mod file;
mod held;
pub mod instructions;
mod layers;
mod nearest;
mod origin;
mod project;
mod rows;
mod settings;
mod trust;
mod value;

pub use catalogue::{Guard, Kind, MAX_FILE, Row, VARIABLES, row};
pub use error::ConfigError;
pub use file::Entry;
pub use layers::{Layers, Standing};
pub use origin::{Layer, Origin};
pub use project::{Offer, Offered, PROJECT_FILE, Project};
pub use rows::ROWS;
pub use settings::{
    Compaction, Instructions, Key, Model, Plugins, Server, Settings, Tools, Transport,
};
pub use trust::{Change, Trust};
pub use value::{Base, Secret, Value};
