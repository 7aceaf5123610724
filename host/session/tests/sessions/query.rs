//! Questions about sessions.

use std::fs;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use dsh_session::{Encoding, QueryError, SessionId, Sessions, StoreError};

use crate::{Scratch, header, note, prompt, title};

fn ids(ids: &[&str]) -> Vec<SessionId> {
    ids.iter().map(|id| SessionId::new(id)).collect()
}

/// A session on disk with a title and a prompt.
async fn written(sessions: &Sessions, id: &str) {
    let live = sessions.create(header(id), None).await.unwrap();
    live.append(title(&format!("title of {id}"))).unwrap();
    live.append(prompt("m", id)).unwrap();
    live.append(note("n", "side")).unwrap();
    live.commit().await.unwrap();
}

#[tokio::test]
async fn titles_come_in_the_order_asked_and_fail_alone() {
    let scratch = Scratch::new(Encoding::Raw);
    let sessions = scratch.sessions();
    written(&sessions, "a").await;
    written(&sessions, "b").await;
    scratch.put("bad", "{}\n{\"type\":\"turn/end\"}\n");
    scratch.put("odd", "{\"type\":\"session/title\",\"seq\":0,\"time\":0,\"data\":{}}\n");
    let titles = sessions.titles(&ids(&["b", "none", "bad", "a", "odd", "b"])).await;
    let found: Vec<_> = titles
        .iter()
        .map(|title| title.as_ref().map(|title| title.as_ref().unwrap().title.as_str()))
        .collect();
    assert_eq!(found[0].unwrap(), "title of b");
    assert!(matches!(found[1], Err(QueryError::NotFound(_))));
    let why = found[2].unwrap_err().to_string();
    let log = scratch.log("bad");
    assert_eq!(
        why,
        format!(
            "session \"bad\" cannot be read: {}: line 2 at byte 110: event 0 is missing: the line holds no place",
            log.display()
        )
    );
    assert_eq!(found[3].unwrap(), "title of a");
    assert!(matches!(found[4], Err(QueryError::Title { .. })));
    assert_eq!(found[5].unwrap(), "title of b");
}

#[tokio::test]
async fn an_open_session_answers_from_memory() {
    let scratch = Scratch::new(Encoding::Zstd);
    let sessions = scratch.sessions();
    written(&sessions, "cold").await;
    let live = sessions.create(header("live"), None).await.unwrap();
    live.append(prompt("m", "not on disk")).unwrap();
    let surfaces = sessions.surfaces(&ids(&["live", "cold", "live"])).await;
    let texts: Vec<String> =
        surfaces.into_iter().map(|found| found.unwrap().surface.messages()[0].text()).collect();
    assert_eq!(texts, ["not on disk", "cold", "not on disk"]);
    let records = sessions.list().await.unwrap().sessions;
    let records: Vec<_> = records
        .iter()
        .map(|record| (record.header.id.escaped(), record.live, record.persisted))
        .collect();
    assert_eq!(records, [("cold", false, true), ("live", true, false)]);
    drop(live);
    assert!(matches!(
        sessions.surface(&SessionId::new("live")).await,
        Err(QueryError::NotFound(_))
    ));
}

#[test]
fn a_session_that_is_opened_while_its_log_is_read_answers_from_memory() {
    // One thread for files, and that one busy: what is asked for waits until it is let go.
    let runtime =
        tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
    let scratch = Scratch::new(Encoding::Zstd);
    runtime.block_on(async {
        let sessions = scratch.sessions();
        written(&sessions, "a").await;
        let id = SessionId::new("a");
        let (busy, wait) = channel::<()>();
        let busy_thread = tokio::task::spawn_blocking(move || wait.recv().is_err());
        let surface = sessions.surface(&id);
        tokio::pin!(surface);
        assert!(futures::poll!(&mut surface).is_pending());
        drop(busy);
        busy_thread.await.unwrap();
        let (live, ()) = sessions.open(&id, ()).await.unwrap();
        live.append(prompt("later", "later")).unwrap();
        let observed = surface.await.unwrap();
        assert_eq!(observed.surface, live.surface());
    });
}

