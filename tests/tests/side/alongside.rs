//! Parent and child at the same time.

use dsh_agent::{Agent, Cause, TurnEnd};
use dsh_session::Event;
use dsh_tests::{ended, model, turn};
use serde_json::json;

use crate::stage::{Stage, id, lines, recompose};

/// Gives an agent a model of its own that says `word` slowly, again and again.
fn says_slowly(agent: &Agent, word: &str) {
    let reply = json!({ "paceMs": 1, "text": format!("{word} ").repeat(20) });
    let model = model(&[reply]);
    recompose(agent, |parts| parts.model = model);
}

fn chunks(events: &[Event]) -> String {
    let chunks = events.iter().filter(|event| &*event.kind == "assistant/chunk");
    chunks.map(|event| event.data.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn side_session_and_parent_stream_at_the_same_time_without_cross_talk() {
    let stage = Stage::set(&[]).await;
    let (child, _) = stage.side_on(&stage.parent, "").await;
    says_slowly(&stage.parent, "parent");
    says_slowly(&child, "child");
    let (from, own) = (stage.parent.live().next_seq(), child.live().next_seq());
    let (mine, theirs) = tokio::join!(turn(&stage.parent, "p?"), turn(&child, "c?"));
    assert_eq!((mine, theirs), (TurnEnd::Completed, TurnEnd::Completed));
    let since = |id, from| stage.log(id).split_off(usize::try_from(from).unwrap());
    let parent = since(id(&stage.parent), from);
    let side = since(id(&child), own);
    assert!(chunks(&parent).contains("parent") && !chunks(&parent).contains("child"));
    assert!(chunks(&side).contains("child") && !chunks(&side).contains("parent"));
    let said = |agent: &Agent| lines(&agent.live().messages()).join("\n");
    assert!(!said(&stage.parent).contains("c?") && !said(&child).contains("p?"));
}

#[tokio::test(flavor = "multi_thread")]
async fn side_session_that_is_cancelled_or_closed_leaves_the_parent_alone() {
    let stage = Stage::set(&[]).await;
    let (child, _) = stage.side_on(&stage.parent, "").await;
    let hangs = || model(&[json!({ "text": "half", "hang": true }), json!({ "text": "ok" })]);
    for agent in [&stage.parent, &child] {
        recompose(agent, |parts| parts.model = hangs());
        let mut events = agent.live().subscribe();
        agent.followup(agent.prompt("go").unwrap()).await.unwrap();
        while events.next().await.is_some_and(|event| &*event.kind != "assistant/chunk") {}
    }
    child.cancel(Cause::User, false).await.unwrap();
    assert!(matches!(ended(&child).await, TurnEnd::Aborted { .. }));
    child.dispose().await.unwrap();
    assert!(stage.parent.live().turn_is_open());
    stage.parent.cancel(Cause::User, false).await.unwrap();
    assert!(matches!(ended(&stage.parent).await, TurnEnd::Aborted { .. }));
    assert_eq!(turn(&stage.parent, "still there?").await, TurnEnd::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn side_session_outlives_its_parent() {
    let stage = Stage::set(&[json!({ "text": "because" })]).await;
    let (child, send) = stage.side_on(&stage.parent, "why?").await;
    stage.parent.dispose().await.unwrap();
    assert_eq!(turn(&child, &send.unwrap()).await, TurnEnd::Completed);
}
