//! The real client as a reader and a writer of our logs.
//!
//! `DSH_INTEROP` names a copy of the tool that runs the published packages, made ready with `npm install`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use dsh_session::{Draft, Encoding, Event, Header, Json, Live, SessionId, Store};

use crate::canonical::{events_digest, messages_digest};
use crate::{copy, corpus, id, lines, read, store, store_in};

fn tool() -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "a test finds the tool by the environment")]
    let tool = std::env::var_os("DSH_INTEROP");
    if tool.is_none() {
        println!("skipped: DSH_INTEROP does not name the tool that runs the real client");
    }
    tool.map(PathBuf::from)
}

/// Runs a script of the tool; gives what it printed, and whether it was content.
fn node(tool: &Path, script: &str, arguments: &[&str]) -> (String, bool) {
    let output =
        Command::new("node").current_dir(tool).arg(script).args(arguments).output().unwrap();
    print!("{}", String::from_utf8_lossy(&output.stderr));
    (String::from_utf8(output.stdout).unwrap(), output.status.success())
}

fn commit(live: &Live) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(live.commit()).unwrap();
}

/// Writes one log again, in batches of its own.
fn rewrite(from: &Store, to: &Store, header: &Header) {
    let mut events: Vec<Event> = Vec::new();
    let found = from.read(&header.id, &mut events).unwrap();
    // What closes an interrupted turn in memory is left out: our own repair must do as well.
    events.truncate(found.committed as usize);
    let seed = header.seed_length.map(|length| events.drain(..length as usize).collect());
    let seeded = seed.is_some();
    let live = to.create(found.header, seed).unwrap();
    for (index, event) in events.into_iter().enumerate() {
        if seeded && index == 0 && &*event.kind == "session/end-seed" {
            continue;
        }
        live.append(event.into()).unwrap();
        if index % 25 == 24 {
            commit(&live);
        }
    }
    commit(&live);
}

/// Compares every session of a root with what the real client says of it.
fn check(tool: &Path, root: &Path) {
    let (rows, content) = node(tool, "check.mjs", &[root.to_str().unwrap()]);
    let rows: HashMap<SessionId, Json> = rows
        .lines()
        .map(|row| Json::parse(row).unwrap())
        .map(|row| (id(&row, "id").unwrap_or_else(|| panic!("{row:?}")), row))
        .collect();
    let listing = store(root).list().unwrap();
    assert_eq!(listing.sessions.len(), rows.len());
    for header in listing.sessions {
        let row = &rows[&header.id];
        let session = &header.id;
        assert_eq!(read::<String>(row, "error"), None, "{session}");
        let mut events: Vec<Event> = Vec::new();
        let found = store(root).read(session, &mut events).unwrap();
        assert_eq!(Some(found.committed), read(row, "committed"), "{session}");
        assert_eq!(Some(events_digest(&events)), read(row, "events_digest"), "{session}");
        let digest = messages_digest(&found.surface.messages());
        assert_eq!(Some(digest), read(row, "messages_digest"), "{session}");
        assert_eq!(found.title.unwrap().map(|title| title.title), read(row, "title"), "{session}");
    }
    assert!(content);
}

#[test]
fn the_real_client_reads_what_we_write() {
    let (Some(tool), Some(recorded)) = (tool(), corpus("fixtures/recorded/raw")) else { return };
    for encoding in [Encoding::Zstd, Encoding::Raw] {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("sessions");
        let ours = store_in(&root, encoding);
        let headers = store(&recorded).list().unwrap().sessions;
        let headers =
            headers.into_iter().filter(|header| !header.id.escaped().starts_with("small-"));
        for header in headers {
            rewrite(&store(&recorded), &ours, &header);
            // Opened for writing, which closes interrupted turns, and left with its mark.
            commit(&ours.open(&header.id, &mut ()).unwrap());
        }
        check(&tool, &root);
    }
}

#[test]
fn the_real_client_reads_what_we_repair() {
    let (Some(tool), Some(broken)) = (tool(), corpus("fixtures/broken")) else { return };
    let mut repaired = 0;
    for verdict in lines(&broken.join("verdicts.json")) {
        let name: String = read(&verdict, "name").unwrap();
        if read::<String>(&verdict, "verdict").as_deref() != Some("accepted, repaired") {
            continue;
        }
        let copy = copy(&broken.join(&name));
        let session = id(&verdict, "id").unwrap();
        let live = store(copy.path()).open(&session, &mut ()).unwrap();
        let data = r#"{"content":[{"type":"text","text":"on"}],"source":{"kind":"user"},"role":"user","id":"more"}"#;
        live.append(Draft::node("user/message", Json::parse(data).unwrap(), None)).unwrap();
        commit(&live);
        drop(live);
        check(&tool, copy.path());
        repaired += 1;
    }
    assert!(repaired > 8, "{repaired}");
}

#[test]
fn the_real_client_continues_a_session_of_ours_and_we_one_of_its() {
    let (Some(tool), Some(recorded)) = (tool(), corpus("fixtures/recorded/raw")) else { return };
    for encoding in [Encoding::Zstd, Encoding::Raw] {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("sessions");
        let ours = store_in(&root, encoding);
        let session = SessionId::new("tools-basic");
        let header = store(&recorded).read_header(&session).unwrap();
        rewrite(&store(&recorded), &ours, &header);
        let before = ours.read(&session, &mut ()).unwrap();
        let arguments = [root.to_str().unwrap(), "tools-basic", "go on", "--reply", "gone on"];
        let (printed, content) = node(&tool, "resume.mjs", &arguments);
        assert!(content, "{printed}");
        let after = ours.read(&session, &mut ()).unwrap();
        let spoken = after.surface.messages();
        assert!(after.committed > before.committed);
        assert_eq!(spoken.last().unwrap().text(), "gone on");
        assert!(spoken.iter().any(|message| message.text() == "go on"));
        let live = ours.open(&session, &mut ()).unwrap();
        commit(&live);
        drop(live);
        check(&tool, &root);
    }
}
