//! A session that was closed is free at once.

use dsh_agent::TurnEnd;
use dsh_tests::{Rig, model, turn};
use serde_json::json;

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
