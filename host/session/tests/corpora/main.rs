//! Real logs, broken roots and golden vectors, held against what the real client makes of them.
//!
//! The corpora are not part of the repository: `DSH_CORPORA` names the directory that holds them. Without it these
//! tests say that they were skipped; with it, a file that is missing fails them.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]
#![expect(clippy::print_stdout, reason = "a test says what it skipped, and what was refused")]

mod broken;
mod canonical;
mod interop;
mod mutated;
mod recorded;
mod vectors;
mod written;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dsh_session::{Encoding, Json, SessionId, Store};

/// A directory or file of the corpora; none where there are none.
fn corpus(path: &str) -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "a test finds its corpora by the environment")]
    let root = std::env::var_os("DSH_CORPORA");
    match root {
        Some(root) => Some(Path::new(&root).join(path)),
        None => {
            println!("skipped: DSH_CORPORA does not name the corpora");
            None
        }
    }
}

fn store(root: &Path) -> Store {
    store_in(root, Encoding::Raw)
}

fn store_in(root: &Path, encoding: Encoding) -> Store {
    Store::new(root, encoding, Arc::new(|| 1_800_000_000_000))
}

/// The JSON values in a file of one value a line, list brackets and commas aside.
fn lines(path: &Path) -> Vec<Json> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let lines = text.lines().map(|line| line.trim_end_matches(','));
    let values = lines.filter(|line| !matches!(*line, "[" | "]" | ""));
    values.map(|line| Json::parse(line).unwrap()).collect()
}

fn member(json: &Json, name: &str) -> Option<Json> {
    let value = json.object().ok()?.get(name).map(Json::from);
    value.filter(|value| value.as_str() != "null")
}

fn id(json: &Json, name: &str) -> Option<SessionId> {
    serde_json::from_str(member(json, name)?.as_str()).ok()
}

fn read<T: serde::de::DeserializeOwned>(json: &Json, name: &str) -> Option<T> {
    member(json, name)?.read().ok()
}

/// A copy of a tree, so that a test may write into it.
fn copy(from: &Path) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    copy_into(from, dir.path());
    dir
}

fn copy_into(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir(&target).unwrap();
            copy_into(&entry.path(), &target);
        } else if entry.file_type().unwrap().is_file() {
            fs::write(&target, fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}
