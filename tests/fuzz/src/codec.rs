//! The bytes of a log: they are read, or refused with a reason. Reading changes nothing, and a log opens for writing
//! exactly when it reads, to the same surface and title.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use dsh_session::{
    Encoding, Event, Events, Header, ReadSession, SessionId, Store, StoreError, log_path,
};

/// The first byte says how the others come to be a file, so that not every input must find a header or a frame.
pub fn holds(bytes: &[u8]) {
    let Some((how, body)) = bytes.split_first() else { return };
    let header = Header::new(SessionId::new("s"), 1, None);
    let line = format!("{}\n", header.line()).into_bytes();
    let (encoding, log) = match how % 5 {
        0 => (Encoding::Raw, [line.as_slice(), body].concat()),
        1 => (Encoding::Zstd, [frame(&line), frame(body)].concat()),
        2 => (Encoding::Zstd, [frame(&line).as_slice(), body].concat()),
        3 => {
            // Torn: what is left of the last frame when its tail is missing.
            let mut torn = frame(body);
            torn.truncate(torn.len() - torn.len().min(1 + usize::from(*how) / 5));
            (Encoding::Zstd, [frame(&line), torn].concat())
        }
        _ => (if *how < 128 { Encoding::Raw } else { Encoding::Zstd }, body.to_vec()),
    };
    let root = tempfile::tempdir().expect("a directory for one log");
    let path = log_path(root.path(), &header, encoding).expect("the id is not empty");
    fs::create_dir_all(path.parent().unwrap_or(root.path())).expect("a directory for one log");
    fs::write(&path, &log).expect("a log");
    check(root.path(), &path, encoding, &log);
}

fn check(root: &Path, path: &Path, encoding: Encoding, log: &[u8]) {
    let store = Store::new(root, encoding, Arc::new(|| 7));
    let id = SessionId::new("s");
    let listing = store.list().expect("the root is there");
    assert_eq!(listing.sessions.len() + listing.unreadable.len(), 1);
    let (mut events, mut held) = (Vec::new(), Events::default());
    let before = store.read(&id, &mut (&mut events, &mut held));
    assert_eq!(held.to_vec(), events);
    assert_eq!(fs::read(path).expect("the log"), log, "reading changed the log");
    if encoding == Encoding::Raw {
        spelled_otherwise(path, &store, log, before.is_ok().then_some(events));
    }
    let opened = store.open(&id, &mut ());
    match (before, opened) {
        (Err(before), Err(opened)) => {
            assert_eq!(before.to_string(), opened.to_string());
            assert_eq!(fs::read(path).expect("the log"), log, "a refusal changed the log");
        }
        (Ok(before), Ok(live)) => {
            // The end of its seed, which every opening marks, is no node.
            assert_eq!(live.surface().nodes(), before.surface.nodes());
            assert_eq!(live.title(), before.title);
            drop(live);
            same(&before, &store.read(&id, &mut ()));
        }
        (before, opened) => panic!("read: {before:?}, opened: {opened:?}"),
    }
}

/// Rows that are spelled as nobody writes them are read in another way, and say the same.
fn spelled_otherwise(path: &Path, store: &Store, log: &[u8], events: Option<Vec<Event>>) {
    let rows = log.split_inclusive(|byte| *byte == b'\n').enumerate();
    let loose = rows.flat_map(|(line, row)| match row.strip_prefix(b"{") {
        Some(rest) if line > 0 => [b"{ ", rest].concat(),
        _ => row.to_vec(),
    });
    fs::write(path, loose.collect::<Vec<u8>>()).expect("a log");
    let mut again: Vec<Event> = Vec::new();
    let read = store.read(&SessionId::new("s"), &mut again);
    assert_eq!(read.is_ok().then_some(again), events);
    fs::write(path, log).expect("a log");
}

/// What was repaired reads as it did before, now without anything left to repair.
fn same(before: &ReadSession, after: &Result<ReadSession, StoreError>) {
    let after = after.as_ref().expect("a repaired log reads");
    assert_eq!(after.surface, before.surface);
    assert_eq!(after.title, before.title);
    assert_eq!(after.committed, before.committed + before.closers);
    assert_eq!((after.closers, after.torn), (0, None));
}

fn frame(bytes: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(bytes, 1).expect("bytes compress")
}
