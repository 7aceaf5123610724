//! Sessions through their whole life: made, written, read, asked about.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod born;
mod hostile;
mod index;
mod live;
mod query;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dsh_session::{Clock, Draft, Encoding, Header, Json, SessionId, Sessions, Store, log_path};

/// A root of its own, and a store over it.
struct Scratch {
    dir: tempfile::TempDir,
    encoding: Encoding,
}

impl Scratch {
    fn new(encoding: Encoding) -> Self {
        Self { dir: tempfile::tempdir().unwrap(), encoding }
    }

    /// The root, which does not exist until something is written.
    fn root(&self) -> PathBuf {
        self.dir.path().join("sessions")
    }

    fn store(&self) -> Store {
        self.store_at(Arc::new(|| 1_800_000_000_000))
    }

    fn store_at(&self, clock: Clock) -> Store {
        Store::new(self.root(), self.encoding, clock)
    }

    fn sessions(&self) -> Sessions {
        Sessions::new(self.store())
    }

    fn log(&self, id: &str) -> PathBuf {
        log_path(&self.root(), &header(id), self.encoding).unwrap()
    }

    /// Puts a raw log there whose body is `rows`.
    fn put(&self, id: &str, rows: &str) {
        let path = log_path(&self.root(), &header(id), Encoding::Raw).unwrap();
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{}\n{rows}", header(id).line())).unwrap();
    }
}

fn header(id: &str) -> Header {
    Header::new(SessionId::new(id), 1_700_000_000_000, Some("/home/dev/app".into()))
}

fn draft(kind: &str, data: &str) -> Draft {
    Draft::new(kind, Json::parse(data).unwrap())
}

fn prompt(id: &str, text: &str) -> Draft {
    let text = serde_json::to_string(text).unwrap();
    let data = format!(
        r#"{{"content":[{{"type":"text","text":{text}}}],"source":{{"kind":"user"}},"role":"user","id":"{id}"}}"#
    );
    Draft::node("user/message", Json::parse(&data).unwrap(), None)
}

fn note(id: &str, plugin: &str) -> Draft {
    let data = format!(
        r#"{{"content":[],"source":{{"kind":"plugin","plugin":"{plugin}"}},"role":"user","id":"{id}"}}"#
    );
    Draft::node("user/message", Json::parse(&data).unwrap(), None)
}

fn title(text: &str) -> Draft {
    let title = serde_json::to_string(text).unwrap();
    draft(
        "session/title",
        &format!(r#"{{"title":{title},"messageSeqs":[],"source":{{"kind":"user"}}}}"#),
    )
}

/// Every file under `dir`, by name.
fn files(dir: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => names.extend(files(&entry.path())),
            false => names.push(entry.file_name().into_string().unwrap()),
        }
    }
    names.sort();
    names
}
