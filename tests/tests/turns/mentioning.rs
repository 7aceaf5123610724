//! A mention reaches the model with its snapshot, on whichever way the message took.

use dsh_agent::TurnEnd;
use dsh_session::{Message, SessionId};
use dsh_tests::{Rig, ended, mention, model, said, turn};
use serde_json::json;

/// That the last two messages of the request are the prompt as the model reads it and its snapshot of a session in
/// which `word` was said, and that the log on disk gives the very same request.
#[track_caller]
fn check(rig: &Rig, target: &SessionId, request: &dsh_agent::Request, prompt: &str, word: &str) {
    let said = said(request);
    let [.., (user, text), (kind, snapshot)] = said.as_slice() else { panic!("{said:?}") };
    assert_eq!((&**user, &**text), ("user", prompt));
    assert_eq!(kind, "session-reference");
    assert!(snapshot.contains(word), "{snapshot}");
    assert_rebuilt(rig, target, &request.messages);
}

/// The log holds what the model saw, then only what came after.
#[track_caller]
fn assert_rebuilt(rig: &Rig, target: &SessionId, seen: &[Message]) {
    let on_disk = rig.on_disk(target);
    assert_eq!(on_disk.get(..seen.len()), Some(seen));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_brings_its_snapshot_along() {
    let rig = Rig::empty().await;
    let source = rig.session(&["the code word is MARMALADE"]).await;
    let model = model(&[json!({ "text": "noted" })]);
    let agent = rig.harness.create(Some("/w".into()), model.clone()).await.unwrap();
    let prompt = format!("compare with {}, please", mention(&source));
    assert_eq!(turn(&agent, &prompt).await, TurnEnd::Completed);
    let request = model.requests().pop().unwrap();
    let target = agent.live().header().id.clone();
    check(&rig, &target, &request, "compare with @it, please", "MARMALADE");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_seen_stays_whatever_becomes_of_the_source() {
    let rig = Rig::empty().await;
    let source = rig.session(&["MARMALADE"]).await;
    let model = model(&[json!({ "text": "noted" })]);
    let agent = rig.harness.create(None, model.clone()).await.unwrap();
    turn(&agent, &mention(&source)).await;
    let target = agent.live().header().id.clone();
    let seen = model.requests().pop().unwrap().messages;
    let other =
        rig.harness.resume(&source, dsh_tests::model(&[json!({ "text": "more" })])).await.unwrap();
    turn(&other, "changed").await;
    assert_rebuilt(&rig, &target, &seen);
    other.dispose().await.unwrap();
    std::fs::remove_dir_all(rig.root().join("_no-cwd").join(source.to_string())).unwrap();
    assert_rebuilt(&rig, &target, &seen);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queued_message_is_resolved_when_its_turn_comes() {
    let rig = Rig::empty().await;
    let source = rig.session(&["MARMALADE"]).await;
    let model = model(&[json!({ "delayMs": 50, "text": "one" }), json!({ "text": "two" })]);
    let agent = rig.harness.create(None, model.clone()).await.unwrap();
    agent.followup(agent.prompt("first").unwrap()).await.unwrap();
    agent.followup(agent.prompt(&mention(&source)).unwrap()).await.unwrap();
    assert_eq!(ended(&agent).await, TurnEnd::Completed);
    let request = model.requests().pop().unwrap();
    check(&rig, &agent.live().header().id, &request, "@it", "MARMALADE");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_edited_while_it_waits_is_resolved_as_edited() {
    let rig = Rig::empty().await;
    let (old, new) = (rig.session(&["OLD"]).await, rig.session(&["MARMALADE"]).await);
    let model = model(&[json!({ "delayMs": 200, "text": "one" }), json!({ "text": "two" })]);
    let agent = rig.harness.create(None, model.clone()).await.unwrap();
    agent.followup(agent.prompt("first").unwrap()).await.unwrap();
    let waiting = agent.prompt(&mention(&old)).unwrap();
    let id = waiting.id().to_owned();
    agent.followup(waiting).await.unwrap();
    let replaced = agent.replace(&id, agent.prompt(&mention(&new)).unwrap()).await.unwrap();
    assert!(replaced.is_some(), "the first turn was over before the second prompt was edited");
    ended(&agent).await;
    let request = model.requests().pop().unwrap();
    check(&rig, &agent.live().header().id, &request, "@it", "MARMALADE");
    assert!(said(&request).iter().all(|(_, text)| !text.contains("OLD")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_steered_message_joins_the_running_turn_with_its_snapshot() {
    let rig = Rig::empty().await;
    let source = rig.session(&["MARMALADE"]).await;
    let model = model(&[json!({ "delayMs": 200, "text": "one" }), json!({ "text": "two" })]);
    let agent = rig.harness.create(None, model.clone()).await.unwrap();
    agent.followup(agent.prompt("first").unwrap()).await.unwrap();
    agent.steer(agent.prompt(&mention(&source)).unwrap()).await.unwrap();
    assert_eq!(ended(&agent).await, TurnEnd::Completed);
    assert_eq!(agent.last_turn().unwrap().turn, 1);
    let request = model.requests().pop().unwrap();
    check(&rig, &agent.live().header().id, &request, "@it", "MARMALADE");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_session_is_seen_with_its_open_turn() {
    let rig = Rig::empty().await;
    let hanging = model(&[json!({ "text": "half", "hang": true })]);
    let source = rig.harness.create(None, hanging).await.unwrap();
    let mut events = source.live().subscribe();
    source.followup(source.prompt("MARMALADE").unwrap()).await.unwrap();
    while events.next().await.is_some_and(|event| &*event.kind != "assistant/chunk") {}
    let model = model(&[json!({ "text": "noted" })]);
    let agent = rig.harness.create(None, model.clone()).await.unwrap();
    turn(&agent, &mention(&source.live().header().id)).await;
    let request = model.requests().pop().unwrap();
    check(&rig, &agent.live().header().id, &request, "@it", "MARMALADE");
    source.dispose().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_with_any_id_can_be_mentioned() {
    let rig = Rig::empty().await;
    let id = SessionId::from_units(&[0xd83d, 0x2f, 0x2e, 0x2e, 0x22, 0x65e5]);
    let header = dsh_session::Header::new(id.clone(), 1, None);
    let live = rig.harness.sessions().create(header, None).await.unwrap();
    let block = json!({ "type": "text", "text": "MARMALADE" });
    let block = dsh_session::Json::of(&block).unwrap();
    let user = dsh_session::Json::parse(r#"{"kind":"user"}"#).unwrap();
    let message = Message::user("m1", &user, &[block]).unwrap();
    let draft = dsh_session::Draft::node("user/message", message.json().clone(), None);
    live.append(draft).unwrap();
    live.commit().await.unwrap();
    drop(live);
    let model = model(&[json!({ "text": "noted" })]);
    let agent = rig.harness.create(None, model.clone()).await.unwrap();
    turn(&agent, &mention(&id)).await;
    let request = model.requests().pop().unwrap();
    check(&rig, &agent.live().header().id, &request, "@it", r#"\ud83d/..\"日"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_is_not_handed_on() {
    let rig = Rig::empty().await;
    let first = rig.session(&["MARMALADE"]).await;
    let second = rig.session(&[&mention(&first)]).await;
    let model = model(&[json!({ "text": "noted" })]);
    let agent = rig.harness.create(None, model.clone()).await.unwrap();
    turn(&agent, &mention(&second)).await;
    let request = model.requests().pop().unwrap();
    assert!(said(&request).iter().all(|(_, text)| !text.contains("MARMALADE")), "{request:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_title_holds_no_word_of_a_snapshot() {
    let rig = Rig::empty().await;
    let source = rig.session(&["MARMALADE"]).await;
    let target = rig.session(&[&format!("look at {}", mention(&source))]).await;
    let titles = rig.harness.sessions().titles(&[target]).await;
    assert_eq!(titles[0].as_ref().unwrap().as_ref().unwrap().title, "look at @it");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_source_is_neither_resumed_nor_changed() {
    let rig = Rig::empty().await;
    let source = rig.session(&["MARMALADE"]).await;
    let log = rig.root().join("_no-cwd").join(source.to_string()).join("session.jsonl.zstd");
    let before = std::fs::read(&log).unwrap();
    rig.session(&[&mention(&source)]).await;
    assert_eq!(std::fs::read(&log).unwrap(), before);
}
