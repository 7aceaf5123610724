//! Damaged and unusual roots: read, refused or cut where the real client does, one file at a time.

use std::fs;
use std::path::Path;

use dsh_session::{Encoding, Event, Json, SessionId, StoreError};

use crate::canonical::messages_digest;
use crate::{copy, corpus, id, lines, member, read, store, store_in};

/// What becomes of a session whose root the real client treats otherwise, on purpose or because of what lies beside it.
enum Ours {
    /// It is read: the old flat file is named and its neighbour read, a context message folds in its older form too.
    Read,
    /// What a listing does not find, nothing finds: a link is not followed, a foreign spelling of a name not guessed.
    NotFound,
}

fn ours(name: &str) -> Option<Ours> {
    match name {
        "dir-flat-file" | "raw-context-message" => Some(Ours::Read),
        "dir-symlink-session" | "dir-lowercase-escape" => Some(Ours::NotFound),
        _ => None,
    }
}

struct Case {
    name: String,
    root: std::path::PathBuf,
    session: SessionId,
    verdict: Json,
}

fn cases() -> Vec<Case> {
    let Some(root) = corpus("fixtures/broken") else { return Vec::new() };
    let case = |verdict: Json| {
        let name: String = read(&verdict, "name").unwrap();
        let session = id(&verdict, "id").unwrap();
        Case { root: root.join(&name), name, session, verdict }
    };
    lines(&root.join("verdicts.json")).into_iter().map(case).collect()
}

fn flag(verdict: &Json, name: &str) -> bool {
    read(verdict, name).unwrap()
}

#[test]
fn one_bad_file_never_takes_a_root_down() {
    for Case { name, root, verdict, .. } in cases() {
        let listing = store(&root).list().unwrap();
        let listed: Vec<SessionId> =
            listing.sessions.iter().map(|header| header.id.clone()).collect();
        let expected: Option<Vec<String>> = read(&verdict, "listed");
        let refused = flag(&verdict, "inspect_error");
        match expected {
            // The real client lists what it then refuses to open; we look closer, and may say so at once.
            Some(expected) if !expected.is_empty() => {
                let both = listed.len() + listing.unreadable.len();
                assert_eq!(both, expected.len(), "{name}: {:?}", listing.unreadable);
                assert!(refused || !listed.is_empty(), "{name}: {:?}", listing.unreadable);
            }
            // Not listed there, silently or as the whole listing fails: named here.
            _ if name == "dir-symlink-session" => assert!(listed.is_empty(), "{name}"),
            _ => assert!(!listing.unreadable.is_empty(), "{name}: {listed:?}"),
        }
        for bad in listing.unreadable {
            println!("{name}: {}", bad.why);
        }
    }
}

#[test]
fn every_root_is_read_cut_or_refused_where_the_real_client_does() {
    for Case { name, root, session, verdict } in cases() {
        let mut events: Vec<Event> = Vec::new();
        let found = store(&root).read(&session, &mut events);
        match ours(&name) {
            None => {}
            Some(Ours::Read) => {
                assert!(found.is_ok(), "{name}");
                continue;
            }
            Some(Ours::NotFound) => {
                assert!(matches!(found, Err(StoreError::NotFound(_))), "{name}");
                continue;
            }
        }
        if flag(&verdict, "inspect_error") {
            let error = found.err().unwrap_or_else(|| panic!("{name} is read"));
            assert!(matches!(error, StoreError::Unreadable { .. }), "{name}: {error}");
            println!("{name}: {error}");
            continue;
        }
        let found = found.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(Some(events.len()), read(&verdict, "events"), "{name}");
        let nodes: Vec<u64> = found.surface.nodes().iter().map(|node| node.seq).collect();
        assert_eq!(Some(nodes), read(&verdict, "surface"), "{name}");
        let digest = messages_digest(&found.surface.messages());
        assert_eq!(Some(digest), read(&verdict, "messages_digest"), "{name}");
        let torn = member(&verdict, "torn").and_then(|torn| read::<u64>(&torn, "truncateTo"));
        assert_eq!(found.torn, torn, "{name}");
        let closers: Vec<&str> = events
            .iter()
            .rev()
            .take(found.closers as usize)
            .rev()
            .map(|event| &*event.kind)
            .collect();
        assert_eq!(
            Some(closers.iter().map(|kind| (*kind).to_owned()).collect::<Vec<_>>()),
            read(&verdict, "closers"),
            "{name}"
        );
    }
}

#[test]
fn opening_for_writing_leaves_behind_what_the_real_client_does() {
    for Case { name, root, session, verdict } in cases() {
        let Some(after) = member(&verdict, "after_load") else { continue };
        let Some(bytes) = read::<u64>(&after, "bytes") else { continue };
        let copy = copy(&root);
        let encoding = match read::<String>(&verdict, "encoding").as_deref() {
            Some("zstd") => Encoding::Zstd,
            _ => Encoding::Raw,
        };
        let store = store_in(copy.path(), encoding);
        let live = store.open(&session, &mut ()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let recovered = member(&verdict, "torn").and_then(|torn| read(&torn, "recovered"));
        assert_eq!(live.repair().recovered, recovered.unwrap_or(0), "{name}");
        drop(live);
        assert_eq!(log_bytes(copy.path()), bytes, "{name}");
        let again = store.read(&session, &mut ()).unwrap();
        assert_eq!(Some(again.committed), read(&after, "events"), "{name}");
        assert_eq!((again.closers, again.torn), (0, None), "{name}");
    }
}

/// The length of the only log under `dir`.
fn log_bytes(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).unwrap().map(Result::unwrap);
    let lengths = entries.map(|entry| {
        let name = entry.file_name();
        let name = name.to_str().unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => log_bytes(&entry.path()),
            false if matches!(name, "session.jsonl" | "session.jsonl.zstd") => {
                entry.metadata().unwrap().len()
            }
            false => 0,
        }
    });
    lengths.sum()
}
