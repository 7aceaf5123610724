//! What a call is about, as rules see it.

use std::path::{Component, Path, PathBuf};

use dsh_agent::{Call, ToolError};
use serde::Deserialize;

use crate::Workspace;
use crate::spec::arguments;

/// What a call is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A file or a folder.
    Path {
        /// Where it really is.
        real: PathBuf,
        /// The same from the working directory, where it lies there.
        inside: Option<PathBuf>,
        /// Where the words of the path lead if no folder is a link.
        said: PathBuf,
        /// The same from the working directory.
        said_inside: Option<PathBuf>,
    },
    /// A command line.
    Command {
        /// All of it.
        line: String,
        /// Where it runs.
        folder: PathBuf,
    },
    /// Something that no pattern is for.
    Other,
}

impl Subject {
    /// What `call` is about.
    ///
    /// # Errors
    /// What the tool itself would say: a path that leads nowhere, or arguments that do not fit.
    pub(crate) fn of(workspace: &Workspace, call: &Call) -> Result<Self, ToolError> {
        #[derive(Deserialize)]
        struct File {
            file_path: String,
        }
        #[derive(Deserialize)]
        struct Folder {
            path: Option<String>,
        }
        #[derive(Deserialize)]
        struct Line {
            command: String,
            workdir: Option<String>,
        }
        match call.name.as_str() {
            "read" | "write" | "edit" => Self::path(workspace, &arguments::<File>(call)?.file_path),
            "list" | "search" => {
                let path = arguments::<Folder>(call)?.path;
                Self::path(workspace, path.as_deref().unwrap_or("."))
            }
            "shell" => {
                let Line { command, workdir } = arguments(call)?;
                let folder = workspace.real(workdir.as_deref().unwrap_or("."))?;
                Ok(Self::Command { line: command, folder })
            }
            _ => Ok(Self::Other),
        }
    }

    fn path(workspace: &Workspace, said: &str) -> Result<Self, ToolError> {
        Ok(Self::at(workspace, workspace.real(said)?, Path::new(said)))
    }

    /// A path that is known to be real.
    pub(crate) fn at(workspace: &Workspace, real: PathBuf, said: &Path) -> Self {
        let cwd = workspace.cwd();
        let mut plain = PathBuf::new();
        for step in cwd.join(said).components() {
            match step {
                Component::ParentDir => drop(plain.pop()),
                Component::CurDir => {}
                step => plain.push(step),
            }
        }
        let inside = |path: &Path| path.strip_prefix(cwd).map(Path::to_owned).ok();
        Self::Path { inside: inside(&real), real, said_inside: inside(&plain), said: plain }
    }
}
