//! `/merge`: one note for what was said, wherever and whenever the session takes it.

use std::sync::Arc;
use std::time::Duration;

use dsh_agent::TurnEnd;
use dsh_tests::{ended, turn};
use dsh_wasm::Ran;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::stage::{Stage, Waits, id, line, lines, recompose};

fn says(text: &str) -> Value {
    json!({ "text": text })
}

#[tokio::test(flavor = "multi_thread")]
async fn side_note_is_added_once_at_once_to_an_idle_parent() {
    let stage = Stage::set(&[says("because"), says("It is the cache."), says("noted")]).await;
    let child = stage.side("why?").await;
    let requests = stage.model.requests().len();
    let place = stage.parent.live().next_seq();
    let told = stage.told(&child, "/merge").await;
    assert!(told.contains(&format!("it is event {place} there")), "{told}");
    assert_eq!(stage.model.requests().len(), requests + 1, "the child alone was asked");
    let [(seq, facts)] = &stage.notes(&stage.parent, "handback")[..] else { panic!("no note") };
    assert_eq!((*seq, &facts["child"]), (Some(place), &json!(id(&child).to_string())));
    assert_eq!((&facts["cut"], &facts["omitted"]), (&json!(false), &json!(0)));
    let said_through = facts["through"].as_u64().unwrap();
    let log = stage.log(id(&child));
    assert_eq!(&*log[usize::try_from(said_through).unwrap()].kind, "assistant/message");
    let note = stage.parent.live().messages().pop().unwrap();
    assert_eq!(facts["bytes"], json!(note.text().len()));
    assert!(note.text().ends_with("It is the cache."), "{}", note.text());
    assert_eq!(turn(&stage.parent, "go on").await, TurnEnd::Completed);
    let request = stage.request();
    assert_eq!(request.messages.iter().filter(|message| message.id() == note.id()).count(), 1);
    assert_eq!(stage.rig.on_disk(id(&stage.parent))[..request.messages.len()], request.messages);
}

