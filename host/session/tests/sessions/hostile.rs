//! Logs that were made to do harm.

use std::fs;
use std::os::unix::fs::symlink;

use dsh_session::{Encoding, LogError, SessionId, StoreError};

use crate::{Scratch, header, prompt};

#[track_caller]
fn unreadable(scratch: &Scratch, id: &str) -> LogError {
    match scratch.store().read(&SessionId::new(id), &mut ()) {
        Err(StoreError::Unreadable { why, .. }) => why,
        other => panic!("{other:?}"),
    }
}

fn node(data: &str) -> String {
    format!(r#"{{"type":"user/message","seq":0,"time":0,"data":{data},"surfaceOp":"append"}}"#)
        + "\n"
}

#[test]
fn deep_json_costs_no_stack() {
    let scratch = Scratch::new(Encoding::Raw);
    let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    let row = format!(r#"{{"type":"todo/write","seq":0,"time":0,"data":{deep}}}"#);
    scratch.put(
        "data",
        &format!(
            "{row}
"
        ),
    );
    assert_eq!(scratch.store().read(&SessionId::new("data"), &mut ()).unwrap().committed, 1);
    let content = format!(
        r#"{{"id":"m","role":"user","content":[{deep}],"source":{{"kind":"user","x":{deep}}}}}"#
    );
    scratch.put("message", &node(&content));
    let read = scratch.store().read(&SessionId::new("message"), &mut ()).unwrap();
    assert_eq!(read.surface.nodes().len(), 1);
    scratch.put("unclosed", &node(&"[".repeat(1_000_000)));
    let read = scratch.store().read(&SessionId::new("unclosed"), &mut ()).unwrap();
    assert_eq!((read.committed, read.torn.is_some()), (0, true));
}

#[test]
fn invalid_utf8_reads_as_the_replacement_character() {
    let scratch = Scratch::new(Encoding::Raw);
    let row = node(
        r#"{"id":"m","role":"user","content":[{"type":"text","text":"a?b"}],"source":{"kind":"user"}}"#,
    );
    scratch.put("a", "");
    let mut bytes = fs::read(scratch.log("a")).unwrap();
    bytes.extend(row.bytes().map(|byte| if byte == b'?' { 0xff } else { byte }));
    fs::write(scratch.log("a"), bytes).unwrap();
    let read = scratch.store().read(&SessionId::new("a"), &mut ()).unwrap();
    assert_eq!(read.surface.messages()[0].text(), "a\u{fffd}b");
}

#[test]
fn a_frame_that_unpacks_to_a_line_without_end_is_refused() {
    let scratch = Scratch::new(Encoding::Zstd);
    let log = scratch.log("bomb");
    fs::create_dir_all(log.parent().unwrap()).unwrap();
    let header =
        zstd::bulk::compress(format!("{}\n", header("bomb").line()).as_bytes(), 3).unwrap();
    let mut encoder = zstd::Encoder::new(header, 19).unwrap();
    let block = vec![b'['; 1 << 20];
    for _ in 0..300 {
        std::io::Write::write_all(&mut encoder, &block).unwrap();
    }
    let bomb = encoder.finish().unwrap();
    assert!(bomb.len() < 1 << 20);
    fs::write(&log, bomb).unwrap();
    assert!(matches!(unreadable(&scratch, "bomb"), LogError::LongLine(_)));
}

#[test]
fn a_header_that_unpacks_to_much_is_refused_by_a_listing() {
    let scratch = Scratch::new(Encoding::Zstd);
    let log = scratch.log("bomb");
    fs::create_dir_all(log.parent().unwrap()).unwrap();
    fs::write(&log, zstd::bulk::compress(&vec![b' '; 1 << 26], 3).unwrap()).unwrap();
    let listing = scratch.store().list().unwrap();
    assert!(matches!(listing.unreadable[0].why, LogError::HeaderFrame));
}

#[test]
fn an_id_that_is_a_path_stays_in_its_root() {
    let scratch = Scratch::new(Encoding::Raw);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for id in ["../../escape", "/etc/passwd", "..", ".", "a/../b", "\0", "con", "~002E"] {
        let live = scratch.store().create(header(id), None).unwrap();
        live.append(prompt("m", id)).unwrap();
        runtime.block_on(live.commit()).unwrap();
        drop(live);
        assert!(scratch.store().read(&SessionId::new(id), &mut ()).is_ok(), "{id:?}");
    }
    assert_eq!(scratch.store().list().unwrap().sessions.len(), 8);
    assert_eq!(fs::read_dir(scratch.dir.path()).unwrap().count(), 1);
    assert_eq!(fs::read_dir(scratch.root()).unwrap().count(), 1);
    assert!(scratch.store().create(header(""), None).is_err());
}

#[test]
fn links_are_not_followed() {
    let scratch = Scratch::new(Encoding::Raw);
    scratch.put("real", "");
    let real = scratch.log("real");
    let project = real.parent().unwrap().parent().unwrap();
    symlink(real.parent().unwrap(), project.join("linked")).unwrap();
    symlink(project, scratch.root().join("--elsewhere--")).unwrap();
    fs::create_dir(project.join("file")).unwrap();
    symlink(&real, project.join("file").join("session.jsonl")).unwrap();
    let listing = scratch.store().list().unwrap();
    assert_eq!(listing.sessions.len(), 1);
    assert_eq!(listing.unreadable.len(), 1);
    assert!(matches!(listing.unreadable[0].why, LogError::Link(_)));
    let linked = scratch.store().read(&SessionId::new("linked"), &mut ());
    assert!(matches!(linked, Err(StoreError::NotFound(_))));
    assert!(matches!(unreadable(&scratch, "file"), LogError::Link(_)));
}

#[test]
fn a_log_of_the_future_is_newer_and_not_damaged() {
    let scratch = Scratch::new(Encoding::Raw);
    scratch.put("type", "{\"type\":\"of/tomorrow\",\"seq\":0,\"time\":0,\"data\":{}}\n");
    assert!(unreadable(&scratch, "type").is_newer());
    scratch.put("version", "");
    let log = fs::read_to_string(scratch.log("version")).unwrap();
    fs::write(scratch.log("version"), log.replace("\"version\":0", "\"version\":1")).unwrap();
    assert!(unreadable(&scratch, "version").is_newer());
    scratch.put("damaged", "{}\n{\"type\":\"turn/end\"}\n");
    assert!(!unreadable(&scratch, "damaged").is_newer());
}

#[test]
fn nested_results_cost_no_stack() {
    let scratch = Scratch::new(Encoding::Raw);
    let open = r#"{"type":"tool-result","toolCallId":"c","content":["#.repeat(20_000);
    let content = format!("{open}{}", "]}".repeat(20_000));
    let message =
        format!(r#"{{"id":"m","role":"user","content":[{content}],"source":{{"kind":"user"}}}}"#);
    scratch.put("a", &node(&message));
    let read = scratch.store().read(&SessionId::new("a"), &mut ()).unwrap();
    assert_eq!(read.surface.messages()[0].blocks().len(), 1);
}

#[test]
fn of_two_logs_of_one_session_neither_is_served() {
    let scratch = Scratch::new(Encoding::Raw);
    scratch.put("good", "");
    scratch.put("twice", "");
    let mut elsewhere = header("twice");
    elsewhere.cwd = Some("/elsewhere".into());
    let path = dsh_session::log_path(&scratch.root(), &elsewhere, Encoding::Raw).unwrap();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("{}\n", elsewhere.line())).unwrap();
    scratch.put("both", "");
    fs::write(scratch.log("both").with_file_name("session.jsonl.zstd"), "").unwrap();
    fs::write(scratch.root().join("--elsewhere--").join("old.jsonl"), "").unwrap();

    let listing = scratch.store().list().unwrap();
    let listed: Vec<&str> = listing.sessions.iter().map(|header| header.id.escaped()).collect();
    assert_eq!(listed, ["good"]);
    let mut named: Vec<(&str, bool)> = Vec::new();
    for bad in &listing.unreadable {
        let id = bad.id.as_ref().map_or("", SessionId::escaped);
        named.push((id, matches!(&bad.why, LogError::Twice(other) if *other != bad.path)));
    }
    named.sort();
    assert_eq!(named, [("", false), ("both", true), ("twice", true), ("twice", true)]);
    assert!(matches!(unreadable(&scratch, "twice"), LogError::Twice(_)));
    assert!(matches!(unreadable(&scratch, "both"), LogError::Twice(_)));
    let created = scratch.store().create(header("twice"), None);
    assert!(matches!(created, Err(StoreError::Unreadable { why: LogError::Twice(_), .. })));
}

/// On a disk that takes `Abc` and `abc` for one name, the log of one is what is found under the other.
#[test]
fn an_id_that_differs_in_case_alone_neither_reads_nor_overwrites_the_other() {
    for encoding in [Encoding::Raw, Encoding::Zstd] {
        let scratch = Scratch::new(encoding);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let live = scratch.store().create(header("Abc"), None).unwrap();
        live.append(prompt("m", "hello")).unwrap();
        runtime.block_on(live.commit()).unwrap();
        drop(live);
        let upper = scratch.log("Abc");
        let lower = scratch.log("abc");
        let good = fs::read(&upper).unwrap();
        fs::rename(upper.parent().unwrap(), lower.parent().unwrap()).unwrap();

        let store = scratch.store();
        let id = SessionId::new("abc");
        let read = store.read(&id, &mut ()).unwrap_err().to_string();
        assert!(read.contains("\"Abc\""), "{read}");
        assert!(store.open(&id, &mut ()).is_err());
        assert!(store.create(header("abc"), None).is_err());
        let listing = store.list().unwrap();
        assert!(listing.sessions.is_empty());
        assert_eq!(listing.unreadable.len(), 1);
        assert_eq!(fs::read(&lower).unwrap(), good);
    }
}
