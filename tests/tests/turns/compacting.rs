//! Compacted sessions from the outside: the command, what is shown, and what others see of them.

use dsh_agent::TurnEnd;
use dsh_session::{Encoding, SessionId, Store};
use dsh_tests::{Ran, Rig, dsh_wasm, mention, model, said, turn};
use dsh_wasm::Exit;
use serde_json::{Value, json};

/// A model for the command line that gives these replies.
fn script(rig: &Rig, replies: &[Value]) -> String {
    let file = rig.beside().join("script");
    let lines: Vec<String> = replies.iter().map(ToString::to_string).collect();
    std::fs::write(&file, lines.join("\n")).unwrap();
    format!("script:{}", file.display())
}

/// A session that was compacted twice, the second time on top of the first.
async fn twice(rig: &Rig) -> SessionId {
    let replies = [
        json!({ "text": "PLUM" }),
        json!({ "text": "QUINCE" }),
        json!({ "text": "FIRST SUMMARY" }),
        json!({ "text": "MEDLAR", "calls": [{ "name": "none" }] }),
        json!({ "text": "SLOE" }),
        json!({ "reasoning": "so", "text": "SECOND SUMMARY" }),
    ];
    let agent = rig.harness.create(None, model(&replies)).await.unwrap();
    assert_eq!(turn(&agent, "one").await, TurnEnd::Completed);
    assert_eq!(turn(&agent, "two").await, TurnEnd::Completed);
    agent.compact(None).await.unwrap().unwrap();
    assert_eq!(turn(&agent, "three").await, TurnEnd::Completed);
    agent.compact(Some("the fruit 日本")).await.unwrap().unwrap();
    agent.live().header().id.clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_compacts_a_session_and_sees_its_summary() {
    let rig = Rig::empty().await;
    let id = rig.session(&["PLUM", "QUINCE"]).await.to_string();
    let summary = script(&rig, &[json!({ "text": "About\nfruit \u{202e}" })]);
    let args = ["compact", &id, "the plum", "--model", &summary];
    let Ran { exit, out, .. } = dsh_wasm(rig.root(), &args).await;
    assert_eq!(exit, Ok(Exit::Done));
    assert!(out.starts_with(&format!("{id}: 3 messages gave way to a summary; ~")), "{out}");

    let shown = dsh_wasm(rig.root(), &["show", &id]).await.out;
    let card = "──────── summary; for the model it stands for 3 older messages\n        About\n        fruit <U+202E>\n────────\n";
    assert!(shown.contains(card), "{shown}");
    assert!(shown.contains("PLUM") && !shown.contains("compacted-summary"), "{shown}");
    let request = dsh_wasm(rig.root(), &["show", "--request", &id]).await.out;
    assert!(request.contains("About") && !request.contains("PLUM"), "{request}");
    let log = dsh_wasm(rig.root(), &["show", "--log", &id]).await.out;
    assert!(log.contains("the plum"), "the focus is logged: {log}");

    let Ran { exit, out, .. } = dsh_wasm(rig.root(), &["compact", &id, "--json"]).await;
    assert_eq!(exit, Ok(Exit::Done));
    let row: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&row["session"], &row["messages"]), (&json!(id), &json!(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_gives_no_summary_leaves_the_session_alone() {
    let rig = Rig::empty().await;
    let id = rig.session(&["PLUM", "QUINCE"]).await;
    let before = rig.on_disk(&id);
    let failing = script(&rig, &[json!({ "error": { "code": "AUTH", "message": "no key" } })]);
    let args = ["compact", &id.to_string(), "--model", &failing];
    let Ran { exit, out, .. } = dsh_wasm(rig.root(), &args).await;
    let why = "the session is as it was, and its log says why: the model gave no summary: no key";
    assert_eq!((exit, &*out), (Err(why.to_owned()), ""));
    assert_eq!(rig.on_disk(&id), before);
    let shown = dsh_wasm(rig.root(), &["show", &id.to_string()]).await.out;
    assert!(shown.contains("a summary was asked for and failed: no key"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mention_of_a_compacted_session_gives_its_summary() {
    let rig = Rig::empty().await;
    let source = twice(&rig).await;
    let model = model(&[json!({ "text": "ok" })]);
    let agent = rig.harness.create(None, model.clone()).await.unwrap();
    assert_eq!(turn(&agent, &mention(&source)).await, TurnEnd::Completed);
    let said = said(&model.requests()[0]);
    let (_, snapshot) = said.iter().find(|(kind, _)| kind == "session-reference").unwrap();
    for (text, there) in [
        ("SECOND SUMMARY", true),
        ("SLOE", true),
        ("FIRST SUMMARY", false),
        ("PLUM", false),
        ("MEDLAR", false),
    ] {
        assert_eq!(snapshot.contains(text), there, "{text}: {snapshot}");
    }
    let messages = agent.live().messages();
    let source = &messages.iter().find(|m| &*m.source().kind == "session-reference").unwrap();
    assert!(source.source().facts.as_str().contains(r#""compacted":true"#));
}

/// A fork inherits the log: at its end the compacted view, before a compaction what was there then.
#[tokio::test(flavor = "multi_thread")]
async fn a_fork_sees_what_its_parent_saw_there() {
    let rig = Rig::empty().await;
    let id = twice(&rig).await;
    let store = Store::new(rig.root(), Encoding::Zstd, std::sync::Arc::new(|| 0));
    let mut events = Vec::new();
    store.read(&id, &mut events).unwrap();
    let view = |length: usize| {
        let mut replay = dsh_session::Replay::new(id.clone());
        events[..length].iter().for_each(|event| _ = replay.event(event).unwrap());
        let texts = replay.surface().messages();
        texts.iter().map(dsh_session::Message::text).collect::<Vec<_>>()
    };
    let log = dsh_session::Events::from(events.clone());
    let whole = dsh_session::fork_after_turn(&log, None).unwrap();
    assert_eq!(whole, events.iter().rposition(|event| &*event.kind == "command/done").unwrap() + 1);
    let texts = view(whole);
    assert!(texts[0].contains("SECOND SUMMARY"), "{texts:?}");
    assert_eq!(texts[1..], ["SLOE"]);
    let on_disk = rig.on_disk(&id);
    assert_eq!(texts, on_disk.iter().map(dsh_session::Message::text).collect::<Vec<_>>());
    let first = dsh_session::fork_at(
        &log,
        events.iter().position(|event| &*event.kind == "turn/end").map(|at| at as u64),
    );
    assert_eq!(view(first.unwrap()), ["one", "PLUM"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_tells_that_it_makes_room() {
    let rig = Rig::empty().await;
    let route = dsh_agent::Route {
        context_window: Some(1000),
        ..dsh_agent::Route::new("dsh-wasm", "small")
    };
    let lines =
        [json!({ "text": "x".repeat(4000) }), json!({ "text": "S" }), json!({ "text": "ok" })];
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let script = dsh_model::Script::parse(&lines.join("\n")).unwrap();
    let small = std::sync::Arc::new(dsh_model::Scripted::routed(script, route));
    let agent = rig.harness.create(None, small).await.unwrap();
    assert_eq!(turn(&agent, "long").await, TurnEnd::Completed);
    let mut events = agent.live().subscribe();
    assert_eq!(turn(&agent, "on").await, TurnEnd::Completed);
    let shown: Vec<_> = std::iter::from_fn(|| events.try_next())
        .filter_map(|event| dsh_agent::Shown::of(&event))
        .filter(|shown| {
            matches!(shown, dsh_agent::Shown::Compacting | dsh_agent::Shown::Compacted { .. })
        })
        .collect();
    let dsh_agent::Shown::Compacted { nodes: 1, .. } = shown[1] else { panic!("{shown:?}") };
}
