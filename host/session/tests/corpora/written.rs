//! What we write is what the real client writes, and what was written reads back.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use dsh_session::{Draft, Encoding, Event, Header, Live, SessionId, StoreError};

use crate::{copy, corpus, store, store_in};

/// Every log under `root`, by its session.
fn logs(root: &Path) -> Vec<(SessionId, PathBuf)> {
    let listing = store(root).list().unwrap();
    let path = |header: &Header| dsh_session::log_path(root, header, Encoding::Raw).unwrap();
    listing.sessions.into_iter().map(|header| (header.id.clone(), path(&header))).collect()
}

fn commit(live: &Live) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(live.commit()).unwrap();
}

/// Writes a log's events as a new session, and gives its file's text.
fn rewritten(root: &Path, session: &SessionId) -> String {
    let mut events: Vec<Event> = Vec::new();
    let found = store(root).read(session, &mut events).unwrap();
    events.truncate(found.committed as usize);
    let dir = tempfile::tempdir().unwrap();
    let live = store(dir.path()).create(found.header.clone(), None).unwrap();
    for event in events {
        live.append(event.into()).unwrap();
    }
    commit(&live);
    let path = dsh_session::log_path(dir.path(), &found.header, Encoding::Raw).unwrap();
    fs::read_to_string(path).unwrap()
}

/// A row's text with its times left out, which the clock gives.
fn timeless(row: &str) -> String {
    let mut text = row.to_owned();
    for name in ["\"time\":", "\"time0\":", "\"dt\":["] {
        let Some(at) = text.find(name).map(|at| at + name.len()) else { continue };
        let rest = &text[at..];
        let end = rest.find([']', '}', if name.ends_with('[') { ']' } else { ',' }]).unwrap();
        text.replace_range(at..at + end, "");
    }
    text
}

#[test]
fn rows_are_written_as_the_real_client_writes_them() {
    let Some(root) = corpus("fixtures/recorded/raw") else { return };
    let (mut same, mut runs) = (0, 0);
    for (session, path) in logs(&root) {
        // Three hundred sessions of one turn show nothing that the others do not.
        if session.escaped().starts_with("small-") {
            continue;
        }
        let written = rewritten(&root, &session);
        let written: HashSet<String> = written.lines().map(timeless).collect();
        for row in fs::read_to_string(path).unwrap().lines() {
            if written.contains(&timeless(row)) {
                same += 1;
            } else {
                // A run that the real client's batches cut, or that it was told not to pack; and of closers it writes
                // the operation before the sources, which no reader minds.
                let known = ["-chunks\"", "assistant/chunk", "interrupted-tool-result"];
                assert!(known.iter().any(|known| row.contains(known)), "{session}: {row}");
                runs += 1;
            }
        }
    }
    println!("{same} rows are the same, {runs} are runs cut elsewhere");
    assert!(same > 10 * runs);
}

#[test]
fn a_log_may_be_cut_anywhere_in_its_last_batch() {
    let Some(root) = corpus("fixtures/recorded/raw") else { return };
    for encoding in [Encoding::Raw, Encoding::Zstd] {
        let dir = tempfile::tempdir().unwrap();
        let header = Header::new(SessionId::new("cut"), 1, Some("/w".into()));
        let live = store_in(dir.path(), encoding).create(header.clone(), None).unwrap();
        let mut events: Vec<Event> = Vec::new();
        store(&root).read(&SessionId::new("plain-turns"), &mut events).unwrap();
        let drafts: Vec<Draft> = events.into_iter().map(Draft::from).collect();
        let (first, last) = drafts.split_at(60);
        live.append_all(first.to_vec()).unwrap();
        commit(&live);
        let path = dsh_session::log_path(dir.path(), &header, encoding).unwrap();
        let acknowledged = fs::metadata(&path).unwrap().len();
        live.append_all(last.to_vec()).unwrap();
        commit(&live);
        drop(live);
        let whole = fs::read(&path).unwrap();
        for end in acknowledged as usize..whole.len() {
            fs::write(&path, &whole[..end]).unwrap();
            let store = store_in(dir.path(), encoding);
            let read =
                store.read(&header.id, &mut ()).unwrap_or_else(|error| panic!("{end}: {error}"));
            assert!(read.committed >= 60, "{end}: only {} events", read.committed);
            // Opening repairs on disk; the end is clean then, and nothing that could be read is lost.
            if end % 97 == 0 {
                let live = store.open(&header.id, &mut ()).unwrap();
                let next = live.next_seq();
                commit(&live);
                drop(live);
                let again = store.read(&header.id, &mut ()).unwrap();
                assert_eq!((again.committed, again.closers, again.torn), (next, 0, None), "{end}");
            }
        }
    }
}

#[test]
fn a_second_writer_is_refused_and_readers_are_not() {
    let Some(root) = corpus("fixtures/recorded/zstd") else { return };
    let session = SessionId::new("plain-turns");
    let mut found = None;
    for project in fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path()) {
        found = found.or(Some(project).filter(|project| project.join("plain-turns").is_dir()));
    }
    let dir = tempfile::tempdir().unwrap();
    let project = found.unwrap();
    let target = dir.path().join(project.file_name().unwrap());
    fs::create_dir(&target).unwrap();
    let sessions = copy(&project);
    fs::rename(sessions.path().join("plain-turns"), target.join("plain-turns")).unwrap();
    let store = store_in(dir.path(), Encoding::Zstd);
    let live = store.open(&session, &mut ()).unwrap();
    let refused = store.open(&session, &mut ()).unwrap_err();
    assert!(
        matches!(refused, StoreError::Write(dsh_session::WriteError::Held { .. })),
        "{refused}"
    );
    assert!(store.read(&session, &mut ()).is_ok());
    drop(live);
    assert!(store.open(&session, &mut ()).is_ok());
}