#[tokio::test]
async fn an_observation_never_changes() {
    let scratch = Scratch::new(Encoding::Zstd);
    let sessions = scratch.sessions();
    let live = sessions.create(header("a"), None).await.unwrap();
    live.append(prompt("1", "one")).unwrap();
    let observed = sessions.surface(&SessionId::new("a")).await.unwrap();
    live.append(prompt("2", "two")).unwrap();
    assert_eq!(observed.surface.nodes().len(), 1);
    assert_eq!(observed.surface.captured_through(), Some(0));
    assert_eq!(live.surface().nodes().len(), 2);
}

#[tokio::test]
async fn own_notes_are_those_of_one_plugin() {
    let scratch = Scratch::new(Encoding::Zstd);
    let sessions = scratch.sessions();
    written(&sessions, "a").await;
    let id = SessionId::new("a");
    let notes = sessions.own_notes(&id, "side").await.unwrap();
    assert_eq!(notes.len(), 1);
    assert_eq!((notes[0].seq, &*notes[0].message), (Some(2), "n"));
    assert!(sessions.own_notes(&id, "other").await.unwrap().is_empty());
    let (live, ()) = sessions.open(&id, ()).await.unwrap();
    assert_eq!(sessions.own_notes(&id, "side").await.unwrap(), notes);
    drop(live);
}

#[tokio::test]
async fn a_session_is_open_once() {
    let scratch = Scratch::new(Encoding::Zstd);
    let sessions = scratch.sessions();
    let live = sessions.create(header("a"), None).await.unwrap();
    assert!(matches!(sessions.create(header("a"), None).await, Err(StoreError::Exists(_))));
    live.append(prompt("m", "hello")).unwrap();
    live.commit().await.unwrap();
    let id = SessionId::new("a");
    assert!(matches!(sessions.open(&id, ()).await, Err(StoreError::Open(_))));
    drop(live);
    assert!(sessions.live(&id).is_none());
    let (live, ()) = sessions.open(&id, ()).await.unwrap();
    assert_eq!(sessions.live(&id).unwrap().header(), live.header());
}

#[tokio::test]
async fn an_open_session_and_its_log_must_agree() {
    let scratch = Scratch::new(Encoding::Raw);
    let sessions = scratch.sessions();
    let live = sessions.create(header("a"), None).await.unwrap();
    live.append(prompt("m", "hello")).unwrap();
    live.commit().await.unwrap();
    let log = fs::read_to_string(scratch.log("a")).unwrap();
    fs::write(scratch.log("a"), log.replacen("1700000000000", "1700000000001", 1)).unwrap();
    assert!(matches!(sessions.list().await, Err(QueryError::Conflict(_))));
}

/// A clock that does not answer before its sender is dropped.
fn stuck_clock() -> (Sender<()>, dsh_session::Clock) {
    let (sender, receiver) = channel::<()>();
    let receiver: Mutex<Receiver<()>> = Mutex::new(receiver);
    let clock = move || {
        let _ = receiver.lock().unwrap().recv();
        7
    };
    (sender, Arc::new(clock))
}

#[tokio::test]
async fn what_never_returns_can_be_abandoned() {
    let scratch = Scratch::new(Encoding::Zstd);
    written(&scratch.sessions(), "a").await;
    let (stuck, clock) = stuck_clock();
    let sessions = Sessions::new(scratch.store_at(clock));
    let id = SessionId::new("a");
    {
        let open = sessions.open(&id, ());
        tokio::pin!(open);
        // It waits for the clock, in the background; meanwhile others are served.
        assert!(futures::poll!(&mut open).is_pending());
        assert!(sessions.surface(&id).await.is_ok());
        assert!(futures::poll!(&mut open).is_pending());
    }
    assert!(sessions.live(&id).is_none());
    assert_eq!(sessions.list().await.unwrap().sessions.len(), 1);
    drop(stuck);
}

#[tokio::test]
async fn a_root_that_is_no_directory_is_unavailable() {
    let scratch = Scratch::new(Encoding::Zstd);
    fs::write(scratch.root(), "").unwrap();
    let sessions = scratch.sessions();
    assert!(matches!(sessions.list().await, Err(QueryError::Unavailable(_))));
    let surface = sessions.surface(&SessionId::new("a")).await;
    assert!(matches!(surface, Err(QueryError::Unavailable(_))));
}
