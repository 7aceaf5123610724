//! What a person may want to know of a root when something does not work.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::lock;
use crate::{Encoding, SessionId, decode_segment, index_beside, index_file};

/// What was found in a root, without reading its logs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examined {
    /// How many logs are written in each way; dsh refuses a root that holds both.
    pub encodings: BTreeMap<&'static str, usize>,
    /// Sessions that are being written just now, each with who does it.
    pub held: Vec<(PathBuf, String)>,
    /// The index beside the root, where it cannot be used as it is, and why.
    pub index: Option<(PathBuf, String)>,
}

/// Examines a root; one that is not there holds nothing.
///
/// Whether a session is being written is found out by its lock, which is taken for that moment.
///
/// # Errors
/// When the root cannot be listed.
pub fn examine(root: &Path) -> io::Result<Examined> {
    let mut examined = Examined::default();
    for project in directories(root)? {
        // What cannot be listed there is told by the list of sessions.
        for session in directories(&project).unwrap_or_default() {
            for encoding in [Encoding::Zstd, Encoding::Raw] {
                let name = encoding.file_name();
                if fs::symlink_metadata(session.join(name)).is_ok() {
                    *examined.encodings.entry(name).or_default() += 1;
                }
            }
            if let Some(holder) = lock::holder(&session) {
                examined.held.push((session, holder));
            }
        }
    }
    if let Some(path) = index_beside(root) {
        let damage = index_file::damage(&path, root);
        examined.index = damage.map(|damage| (path, damage));
    }
    Ok(examined)
}

impl Examined {
    /// The session that a directory of [`held`](Self::held) belongs to.
    #[must_use]
    pub fn session(dir: &Path) -> Option<SessionId> {
        decode_segment(dir.file_name()?.to_str()?)
    }
}

/// The directories in one, links left out; of one that is not there none.
fn directories(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Draft, Header, Json, Store};

    #[test]
    fn a_root_tells_its_encodings_its_writers_and_its_index() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("sessions");
        assert_eq!(examine(&root).unwrap(), Examined::default());
        let make = |id: &str, encoding| {
            let index = index_beside(&root).unwrap();
            let store = Store::new(&root, encoding, Arc::new(|| 0)).with_index(index);
            let live = store.create(Header::new(SessionId::new(id), 0, None), None).unwrap();
            live.append(Draft::new("turn/start", Json::parse(r#"{"turn":1}"#).unwrap())).unwrap();
            live
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (one, other) = (make("one", Encoding::Zstd), make("other", Encoding::Raw));
        runtime.block_on(async { (one.commit().await.unwrap(), other.commit().await.unwrap()) });
        drop(other);
        let examined = examine(&root).unwrap();
        let both = [("session.jsonl", 1), ("session.jsonl.zstd", 1)];
        assert_eq!(examined.encodings, both.into());
        let [(held, holder)] = &examined.held[..] else { panic!("{examined:?}") };
        assert_eq!(Examined::session(held), Some(SessionId::new("one")));
        assert_eq!(*holder, format!("process {}", std::process::id()));
        drop(one);
        assert!(examine(&root).unwrap().held.is_empty());
    }

    #[test]
    fn a_damaged_index_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("sessions");
        fs::create_dir(&root).unwrap();
        let index = index_beside(&root).unwrap();
        for (text, damage) in [
            ("dsh-index 1\n", None),
            ("", Some("it does not begin as an index of this version does")),
            ("dsh-index 1\nrubbish\n", Some("1 of its lines cannot be read")),
        ] {
            fs::write(&index, text).unwrap();
            let found = examine(&root).unwrap().index.map(|(_, damage)| damage);
            assert_eq!(found.as_deref(), damage);
        }
        fs::remove_file(&index).unwrap();
        fs::create_dir(&index).unwrap();
        let found = examine(&root).unwrap().index;
        assert_eq!(found.unwrap().1, "it is no file of the root's owner alone");
    }
}
