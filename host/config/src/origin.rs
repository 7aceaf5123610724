//! Where a value comes from.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// The layers, each above the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// What holds where nobody says anything.
    Default,
    /// The person's own file.
    User,
    /// The file of the project in which a session works.
    Project,
    /// Variables of the environment.
    Environment,
    /// The command line.
    Flag,
}

/// Where one value was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// In the catalogue.
    Default,
    /// In a file.
    File {
        /// The person's or the project's.
        layer: Layer,
        /// Which.
        file: Arc<Path>,
        /// The line, from one.
        line: usize,
        /// The column, from one, in characters.
        column: usize,
    },
    /// In a variable of this name.
    Variable(Arc<str>),
    /// By this option of the command line.
    Flag(Arc<str>),
}

impl Layer {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::User => "user",
            Self::Project => "project",
            Self::Environment => "environment",
            Self::Flag => "flag",
        }
    }
}

impl Origin {
    /// The layer.
    #[must_use]
    pub fn layer(&self) -> Layer {
        match self {
            Self::Default => Layer::Default,
            Self::File { layer, .. } => *layer,
            Self::Variable(_) => Layer::Environment,
            Self::Flag(_) => Layer::Flag,
        }
    }
}

impl Origin {
    /// The folder that a value's relative paths begin at, and that its commands are started in; none for what stands
    /// in no file.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        match self {
            // The project's folder, not the one in it that holds the file.
            Self::File { layer: Layer::Project, file, .. } => file.parent()?.parent(),
            Self::File { file, .. } => file.parent(),
            Self::Default | Self::Variable(_) | Self::Flag(_) => None,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { file, line, column, .. } => {
                write!(f, "{}:{line}:{column}", file.display())
            }
            Self::Variable(name) => f.write_str(name),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}
