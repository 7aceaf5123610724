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
