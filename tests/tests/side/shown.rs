//! Where a person meets it: the command line, the list, and the transcript.

use dsh_agent::TurnEnd;
use dsh_session::Fold as _;
use dsh_tests::{Ran, Rig, turn};
use dsh_wasm::{Conversation, Exit};
use serde_json::{Value, json};

use crate::stage::{Stage, id};

/// Runs the command line on a rig's root, with a script as the model.
async fn dsh_wasm(rig: &Rig, replies: &[Value], args: &[&str]) -> Ran {
    let script = rig.beside().join("replies.jsonl");
    let lines: Vec<String> = replies.iter().map(ToString::to_string).collect();
    std::fs::write(&script, lines.join("\n")).unwrap();
    let model = format!("script:{}", script.display());
    let words = [&[args[0], "--model", &model], &args[1..]].concat();
    dsh_tests::dsh_wasm(rig.root(), &words).await
}

#[tokio::test(flavor = "multi_thread")]
async fn side_question_and_merge_from_the_command_line() {
    let rig = Rig::empty().await;
    let parent = rig.session(&["the task"]).await.to_string();
    let files = || {
        let folder = rig.root().join("_no-cwd").join(&parent);
        let log = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        std::fs::read(
            log.into_iter().find(|path| path.to_string_lossy().contains("session.jsonl")).unwrap(),
        )
        .unwrap()
    };
    let before = files();
    let because = [json!({ "text": "because" })];
    let ran = dsh_wasm(&rig, &because, &["side", &parent, "why?"]).await;
    assert_eq!((ran.exit, &*ran.out), (Ok(Exit::Done), "because\n"), "{}", ran.err);
    assert_eq!(files(), before, "the source was written to");
    let child = ran.err.split_whitespace().skip_while(|word| *word != "session").nth(1).unwrap();
    assert_ne!(child, parent);
    // Both have one title.
    let listed = dsh_tests::dsh_wasm(rig.root(), &["sessions"]).await.out;
    assert_eq!(listed.matches(&format!("  goes out from {parent}\n")).count(), 1, "{listed}");
    let sides = dsh_wasm(&rig, &[], &["sides", &parent]).await.out;
    assert!(sides.starts_with(&format!("open       {child}")), "{sides}");

    let draft =
        dsh_wasm(&rig, &[json!({ "text": "A draft." })], &["merge", child, "--preview"]).await;
    assert_eq!((draft.exit, &*draft.out), (Ok(Exit::Done), "A draft.\n"), "{}", draft.err);
    assert!(draft.err.contains("/merge --through="), "{}", draft.err);
    assert!(!draft.err.contains("A draft."), "it is shown twice: {}", draft.err);
    // What was handed back is used again, so no model is asked.
    let mut merged = dsh_wasm(&rig, &[], &["merge", child]).await;
    // Here every command runs in one process, in which an agent may let go of its session a moment after its command.
    for _ in 0..100 {
        match &merged.exit {
            Err(why) if why.contains("is being written by") => {}
            _ => break,
        }
        tokio::task::yield_now().await;
        merged = dsh_wasm(&rig, &[], &["merge", child]).await;
    }
    assert!(merged.out.starts_with("A note of "), "{}{:?}", merged.out, merged.exit);
    let again = dsh_wasm(&rig, &[], &["merge", child]).await.out;
    assert!(again.contains("merged already"), "{again}");
    assert!(dsh_wasm(&rig, &[], &["sides", &parent]).await.out.starts_with("merged"));
    let undone = dsh_wasm(&rig, &[], &["merge", child, "--undo"]).await.out;
    assert_eq!(undone, "The note was withdrawn.\n");
    let asked = dsh_wasm(&rig, &[], &["command", child, "/promote"]).await;
    assert!(asked.exit == Ok(Exit::Failed) && asked.err.contains("--yes"), "{}", asked.err);
    let told = dsh_wasm(&rig, &[], &["command", "--yes", child, "/promote"]).await.out;
    assert!(told.contains("can change things from here on"), "{told}");
    let unknown = dsh_wasm(&rig, &[], &["command", child, "/dance"]).await.exit.unwrap_err();
    assert!(unknown.contains("/dance") && unknown.contains("/side"), "{unknown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn side_note_renders_as_a_card_the_same_live_and_replayed() {
    let replies = ["because", "It is\nthe cache.", "noted", "also", "note 2"];
    let stage = Stage::set(&replies.map(|text| json!({ "text": text }))).await;
    let sessions = stage.rig.harness.sessions();
    let (_, mut live) = sessions.history(id(&stage.parent), Conversation::default()).await.unwrap();
    let mut events = stage.parent.live().subscribe();
    let child = stage.side("why?").await;
    stage.told(&child, "/merge").await;
    assert_eq!(turn(&stage.parent, "go on").await, TurnEnd::Completed);
    assert_eq!(turn(&child, "and?").await, TurnEnd::Completed);
    stage.told(&child, "/merge").await;
    stage.told(&child, "/merge --undo").await;
    while let Some(event) = events.try_next() {
        live.event(&event);
    }
    let (_, replayed) = sessions.history(id(&stage.parent), Conversation::default()).await.unwrap();
    let text = |conversation: &Conversation| {
        let mut out = Vec::new();
        conversation.write(&mut out, false).unwrap();
        String::from_utf8(out).unwrap().replace(&id(&child).to_string(), "CHILD")
    };
    assert_eq!(text(&live), text(&replayed));
    let notes = stage.notes(&stage.parent, "handback");
    let [first, second] = [0, 1].map(|at| notes[at].1.clone());
    let expected = format!(
        "
you     the task

model   ok

      ┌ note of side session CHILD, up to its event {}: {} bytes, whole
      │ It is
      │ the cache.

you     go on

model   noted

      ┌ note of side session CHILD, up to its event {}: {} bytes, whole (withdrawn)
      │ note 2
",
        first["through"], first["bytes"], second["through"], second["bytes"]
    );
    assert_eq!(text(&live), expected);
}
