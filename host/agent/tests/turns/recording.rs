//! Messages that a plugin records once, whatever the agent does, and what becomes of one that is withdrawn.

use std::sync::Arc;

use async_trait::async_trait;
use dsh_agent::{
    AgentError, Cause, Composition, Decision, Failure, Finish, PreStep, Route, StepInfo,
    WithdrawError,
};
use dsh_session::Message;

use crate::fed::{Fed, answering};
use crate::rig::{Rig, scripted, text_message};

/// A message of the plugin `p` under a key.
fn keyed(id: &str, key: &str, text: &str) -> Message {
    text_message(id, &format!(r#"{{"kind":"plugin","plugin":"p","key":"{key}"}}"#), text)
}

/// The texts that the model would be asked with next, from the log on disk.
async fn texts(rig: &Rig) -> Vec<String> {
    rig.story().await;
    rig.agent.live().messages().iter().map(Message::text).collect()
}

#[tokio::test]
async fn a_side_note_is_logged_at_once_where_nothing_runs_and_wakes_nobody() {
    let rig = Rig::start(scripted("")).await;
    let delivery = rig.agent.record(keyed("n", "k", "note")).await.unwrap();
    assert_eq!((delivery.seq, delivery.existed), (Some(0), false));
    rig.idle().await;
    assert_eq!(rig.story().await, ["plugin: note"]);
    assert!(rig.requests().is_empty());
}

#[tokio::test]
async fn a_side_note_is_there_once_for_each_key() {
    let rig = Rig::start(scripted("")).await;
    let (one, other) = tokio::join!(
        rig.agent.record(keyed("a", "k", "note")),
        rig.agent.record(keyed("b", "k", "again"))
    );
    let (one, other) = (one.unwrap(), other.unwrap());
    assert_eq!((one.existed, other.existed, &*other.message), (false, true, "a"));
    assert!(!rig.agent.record(keyed("c", "other", "more")).await.unwrap().existed);
    let rig = rig.resume(scripted("")).await;
    assert!(rig.agent.record(keyed("d", "k", "later")).await.unwrap().existed);
    assert_eq!(texts(&rig).await, ["note", "more"]);
}

#[tokio::test]
async fn a_side_note_without_a_key_is_refused() {
    let rig = Rig::start(scripted("")).await;
    let plain = text_message("n", r#"{"kind":"plugin","plugin":"p"}"#, "note");
    let refused = rig.agent.record(plain).await;
    assert!(matches!(refused, Err(AgentError::Keyless(id)) if id == "n"));
}

#[tokio::test]
async fn a_side_note_enters_with_the_next_step_in_the_order_of_what_waits() {
    let (rig, feed) = answering().await;
    rig.agent.steer(rig.prompt("steer 1")).await.unwrap();
    let delivery = rig.agent.record(keyed("n", "k", "note")).await.unwrap();
    assert_eq!(delivery.seq, None);
    assert!(rig.agent.record(keyed("m", "k", "twice")).await.unwrap().existed);
    rig.agent.steer(rig.prompt("steer 2")).await.unwrap();
    feed.finish(Finish::Stop);
    feed.say("turning");
    rig.idle().await;
    assert_eq!(texts(&rig).await, ["first", "so", "steer 1", "note", "steer 2", "turning"]);
    assert_eq!(rig.requests().len(), 2);
}

#[tokio::test]
async fn a_side_note_alone_costs_no_model_call_and_follows_the_turn() {
    let (rig, feed) = answering().await;
    rig.agent.record(keyed("n", "k", "note")).await.unwrap();
    feed.finish(Finish::Stop);
    rig.idle().await;
    let story = rig.story().await;
    let end = story.iter().position(|line| line == "end completed").unwrap();
    assert_eq!(story[end + 1..], ["next-step@0 -1 +[]", "plugin: note"]);
    assert_eq!(rig.requests().len(), 1);
}

#[tokio::test]
async fn a_side_note_survives_a_cancelled_turn_and_a_closed_agent() {
    for dispose in [false, true] {
        let (rig, _feed) = answering().await;
        rig.agent.steer(rig.prompt("gone")).await.unwrap();
        rig.agent.record(keyed("n", "k", "note")).await.unwrap();
        match dispose {
            true => rig.agent.dispose().await.unwrap(),
            false => rig.agent.cancel(Cause::User, false).await.unwrap(),
        }
        rig.idle().await;
        assert_eq!(texts(&rig).await, ["first", "so", "note"]);
    }
}

#[tokio::test]
async fn a_side_note_right_after_a_cancel_is_there_every_time() {
    let (model, feed) = Fed::new(Route::new("p", "m"));
    let mut rig = Rig::start(Composition::new(model)).await;
    for round in 0..50 {
        rig.agent.followup(rig.prompt("go")).await.unwrap();
        feed.text("so");
        rig.until("assistant/chunk").await;
        rig.agent.cancel(Cause::User, false).await.unwrap();
        // Before the turn has ended, while it ends, or after it.
        for _ in 0..round % 5 {
            tokio::task::yield_now().await;
        }
        let key = format!("k{round}");
        rig.agent.record(keyed(&format!("n{round}"), &key, &key)).await.unwrap();
        rig.idle().await;
        let notes = rig.agent.live().own_notes("p");
        assert_eq!(notes.len(), round + 1);
        assert!(notes.iter().all(|note| note.seq.is_some()), "one waits for nobody");
    }
    rig.story().await;
}

struct Rejects;

#[async_trait]
impl PreStep for Rejects {
    async fn pre_step(&self, _: StepInfo, _: Vec<Message>) -> Result<Decision, Failure> {
        Ok(Decision::Reject { reason: Some("no".into()), details: None, by: Some("p".into()) })
    }
}

#[tokio::test]
async fn a_side_note_survives_a_rejected_step() {
    let (rig, feed) = answering().await;
    rig.compose(Composition { pre_step: Arc::new(Rejects), ..rig.composition() });
    rig.agent.followup(rig.prompt("second")).await.unwrap();
    rig.agent.record(keyed("n", "k", "note")).await.unwrap();
    feed.finish(Finish::Stop);
    rig.idle().await;
    assert_eq!(texts(&rig).await, ["first", "so", "note"]);
}

#[tokio::test]
async fn a_side_note_that_was_claimed_when_the_process_died_is_logged_once_under_its_id() {
    let rig = Rig::start(scripted("")).await;
    let note = keyed("n", "k", "note");
    let waits =
        format!(r#"{{"target":"next-step","start":0,"inserted":[{}]}}"#, note.json().as_str());
    let claimed = r#"{"target":"next-step","start":0,"removedCount":1,"inserted":[]}"#;
    for data in [waits.as_str(), claimed] {
        let data = dsh_session::Json::parse(data).unwrap();
        let draft = dsh_session::Draft::new("agent/inbox/spliced", data);
        rig.agent.live().append(draft).unwrap();
    }
    let rig = rig.resume(scripted("")).await;
    assert!(rig.agent.record(keyed("m", "k", "again")).await.unwrap().existed);
    let rig = rig.resume(scripted("")).await;
    rig.idle().await;
    assert_eq!(rig.agent.live().messages(), [note]);
}

#[tokio::test]
async fn a_side_note_that_waited_when_the_process_died_is_logged_after_the_turn() {
    let (rig, feed) = answering().await;
    rig.agent.record(keyed("n", "k", "note")).await.unwrap();
    // As a process that is gone would leave it.
    let copy = tempfile::tempdir().unwrap();
    rig.agent.live().commit().await.unwrap();
    let to = copy.path().join("log");
    std::fs::copy(rig.path(), &to).unwrap();
    feed.finish(Finish::Stop);
    rig.idle().await;
    let path = rig.path();
    std::fs::copy(&to, &path).unwrap();
    let rig = rig.resume(scripted("")).await;
    rig.agent.record(keyed("m", "k", "again")).await.unwrap();
    let story = rig.story().await;
    let last = story.iter().position(|line| line == "end interrupted").unwrap();
    assert_eq!(story[last + 2..], ["next-step@0 -1 +[]", "plugin: note"]);
}

fn instead() -> Message {
    text_message("w", r#"{"kind":"plugin","plugin":"p","form":"withdrawal"}"#, "withdrawn")
}

#[tokio::test]
async fn a_side_note_can_be_withdrawn_until_a_model_has_read_it() {
    let rig = Rig::start(scripted("{\"text\":\"ok\"}\n{\"text\":\"ok\"}")).await;
    rig.agent.record(keyed("n", "k", "note")).await.unwrap();
    rig.agent.withdraw("n", instead()).await.unwrap();
    let again = rig.agent.withdraw("n", instead()).await;
    assert!(matches!(again, Err(WithdrawError::Withdrawn)), "{again:?}");
    let unknown = rig.agent.withdraw("x", instead()).await;
    assert!(matches!(unknown, Err(WithdrawError::NotFound(_))), "{unknown:?}");
    rig.ask("hello").await;
    assert_eq!(texts(&rig).await, ["withdrawn", "hello", "ok"]);
    rig.agent.record(keyed("n2", "k2", "note 2")).await.unwrap();
    rig.ask("again").await;
    let rig = rig.resume(scripted("")).await;
    let late = rig.agent.withdraw("n2", instead()).await;
    assert!(matches!(late, Err(WithdrawError::Sent)), "{late:?}");
}

#[tokio::test]
async fn a_side_note_that_waits_can_be_withdrawn() {
    let (rig, feed) = answering().await;
    rig.agent.record(keyed("n", "k", "note")).await.unwrap();
    rig.agent.withdraw("n", instead()).await.unwrap();
    rig.agent.steer(rig.prompt("go on")).await.unwrap();
    feed.finish(Finish::Stop);
    feed.say("ok");
    rig.idle().await;
    assert_eq!(texts(&rig).await, ["first", "so", "withdrawn", "go on", "ok"]);
}

#[tokio::test]
async fn the_older_form_folds_like_the_newer_one() {
    let composition = scripted(r#"{"text":"ok"}"#);
    let older_context = ["p".to_owned()].into();
    let rig = Rig::start(Composition { older_context, ..composition }).await;
    rig.agent.record(keyed("n", "k", "note")).await.unwrap();
    rig.ask("hello").await;
    let log = rig.disk().await;
    assert_eq!(&*log[0].kind, "context/message");
    assert_eq!(texts(&rig).await, ["note", "hello", "ok"]);
    let rig = rig.resume(scripted("")).await;
    assert!(rig.agent.record(keyed("m", "k", "again")).await.unwrap().existed);
}
