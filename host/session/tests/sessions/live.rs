//! A session that is open for writing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use dsh_session::{Encoding, Event, EventError, Events, Fold, SessionId, StoreError, WriteError};

use crate::{Scratch, draft, files, header, prompt};

const BOTH: [Encoding; 2] = [Encoding::Raw, Encoding::Zstd];

/// The types of a log's events.
#[derive(Default)]
struct Kinds(Vec<String>);

impl Fold for Kinds {
    fn event(&mut self, event: &Event) {
        self.0.push(event.kind.to_string());
    }
}

fn kinds(scratch: &Scratch, id: &str) -> Vec<String> {
    let mut kinds = Kinds::default();
    scratch.store().read(&SessionId::new(id), &mut kinds).unwrap();
    kinds.0
}

#[tokio::test]
async fn nothing_is_on_disk_before_the_first_commit() {
    for encoding in BOTH {
        let scratch = Scratch::new(encoding);
        let live = scratch.store().create(header("a"), None).unwrap();
        live.commit().await.unwrap();
        live.append(prompt("m", "hello")).unwrap();
        assert!(!scratch.root().exists());
        live.commit().await.unwrap();
        assert_eq!(files(&scratch.root()), [encoding.file_name(), "writer.lock"]);
        assert_eq!(kinds(&scratch, "a"), ["user/message"]);
        let mode =
            |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let log = scratch.log("a");
        assert_eq!(mode(&log), 0o600);
        for dir in [log.parent().unwrap(), &scratch.root()] {
            assert_eq!(mode(dir), 0o700);
        }
    }
}

