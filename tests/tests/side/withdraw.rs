//! `/merge --undo` and `/merge --fork`.

use dsh_agent::TurnEnd;
use dsh_tests::turn;
use dsh_wasm::Ran;
use serde_json::json;

use crate::stage::{Stage, id, lines};

#[tokio::test(flavor = "multi_thread")]
async fn side_note_is_withdrawn_as_long_as_no_model_has_read_it() {
    let replies = ["because", "the note", "go on", "note 2"].map(|text| json!({ "text": text }));
    let stage = Stage::set(&replies).await;
    let child = stage.side("why?").await;
    let nothing = stage.told(&child, "/merge --undo").await;
    assert!(nothing.contains("SIDECHAT_NOTHING_MERGED"), "{nothing}");
    stage.told(&child, "/merge").await;
    let place = stage.parent.live().messages().len() - 1;
    assert_eq!(stage.told(&child, "/merge --undo").await, "The note was withdrawn.");
    let line = "sidechat: [A note from a side session stood here and was withdrawn.]";
    assert_eq!(lines(&stage.parent.live().messages())[place], line);
    assert!(stage.told(&child, "/merge --undo").await.contains("SIDECHAT_NOTHING_MERGED"));
    assert!(stage.told(&stage.parent, "/sides").await.starts_with("withdrawn"));
    assert_eq!(turn(&stage.parent, "on").await, TurnEnd::Completed);
    assert_eq!(lines(&stage.request().messages)[place], line);
    assert_eq!(lines(&stage.rig.on_disk(id(&stage.parent)))[place], line);
    // What was handed back can be merged anew, and is not asked for again.
    let left = stage.model.left();
    assert!(stage.told(&child, "/merge").await.contains("was added"));
    assert_eq!(stage.model.left(), left);
}

#[tokio::test(flavor = "multi_thread")]
async fn side_note_that_was_sent_stays_and_a_fork_from_before_it_is_offered() {
    let replies = ["because", "the note", "on it"].map(|text| json!({ "text": text }));
    let stage = Stage::set(&replies).await;
    let before = lines(&stage.parent.live().messages());
    let child = stage.side("why?").await;
    stage.told(&child, "/merge").await;
    assert_eq!(turn(&stage.parent, "on").await, TurnEnd::Completed);
    let late = stage.told(&child, "/merge --undo").await;
    assert!(late.contains("SIDECHAT_NOTE_SENT") && late.contains("--fork"), "{late}");
    let ran = stage.command(&child, "/merge --fork").await.unwrap();
    let Ran::Opened { agent: fork, .. } = ran else { panic!("no session") };
    assert_eq!(lines(&fork.live().messages()), before);
    assert_eq!(fork.live().header().parent.as_ref(), Some(id(&stage.parent)));
    // The fork shows no side sessions of another, and the child goes on with its own parent.
    assert!(stage.told(&fork, "/sides").await.contains("no side session"));
    assert!(stage.told(&child, "/merge").await.contains("merged already"));
}
