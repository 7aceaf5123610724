//! Where a plugin comes from.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::Deserialize;

use crate::error::FolderError;

/// Where a plugin comes from, and where its next version is looked for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
#[non_exhaustive]
pub enum Source {
    /// A component that carries its manifest. Copied once; the file can go.
    File(PathBuf),
    /// A folder with a `plugin.toml`, which names the component: somebody works on it, so what it holds is looked at
    /// again at each start, each `reload`, and while it is watched.
    Folder(PathBuf),
    /// A reference in an OCI registry.
    Registry(String),
}

impl Source {
    /// What a person means by `said`: a path that is there, or else a reference. Relative paths go from `cwd`.
    ///
    /// # Errors
    ///
    /// [`FolderError::NoSource`]: it is neither.
    pub fn of(said: &str, cwd: &Path) -> Result<Source, FolderError> {
        if let Some(reference) = said.strip_prefix("oci://") {
            return Ok(Source::Registry(reference.to_owned()));
        }
        let path = cwd.join(said);
        match path.canonicalize() {
            Ok(path) if path.is_dir() => Ok(Source::Folder(path)),
            Ok(path) if path.file_name().is_some_and(|name| name == "plugin.toml") => {
                Ok(Source::Folder(path.parent().unwrap_or(&path).to_owned()))
            }
            Ok(path) => Ok(Source::File(path)),
            Err(_) if names_a_registry(said) => Ok(Source::Registry(said.to_owned())),
            Err(reason) => Err(FolderError::NoSource { said: said.to_owned(), path, reason }),
        }
    }

    /// Whether it is looked at again without being told to.
    #[must_use]
    pub fn is_followed(&self) -> bool {
        matches!(self, Source::Folder(_))
    }
}

/// Whether the first part of a reference is a host: it has a dot or a port, or is this machine.
fn names_a_registry(said: &str) -> bool {
    let Some((host, rest)) = said.split_once('/') else { return false };
    let host_like =
        host == "localhost" || host.contains('.') && !host.starts_with('.') || host.contains(':');
    host_like && !rest.is_empty() && !host.is_empty()
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::File(path) => write!(f, "file:{}", path.display()),
            Source::Folder(path) => write!(f, "folder:{}", path.display()),
            Source::Registry(reference) => write!(f, "oci://{reference}"),
        }
    }
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Source, String> {
        if let Some(path) = text.strip_prefix("file:") {
            Ok(Source::File(path.into()))
        } else if let Some(path) = text.strip_prefix("folder:") {
            Ok(Source::Folder(path.into()))
        } else if let Some(reference) = text.strip_prefix("oci://") {
            Ok(Source::Registry(reference.to_owned()))
        } else {
            Err(format!("{text:?} is no source: `file:`, `folder:` or `oci://`"))
        }
    }
}

impl TryFrom<String> for Source {
    type Error = String;

    fn try_from(text: String) -> Result<Source, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_a_path_and_what_names_a_host_a_reference() {
        let dir = tempfile::tempdir().expect("a folder");
        let top = dir.path().canonicalize().expect("a folder");
        std::fs::create_dir_all(top.join("ghcr.io/a")).expect("a folder");
        std::fs::write(top.join("ghcr.io/a/plugin.toml"), "").expect("a file");
        std::fs::write(top.join("a.wasm"), "").expect("a file");
        let of = |said: &str| Source::of(said, &top);
        assert_eq!(of("a.wasm").expect("a file"), Source::File(top.join("a.wasm")));
        let folder = Source::Folder(top.join("ghcr.io/a"));
        assert_eq!(of("ghcr.io/a").expect("a folder"), folder);
        assert_eq!(of("ghcr.io/a/plugin.toml").expect("a folder"), folder);
        for reference in
            ["ghcr.io/b:1", "localhost/b", "localhost:5000/b", "127.0.0.1:1/b@sha256:0"]
        {
            let registry = Source::Registry(reference.to_owned());
            assert_eq!(of(reference).expect("a reference"), registry);
            assert_eq!(of(&format!("oci://{reference}")).expect("a reference"), registry);
        }
        for neither in ["b.wasm", "./b.wasm", "../x/b.wasm", "b/c.wasm"] {
            let said = of(neither).expect_err("neither").to_string();
            assert!(said.contains(neither), "{said}");
        }
    }

    #[test]
    fn a_source_is_read_as_it_was_written() {
        let sources = [
            Source::File("/a b/c.wasm".into()),
            Source::Folder("/a".into()),
            Source::Registry("ghcr.io/a:1".to_owned()),
        ];
        for source in sources {
            assert_eq!(source.to_string().parse(), Ok(source));
        }
    }
}
