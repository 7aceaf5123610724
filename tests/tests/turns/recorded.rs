//! Turns on sessions that the real client recorded.

use dsh_agent::TurnEnd;
use dsh_session::{Encoding, SessionId};
use dsh_tests::{Rig, mention, model, said, turn};
use serde_json::json;

/// That a turn on `target` which mentions `source` sends what was there before, the prompt, and a snapshot that
/// holds `word`; and that the log gives the same request again.
async fn check(encoding: Encoding, target: &str, source: &str, word: &str) {
    let Some(rig) = Rig::recorded(encoding).await else { return };
    let (target, source) = (SessionId::new(target), SessionId::new(source));
    let before = rig.on_disk(&target);
    let model = model(&[json!({ "text": "seen" })]);
    let agent = rig.harness.resume(&target, model.clone()).await.unwrap();
    let end = turn(&agent, &format!("compare with {}", mention(&source))).await;
    assert_eq!(end, TurnEnd::Completed);
    let request = model.requests().pop().unwrap();
    assert_eq!(request.messages[..before.len()], before);
    let said = said(&request);
    let [(_, prompt), (kind, snapshot)] = &said[before.len()..] else { panic!("{said:?}") };
    assert_eq!((&**prompt, &**kind), ("compare with @it", "session-reference"));
    assert!(snapshot.contains(word), "{snapshot}");
    assert_eq!(rig.on_disk(&target)[..request.messages.len()], request.messages);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_session() {
    check(Encoding::Raw, "plain-turns", "tools-basic", "List things.").await;
    check(Encoding::Zstd, "plain-turns", "tools-basic", "List things.").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_after_a_compaction() {
    check(Encoding::Raw, "compact-twice", "plain-turns", "Rivers find the low ground.").await;
    check(Encoding::Zstd, "plain-turns", "compact-twice", r"\u003ccompacted-summary>").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork() {
    check(Encoding::Raw, "no-cwd-fork", "plain-turns", "Rivers find the low ground.").await;
}
