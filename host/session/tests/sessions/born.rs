//! Sessions that are born of others, and what is read for it.

use std::fs;

use dsh_session::{Encoding, Event, SessionId, Sessions, StoreError};

use crate::{Scratch, draft, files, header, note, prompt};

const BOTH: [Encoding; 2] = [Encoding::Raw, Encoding::Zstd];

fn start(turn: u64) -> dsh_session::Draft {
    draft("turn/start", &format!(r#"{{"turn":{turn}}}"#))
}

fn end(turn: u64) -> dsh_session::Draft {
    draft("turn/end", &format!(r#"{{"turn":{turn},"reason":{{"kind":"completed"}}}}"#))
}

/// An open session with one completed turn on disk, and a turn that runs.
async fn source(sessions: &Sessions) -> dsh_session::Live {
    let live = sessions.create(header("a"), None).await.unwrap();
    live.append_all(vec![start(1), prompt("m", "hello"), end(1)]).unwrap();
    live.commit().await.unwrap();
    live.append(start(2)).unwrap();
    live
}

fn kinds(events: &[Event]) -> Vec<&str> {
    events.iter().map(|event| &*event.kind).collect()
}

#[tokio::test]
async fn a_side_session_is_born_in_one_write() {
    for encoding in BOTH {
        let scratch = Scratch::new(encoding);
        let sessions = scratch.sessions();
        let parent = source(&sessions).await;
        let before = fs::read(scratch.log("a")).unwrap();
        let seed = sessions.seed(&SessionId::new("a"), None).await.unwrap();
        assert_eq!(kinds(&seed.events().to_vec()), ["turn/start", "user/message", "turn/end"]);
        assert!(seed.leaves_out_open_turn() && !seed.is_compacted());
        let child = sessions.bear(SessionId::new("b"), seed, vec![note("n", "p")]).await.unwrap();
        assert_eq!(child.pending(), 0);
        let (header, log) = sessions.history(&SessionId::new("b"), Vec::new()).await.unwrap();
        assert_eq!(kinds(&log)[3..], ["session/end-seed", "user/message"]);
        assert_eq!((header.parent, header.seed_length), (Some(SessionId::new("a")), Some(3)));
        assert_eq!(fs::read(scratch.log("a")).unwrap(), before);
        assert_eq!(parent.pending(), 1);
    }
}

#[tokio::test]
async fn a_side_session_that_cannot_be_born_leaves_nothing() {
    let scratch = Scratch::new(Encoding::Raw);
    let sessions = scratch.sessions();
    let _parent = source(&sessions).await;
    let seed = sessions.seed(&SessionId::new("a"), None).await.unwrap();
    let before = files(&scratch.root());
    let refused = draft("user/message", "{}");
    let drafts = vec![note("n", "p"), refused];
    let born = sessions.bear(SessionId::new("b"), seed.clone(), drafts).await;
    assert!(matches!(born, Err(StoreError::Seed { seq: 4, .. })), "{born:?}");
    assert_eq!(files(&scratch.root()), before);
    assert!(sessions.live(&SessionId::new("b")).is_none());
    assert_eq!(sessions.list().await.unwrap().sessions.len(), 1);
    let again = sessions.bear(SessionId::new("a"), seed, Vec::new()).await;
    assert!(matches!(again, Err(StoreError::Exists(_))), "{again:?}");
}

#[tokio::test]
async fn a_side_session_of_a_session_that_was_never_written_is_empty() {
    let scratch = Scratch::new(Encoding::Raw);
    let sessions = scratch.sessions();
    let _parent = sessions.create(header("a"), None).await.unwrap();
    let seed = sessions.seed(&SessionId::new("a"), None).await.unwrap();
    assert!(seed.events().is_empty() && !seed.leaves_out_open_turn());
    let gone = sessions.seed(&SessionId::new("x"), None).await;
    assert!(matches!(gone, Err(StoreError::NotFound(_))));
}

#[tokio::test]
async fn history_is_what_was_appended_and_nothing_that_closes_a_turn() {
    for encoding in BOTH {
        let scratch = Scratch::new(encoding);
        let sessions = scratch.sessions();
        let id = SessionId::new("a");
        let live = source(&sessions).await;
        let (_, open) = sessions.history(&id, Vec::new()).await.unwrap();
        assert_eq!(kinds(&open), ["turn/start", "user/message", "turn/end", "turn/start"]);
        live.commit().await.unwrap();
        drop(live);
        let (_, closed) = sessions.history(&id, Vec::new()).await.unwrap();
        assert_eq!(closed, open);
    }
}

#[tokio::test]
async fn a_side_session_from_before_an_event_holds_whole_turns_before_it() {
    let scratch = Scratch::new(Encoding::Raw);
    let sessions = scratch.sessions();
    let live = source(&sessions).await;
    live.append_all(vec![prompt("m2", "and?"), end(2)]).unwrap();
    for (before, length) in [(None, 6), (Some(5), 3), (Some(3), 3), (Some(2), 0), (Some(99), 6)] {
        let seed = sessions.seed(&SessionId::new("a"), before).await.unwrap();
        assert_eq!(seed.events().len(), length, "{before:?}");
    }
}

/// Field report F03: two rows of one place. Behind the last turn they are cut like any end that cannot be read; before
/// it the log is damaged, and nobody gets a part of it for the whole.
#[tokio::test]
async fn a_log_with_one_place_twice_is_forked_before_it_or_not_at_all() {
    let scratch = Scratch::new(Encoding::Raw);
    let start = |seq, turn| {
        format!(r#"{{"type":"turn/start","seq":{seq},"time":1,"data":{{"turn":{turn}}}}}"#)
    };
    let end = |seq, turn| {
        format!(
            r#"{{"type":"turn/end","seq":{seq},"time":1,"data":{{"turn":{turn},"reason":{{"kind":"completed"}}}}}}"#
        )
    };
    let rows = |rows: &[String]| rows.iter().map(|row| row.clone() + "\n").collect::<String>();
    scratch.put("late", &rows(&[start(0, 1), end(1, 1), start(2, 2), start(2, 2)]));
    scratch.put("early", &rows(&[start(0, 1), start(0, 1), end(1, 1), start(2, 2)]));
    let sessions = scratch.sessions();
    let seed = sessions.seed(&SessionId::new("late"), None).await.unwrap();
    assert_eq!(kinds(&seed.events().to_vec()), ["turn/start", "turn/end"]);
    sessions.bear(SessionId::new("child"), seed, Vec::new()).await.unwrap();
    let before = files(&scratch.root());
    for _ in 0..2 {
        let refused = sessions.seed(&SessionId::new("early"), None).await.unwrap_err();
        let StoreError::Unreadable { why, .. } = &refused else { panic!("{refused}") };
        assert!(why.to_string().contains("line 3"), "{why}");
    }
    assert_eq!(files(&scratch.root()), before);
}

/// Field report F32: a parent that cannot be read for a while is none that is gone.
#[tokio::test]
async fn nothing_of_a_child_goes_while_its_parent_cannot_be_read() {
    let scratch = Scratch::new(Encoding::Raw);
    let sessions = scratch.sessions();
    let parent = source(&sessions).await;
    let seed = sessions.seed(&SessionId::new("a"), None).await.unwrap();
    drop(sessions.bear(SessionId::new("b"), seed, vec![note("n", "p")]).await.unwrap());
    drop(parent);
    let log = fs::read(scratch.log("a")).unwrap();
    for unreadable in [&b"\0\0\0\n"[..], b""] {
        fs::write(scratch.log("a"), unreadable).unwrap();
        let before = files(&scratch.root());
        let again = scratch.sessions();
        let listed = again.list().await.unwrap();
        assert_eq!((listed.sessions.len(), listed.unreadable.len()), (1, 1));
        assert!(again.seed(&SessionId::new("a"), None).await.is_err());
        let child = again.surface(&SessionId::new("b")).await.unwrap();
        assert_eq!(child.surface.messages().len(), 2);
        assert_eq!(files(&scratch.root()), before);
    }
    fs::write(scratch.log("a"), log).unwrap();
    assert_eq!(scratch.sessions().list().await.unwrap().sessions.len(), 2);
}
