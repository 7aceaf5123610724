//! A session that was closed is free at once, and one whose process was killed says so.

use std::fs;

use dsh_agent::TurnEnd;
use dsh_tests::{Rig, model, turn};
use dsh_wasm::{Conversation, Exit};
use serde_json::json;

use crate::desk::Desk;

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_session_can_be_opened_at_once() {
    let rig = Rig::empty().await;
    let id = rig.session(&["hello"]).await;
    for _ in 0..50 {
        let agent = rig.harness.resume(&id, model(&[json!({ "text": "ok" })])).await.unwrap();
        assert_eq!(turn(&agent, "again").await, TurnEnd::Completed);
        agent.dispose().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_whose_process_was_killed_shows_what_was_said_and_how_it_ended() {
    let (rig, desk) = (Rig::empty().await, Desk::new(&[]));
    let replies = [json!({ "text": "ok" }), json!({ "text": "hal", "hang": true })];
    let agent = rig.harness.create(None, model(&replies)).await.unwrap();
    assert_eq!(turn(&agent, "hello").await, TurnEnd::Completed);
    let id = agent.live().header().id.clone();
    let mut events = agent.live().subscribe();
    agent.followup(agent.prompt("and then?").unwrap()).await.unwrap();
    while !events.next().await.unwrap().data.as_str().contains("\"hal") {}
    agent.live().commit().await.unwrap();
    let folder = fs::read_dir(rig.root().join("_no-cwd").join(id.to_string())).unwrap();
    let mut paths = folder.map(|entry| entry.unwrap().path());
    let path = paths.find(|path| path.to_string_lossy().contains("session.jsonl")).unwrap();
    // As a process that is gone would leave it.
    let left = fs::read(&path).unwrap();
    agent.dispose().await.unwrap();
    drop(agent);
    fs::write(&path, left).unwrap();

    let shown = async || {
        let (root, id) = (rig.root().to_str().unwrap(), id.to_string());
        let ran = desk.run(&["show", "--root", root, &id]).await;
        assert_eq!(ran.exit, Ok(Exit::Done), "{}", ran.err);
        ran.out
    };
    let ends = |shown: &str, end: &str| {
        let whole = "you     hello\n\nmodel   ok\n\nyou     and then?\n\nmodel   hal\n";
        assert!(shown.ends_with(&format!("{whole}        {end}\n")), "{shown}");
    };
    ends(&shown().await, "this turn has no end: its process stopped, or still runs it");
    rig.harness.resume(&id, model(&[])).await.unwrap().dispose().await.unwrap();
    let replayed = shown().await;
    ends(&replayed, "interrupted: its process stopped before this turn was done");
    let sessions = rig.harness.sessions();
    let (_, live) = sessions.history(&id, Conversation::default()).await.unwrap();
    let mut out = Vec::new();
    live.write(&mut out, false).unwrap();
    assert!(replayed.ends_with(&String::from_utf8(out).unwrap()), "{replayed}");
}