#[tokio::test]
async fn a_session_grows_batch_by_batch() {
    for encoding in BOTH {
        let scratch = Scratch::new(encoding);
        let live = scratch.store().create(header("a"), None).unwrap();
        for turn in 1..4 {
            live.append(draft("turn/start", &format!(r#"{{"turn":{turn}}}"#))).unwrap();
            live.append(prompt(&format!("m{turn}"), "hello")).unwrap();
            live.commit().await.unwrap();
            live.append(draft(
                "turn/end",
                &format!(r#"{{"turn":{turn},"reason":{{"kind":"completed"}}}}"#),
            ))
            .unwrap();
            live.commit().await.unwrap();
            assert_eq!(live.pending(), 0);
        }
        let texts: Vec<String> =
            live.messages().iter().map(|message| message.id().to_owned()).collect();
        assert_eq!(texts, ["m1", "m2", "m3"]);
        let read = scratch.store().read(&SessionId::new("a"), &mut ()).unwrap();
        assert_eq!(read.surface, live.surface());
        assert_eq!(read.committed, 9);
    }
}

#[tokio::test]
async fn an_existing_log_is_never_overwritten() {
    let scratch = Scratch::new(Encoding::Zstd);
    let first = scratch.store().create(header("a"), None).unwrap();
    let second = scratch.store().create(header("a"), None).unwrap();
    first.append(prompt("m", "first")).unwrap();
    second.append(prompt("m", "second")).unwrap();
    first.commit().await.unwrap();
    assert!(matches!(second.commit().await, Err(WriteError::Held { .. })));
    drop(first);
    assert!(matches!(second.commit().await, Err(WriteError::Exists(_))));
    assert_eq!(second.pending(), 1);
    let again = scratch.store().create(header("a"), None);
    assert!(matches!(again, Err(StoreError::Exists(_))));
    assert_eq!(files(&scratch.root()), ["session.jsonl.zstd", "writer.lock"]);
    let read = scratch.store().read(&SessionId::new("a"), &mut ()).unwrap();
    assert_eq!(read.surface.messages()[0].text(), "first");
}

#[tokio::test]
async fn a_session_is_born_whole() {
    let scratch = Scratch::new(Encoding::Raw);
    let seed = vec![prompt("m", "inherited").at(0, 5)];
    let mut child = header("child");
    child.parent = Some(SessionId::new("parent"));
    child.seed_length = Some(1);
    let live = scratch.store().create(child, Some(seed.into())).unwrap();
    live.append(crate::note("n", "side")).unwrap();
    live.commit().await.unwrap();
    assert_eq!(kinds(&scratch, "child"), ["user/message", "session/end-seed", "user/message"]);
    assert_eq!(live.own_notes("side").len(), 1);
}

#[tokio::test]
async fn an_empty_seed_is_a_seed() {
    let scratch = Scratch::new(Encoding::Raw);
    let live = scratch.store().create(header("a"), Some(Events::default())).unwrap();
    live.commit().await.unwrap();
    assert_eq!(kinds(&scratch, "a"), ["session/end-seed"]);
}

#[tokio::test]
async fn resuming_leaves_its_mark_once() {
    let scratch = Scratch::new(Encoding::Zstd);
    let live = scratch.store().create(header("a"), None).unwrap();
    live.append(prompt("m", "hello")).unwrap();
    live.commit().await.unwrap();
    drop(live);
    for _ in 0..2 {
        let mut folded = Kinds::default();
        let live = scratch.store().open(&SessionId::new("a"), &mut folded).unwrap();
        assert!(live.repair().is_none());
        assert_eq!(folded.0, ["user/message", "session/end-seed"]);
        live.commit().await.unwrap();
    }
    assert_eq!(kinds(&scratch, "a"), ["user/message", "session/end-seed"]);
}

#[tokio::test]
async fn an_interrupted_turn_is_closed_on_opening() {
    let scratch = Scratch::new(Encoding::Zstd);
    let live = scratch.store().create(header("a"), None).unwrap();
    live.append(draft("turn/start", r#"{"turn":1}"#)).unwrap();
    live.append(draft("step/start", r#"{"turn":1,"step":1}"#)).unwrap();
    live.commit().await.unwrap();
    drop(live);
    let before = fs::read(scratch.log("a")).unwrap();
    let read = scratch.store().read(&SessionId::new("a"), &mut ()).unwrap();
    assert_eq!((read.committed, read.closers), (2, 2));
    assert_eq!(fs::read(scratch.log("a")).unwrap(), before, "reading changed the file");
    let live = scratch.store().open(&SessionId::new("a"), &mut ()).unwrap();
    assert_eq!(live.repair().closers, ["step/end".into(), "turn/end".into()]);
    drop(live);
    assert_eq!(kinds(&scratch, "a"), ["turn/start", "step/start", "step/end", "turn/end"]);
}

#[tokio::test]
async fn an_event_that_cannot_follow_changes_nothing() {
    let scratch = Scratch::new(Encoding::Raw);
    let live = scratch.store().create(header("a"), None).unwrap();
    live.append(prompt("m", "hello")).unwrap();
    let refused = |draft| live.append(draft).unwrap_err();
    assert!(matches!(refused(draft("context/note", "{}")), EventError::Unknown(_)));
    assert!(matches!(refused(draft("user/message", r#"{"role":"user"}"#)), EventError::Message(_)));
    assert!(matches!(
        refused(draft("turn/start", r#"{"turn":1,"trigger":{"kind":"user"}}"#)),
        EventError::Envelope(_)
    ));
    assert!(matches!(
        refused(draft("turn/end", r#"{"turn":1,"reason":"done"}"#)),
        EventError::Legacy(_)
    ));
    let mut cites = prompt("n", "late");
    cites.sources = Some(vec![1]);
    assert!(matches!(refused(cites), EventError::Surface(_)));
    let mut alone = prompt("n", "no operation");
    alone.surface_op = None;
    assert!(matches!(refused(alone), EventError::Surface(_)));
    assert_eq!((live.next_seq(), live.pending(), live.messages().len()), (1, 1, 1));
}

#[tokio::test]
async fn data_over_several_lines_is_one_row() {
    let scratch = Scratch::new(Encoding::Raw);
    let live = scratch.store().create(header("a"), None).unwrap();
    live.append(draft("todo/write", "{\n  \"todos\": [],\r\n  \"x\": \"a\\nb\"\n}")).unwrap();
    live.commit().await.unwrap();
    let log = fs::read_to_string(scratch.log("a")).unwrap();
    assert_eq!(log.lines().count(), 2);
    assert_eq!(kinds(&scratch, "a"), ["todo/write"]);
}

#[tokio::test]
async fn a_log_that_somebody_else_changed_is_not_appended_to() {
    for encoding in BOTH {
        let scratch = Scratch::new(encoding);
        let live = scratch.store().create(header("a"), None).unwrap();
        live.append(prompt("m", "hello")).unwrap();
        live.commit().await.unwrap();
        let log = scratch.log("a");
        let good = fs::read(&log).unwrap();
        live.append(prompt("n", "more")).unwrap();

        fs::write(&log, [&good[..], b"more"].concat()).unwrap();
        assert!(matches!(live.commit().await, Err(WriteError::Changed(_))));
        fs::remove_file(&log).unwrap();
        assert!(matches!(live.commit().await, Err(WriteError::Changed(_))));
        let mut other = good.clone();
        *other.last_mut().unwrap() ^= 1;
        fs::write(&log, &other).unwrap();
        assert!(matches!(live.commit().await, Err(WriteError::Changed(_))));
        assert_eq!(live.pending(), 1);
        assert_eq!(fs::read(&log).unwrap(), other);

        fs::write(&log, &good).unwrap();
        live.commit().await.unwrap();
        assert_eq!(scratch.store().read(&SessionId::new("a"), &mut ()).unwrap().committed, 2);
    }
}

#[tokio::test]
async fn commits_side_by_side_lose_and_repeat_nothing() {
    let scratch = Scratch::new(Encoding::Zstd);
    let live = scratch.store().create(header("a"), None).unwrap();
    let mut tasks = Vec::new();
    for task in 0..8 {
        let live = live.clone();
        tasks.push(tokio::spawn(async move {
            for message in 0..10 {
                live.append(prompt(&format!("{task}-{message}"), "hello")).unwrap();
                live.commit().await.unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let read = scratch.store().read(&SessionId::new("a"), &mut ()).unwrap();
    assert_eq!(read.committed, 80);
    assert_eq!(read.surface, live.surface());
}

#[tokio::test]
async fn a_dropped_commit_loses_nothing() {
    let scratch = Scratch::new(Encoding::Zstd);
    let live = scratch.store().create(header("a"), None).unwrap();
    for message in 0..20 {
        live.append(prompt(&message.to_string(), "hello")).unwrap();
        let commit = live.commit();
        tokio::select! {
            biased;
            done = commit => done.unwrap(),
            () = tokio::task::yield_now() => {}
        }
    }
    live.commit().await.unwrap();
    assert_eq!(live.pending(), 0);
    let read = scratch.store().read(&SessionId::new("a"), &mut ()).unwrap();
    assert_eq!(read.committed, 20);
}

#[tokio::test]
async fn subscribers_see_every_event_from_then_on() {
    let scratch = Scratch::new(Encoding::Raw);
    let live = scratch.store().create(header("a"), None).unwrap();
    live.append(prompt("0", "before")).unwrap();
    let mut events = live.subscribe();
    live.append(prompt("1", "after")).unwrap();
    live.append(prompt("2", "after")).unwrap();
    assert_eq!(events.next().await.unwrap().seq, 1);
    assert_eq!(events.try_next().unwrap().seq, 2);
    assert_eq!(events.try_next(), None);
    drop(live);
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn a_clock_that_goes_back_hurts_nobody() {
    let scratch = Scratch::new(Encoding::Zstd);
    let time = std::sync::Arc::new(std::sync::atomic::AtomicI64::new(1_800_000_000_000));
    let clock = {
        let time = time.clone();
        move || time.fetch_sub(3_600_000, std::sync::atomic::Ordering::Relaxed)
    };
    let live = scratch.store_at(std::sync::Arc::new(clock)).create(header("a"), None).unwrap();
    for word in ["a", "b", "c", "d"] {
        let data = format!(
            r#"{{"turn":1,"step":1,"chunk":{{"type":"text-delta","index":0,"text":"{word}"}}}}"#
        );
        live.append(draft("assistant/chunk", &data)).unwrap();
    }
    live.commit().await.unwrap();
    let mut events: Vec<Event> = Vec::new();
    scratch.store().read(&SessionId::new("a"), &mut events).unwrap();
    let gaps: Vec<i64> = events.windows(2).map(|pair| pair[1].time - pair[0].time).collect();
    assert_eq!(gaps, [-3_600_000; 3]);
}