#[tokio::test(flavor = "multi_thread")]
async fn side_note_is_added_again_only_when_something_was_said_since() {
    let replies = [says("because"), says("note 1"), says("also"), says("note 2")];
    let stage = Stage::set(&replies).await;
    let child = stage.side("why?").await;
    stage.told(&child, "/merge").await;
    let again = stage.told(&child, "/merge").await;
    assert!(again.contains("merged already"), "{again}");
    assert_eq!(turn(&child, "and?").await, TurnEnd::Completed);
    stage.told(&child, "/merge").await;
    assert_eq!(stage.notes(&stage.parent, "handback").len(), 2);
    assert_eq!(stage.model.left(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn side_note_of_two_merges_at_once_is_one() {
    let stage = Stage::set(&[says("because"), says("the note"), says("another")]).await;
    let child = stage.side("why?").await;
    let (one, other) = tokio::join!(stage.told(&child, "/merge"), stage.told(&child, "/merge"));
    let said = [one, other];
    assert_eq!(said.iter().filter(|said| said.contains("merged already")).count(), 1, "{said:?}");
    assert_eq!(stage.notes(&stage.parent, "handback").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn side_note_enters_a_running_parent_after_complete_results() {
    let replies = [
        says("because"),
        json!({ "calls": [{ "name": "wait" }, { "name": "wait" }] }),
        says("It is the cache."),
        says("waited"),
    ];
    let stage = Stage::set(&replies).await;
    let child = stage.side("why?").await;
    let lets = Arc::new(Semaphore::new(0));
    recompose(&stage.parent, |parts| parts.tools = vec![Waits::tool("wait", false, &lets)]);
    let mut events = stage.parent.live().subscribe();
    stage.parent.followup(stage.parent.prompt("wait").unwrap()).await.unwrap();
    while events.next().await.is_some_and(|event| &*event.kind != "tool/call") {}
    let told = stage.told(&child, "/merge").await;
    assert!(told.contains("with the next step"), "{told}");
    stage.parent.steer(stage.parent.prompt("and then?").unwrap()).await.unwrap();
    lets.add_permits(2);
    assert_eq!(ended(&stage.parent).await, TurnEnd::Completed);
    let said = lines(&stage.request().messages);
    let last: Vec<&str> =
        said[said.len() - 4..].iter().map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(last, ["tool", "tool", "sidechat", "user"], "{said:?}");
    assert!(stage.told(&child, "/merge").await.contains("merged already"));
}

#[tokio::test(flavor = "multi_thread")]
async fn side_note_resumes_a_parent_that_is_not_live_and_closes_it_again() {
    let stage = Stage::set(&[says("because"), says("It is the cache.")]).await;
    let child = stage.side("why?").await;
    let Stage { rig, parent, model: _model } = stage;
    let parent_id = id(&parent).clone();
    parent.dispose().await.unwrap();
    drop(parent);
    let ran = rig.harness.command(id(&child), "/merge", None).await.unwrap();
    assert!(matches!(ran, Ran::Text(text) if text.contains("was added")));
    assert!(
        rig.harness.agent(&parent_id).is_none()
            && rig.harness.sessions().live(&parent_id).is_none()
    );
    let said = rig.on_disk(&parent_id);
    assert!(line(said.last().unwrap()).ends_with("It is the cache."));
}

#[tokio::test(flavor = "multi_thread")]
async fn side_note_for_a_parent_that_is_held_is_kept_for_the_next_try() {
    let stage = Stage::set(&[says("because"), says("It is the cache.")]).await;
    let child = stage.side("why?").await;
    let Stage { rig, parent, model } = stage;
    let parent_id = id(&parent).clone();
    parent.dispose().await.unwrap();
    drop(parent);
    let store = dsh_session::Store::new(rig.root(), dsh_session::Encoding::Zstd, Arc::new(|| 0));
    let holder = store.open(&parent_id, &mut ()).unwrap();
    let refused = rig.harness.command(id(&child), "/merge", None).await;
    let said = refused.err().map(|error| error.to_string()).unwrap();
    assert!(said.contains(&format!("process {}", std::process::id())), "{said}");
    assert!(said.contains("[held]") && said.contains("nothing was added"), "{said}");
    drop(holder);
    assert_eq!(model.left(), 0, "it is not asked again");
    let ran = rig.harness.command(id(&child), "/merge", None).await.unwrap();
    assert!(matches!(ran, Ran::Text(text) if text.contains("was added")));
    assert!(line(rig.on_disk(&parent_id).last().unwrap()).ends_with("It is the cache."));
}

#[tokio::test(flavor = "multi_thread")]
async fn side_note_that_comes_to_nothing_says_so_and_adds_nothing() {
    let replies = [
        says("because"),
        says("  "),
        json!({ "text": "half", "error": { "code": "BAD", "message": "unwell" } }),
        says("It is the cache."),
    ];
    let stage = Stage::set(&replies).await;
    let before = stage.parent.live().next_seq();
    let (child, _) = stage.side_on(&stage.parent, "").await;
    let silent = stage.told(&child, "/merge").await;
    assert!(silent.contains("SIDECHAT_NOTHING_SAID"), "{silent}");
    assert_eq!(turn(&child, "why?").await, TurnEnd::Completed);
    let empty = stage.told(&child, "/merge").await;
    assert!(empty.contains("SIDECHAT_EMPTY_NOTE") || empty.contains("EMPTY_RESPONSE"), "{empty}");
    let failed = stage.told(&child, "/merge").await;
    assert!(failed.contains("[turn-failed]") && failed.contains("nothing was added"), "{failed}");
    assert_eq!(stage.parent.live().next_seq(), before);
    let elsewhere = stage.told(&stage.parent, "/merge").await;
    assert!(elsewhere.contains("SIDECHAT_NOT_A_SIDE_SESSION"), "{elsewhere}");
    assert!(stage.told(&child, "/merge").await.contains("was added"));
}

#[tokio::test(flavor = "multi_thread")]
async fn side_note_for_a_deleted_parent_says_that_it_is_gone() {
    let stage = Stage::set(&[says("because"), says("It is the cache.")]).await;
    let child = stage.side("why?").await;
    let folder = stage.rig.root().join("--w--").join(id(&stage.parent).to_string());
    let Stage { rig, parent, .. } = stage;
    parent.dispose().await.unwrap();
    drop(parent);
    std::fs::remove_dir_all(folder).unwrap();
    let refused = rig.harness.command(id(&child), "/merge", None).await;
    let said = refused.err().map(|error| error.to_string()).unwrap();
    assert!(said.contains("SIDECHAT_PARENT_GONE"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn side_note_is_cut_to_its_cap_with_the_bytes_counted() {
    let long = "日本語".repeat(400);
    let stage =
        Stage::with(&json!({ "handbackBytes": 512 }), &[says("because"), says(&long)]).await;
    let child = stage.side("why?").await;
    stage.told(&child, "/merge").await;
    let note = stage.parent.live().messages().pop().unwrap().text();
    let [(_, facts)] = &stage.notes(&stage.parent, "handback")[..] else { panic!("no note") };
    let omitted = facts["omitted"].as_u64().unwrap();
    assert!(note.len() <= 512 && note.contains(&format!("{omitted} more bytes")), "{note}");
    let kept = note.chars().filter(|c| "日本語".contains(*c)).count() * 3;
    assert_eq!(kept as u64 + omitted, long.len() as u64);
    assert_eq!(facts["cut"], json!(true));
}

#[tokio::test(start_paused = true)]
async fn side_note_waits_for_a_model_that_takes_a_minute() {
    let slow = json!({ "delayMs": 60_000, "text": "It is the cache." });
    let stage = Stage::set(&[says("because"), slow]).await;
    let child = stage.side("why?").await;
    let began = tokio::time::Instant::now();
    let told = stage.told(&child, "/merge").await;
    assert!(told.contains("was added"), "{told}");
    assert!(began.elapsed() >= Duration::from_secs(60));
}

#[tokio::test(flavor = "multi_thread")]
async fn side_note_that_is_given_up_cancels_what_it_asked_for() {
    let replies = [says("because"), json!({ "text": "hal", "hang": true }), says("the note")];
    let stage = Stage::set(&replies).await;
    let child = stage.side("why?").await;
    let mut events = child.live().subscribe();
    {
        let merging = stage.told(&child, "/merge");
        tokio::pin!(merging);
        loop {
            tokio::select! {
                told = &mut merging => panic!("{told}"),
                Some(event) = events.next() => {
                    if event.data.as_str().contains("\"hal") { break }
                }
            }
        }
    }
    let end = ended(&child).await;
    assert!(matches!(end, TurnEnd::Aborted { .. }), "{end:?}");
    assert!(stage.notes(&stage.parent, "handback").is_empty());
    assert!(stage.told(&child, "/merge").await.contains("was added"));
    assert_eq!(stage.notes(&stage.parent, "handback").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn side_note_can_be_edited_before_it_is_added_and_is_capped_like_any_other() {
    let stage =
        Stage::with(&json!({ "handbackBytes": 512 }), &[says("because"), says("A draft.")]).await;
    let child = stage.side("why?").await;
    let ran = stage.command(&child, "/merge --preview").await.unwrap();
    let Ran::Draft(draft) = ran else { panic!("no draft") };
    assert_eq!(draft.text, "A draft.");
    assert!(stage.notes(&stage.parent, "handback").is_empty());
    let accept = format!("/{} {}", draft.name, draft.arguments);
    let through: u64 = draft.arguments.strip_prefix("--through=").unwrap().parse().unwrap();
    for other in [0, through - 1, through + 1, u64::MAX] {
        let line = format!("/merge --through={other}");
        let refused = stage.rig.harness.command(id(&child), &line, Some("edited".into())).await;
        let said = refused.err().map(|error| error.to_string()).unwrap();
        assert!(said.contains("SIDECHAT_NO_DRAFT") && said.contains(&other.to_string()), "{said}");
    }
    assert!(stage.notes(&stage.parent, "handback").is_empty());
    let edited = "edited ".repeat(200);
    stage.rig.harness.command(id(&child), &accept, Some(edited)).await.unwrap();
    let note = stage.parent.live().messages().pop().unwrap().text();
    assert!(note.contains("edited edited") && note.len() <= 512, "{note}");
    assert_eq!(stage.count().await, 2);
}
