//! Logs that the real client wrote, and logs of real model runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use dsh_session::{Event, Json, SessionId, StoreError};

use crate::canonical::{events_digest, messages_digest};
use crate::{copy, corpus, id, lines, member, read, store};

/// Compares one session with what the real client says of it.
fn check(root: &Path, session: &SessionId, expected: &Json) {
    let mut events: Vec<Event> = Vec::new();
    let found = store(root).read(session, &mut events).unwrap_or_else(|error| panic!("{error}"));
    let nodes: Vec<u64> = found.surface.nodes().iter().map(|node| node.seq).collect();
    assert_eq!(Some(nodes), read(expected, "surface"), "{session}: surface");
    assert_eq!(Some(found.committed), read(expected, "committed"), "{session}: committed");
    assert_eq!(Some(events.len()), read(expected, "events"), "{session}: events");
    let title = found.title.unwrap().map(|title| title.title);
    assert_eq!(title, read(expected, "title"), "{session}: title");
    let closers: Vec<&str> =
        events.iter().skip(found.committed as usize).map(|event| &*event.kind).collect();
    assert_eq!(closers, read::<Vec<String>>(expected, "closers").unwrap_or_default(), "{session}");
    let torn = member(expected, "torn").and_then(|torn| read::<u64>(&torn, "truncateTo"));
    assert_eq!(found.torn, torn, "{session}: torn");
    assert_eq!(Some(events_digest(&events)), read(expected, "events_digest"), "{session}: events");
    let digest = messages_digest(&found.surface.messages());
    assert_eq!(Some(digest), read(expected, "messages_digest"), "{session}: messages");
}

#[test]
fn every_recorded_log_reads_as_the_real_client_reads_it() {
    let Some(root) = corpus("fixtures/recorded/raw") else { return };
    let rows = lines(&root.with_file_name("raw.check.jsonl"));
    let listing = store(&root).list().unwrap();
    assert!(listing.unreadable.is_empty(), "{:?}", listing.unreadable);
    let listed: Vec<SessionId> = listing.sessions.into_iter().map(|header| header.id).collect();
    let expected: Vec<SessionId> = rows.iter().map(|row| id(row, "id").unwrap()).collect();
    assert_eq!(listed, expected);
    for (session, row) in listed.iter().zip(&rows) {
        check(&root, session, row);
    }
}

#[test]
fn the_root_in_frames_reads_too() {
    let Some(root) = corpus("fixtures/recorded/zstd") else { return };
    let listing = store(&root).list().unwrap();
    assert!(listing.unreadable.is_empty(), "{:?}", listing.unreadable);
    assert_eq!(listing.sessions.len(), 354);
    let mut stored = 0;
    for header in listing.sessions {
        let session =
            store(&root).read(&header.id, &mut ()).unwrap_or_else(|error| panic!("{error}"));
        stored += session.committed;
        session.title.unwrap();
    }
    // As the real client counts them.
    assert_eq!(stored, 18_975);
}

#[test]
fn opening_a_recorded_log_repairs_it_as_the_real_client_does() {
    let Some(root) = corpus("fixtures/recorded/raw") else { return };
    let copy = copy(&root);
    let store = store(copy.path());
    let mut repaired = 0;
    for row in lines(&root.with_file_name("raw.check.jsonl")) {
        let session = id(&row, "id").unwrap();
        let live = store.open(&session, &mut ()).unwrap_or_else(|error| panic!("{error}"));
        repaired += usize::from(!live.repair().is_none());
        let file = copy.path().join(read::<String>(&row, "file").unwrap());
        let bytes = fs::metadata(file).unwrap().len();
        let repair = member(&row, "repair").unwrap();
        assert_eq!(Some(bytes), read(&repair, "bytesAfter"), "{session}");
        drop(live);
        let again = store.read(&session, &mut ()).unwrap();
        assert_eq!(Some(again.committed), read(&repair, "events"), "{session}");
        assert_eq!(again.closers, 0);
    }
    assert!(repaired > 0);
}

#[test]
fn every_log_of_a_model_run_is_read_or_refused_with_a_reason() {
    let Some(root) = corpus("fixtures/dsh-logs") else { return };
    let listing = store(&root).list().unwrap();
    let mut refused: BTreeMap<String, String> = BTreeMap::new();
    for bad in &listing.unreadable {
        let file = bad.path.strip_prefix(&root).unwrap();
        refused.insert(file.to_str().unwrap().into(), bad.why.to_string());
    }
    let mut read_logs = 0;
    for row in lines(&root.with_file_name("dsh-logs.check.jsonl")) {
        let file: String = read(&row, "file").unwrap();
        match (id(&row, "id"), read::<String>(&row, "error")) {
            (Some(session), None) => {
                check(&root, &session, &row);
                read_logs += 1;
            }
            (Some(session), Some(_)) => {
                let error = store(&root).read(&session, &mut ()).unwrap_err();
                assert!(matches!(error, StoreError::Unreadable { .. }), "{error}");
                assert!(error.to_string().contains("event 11"), "{error}");
            }
            (None, _) => {
                let why = refused.remove(&file).unwrap_or_else(|| panic!("{file} is not refused"));
                assert!(why.starts_with("the header's `"), "{file}: {why}");
            }
        }
    }
    assert!(refused.is_empty(), "{refused:?}");
    assert_eq!(read_logs, 138);
}
