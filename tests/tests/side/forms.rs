//! Both forms in which a context message can be logged.

use dsh_agent::TurnEnd;
use dsh_tests::turn;
use serde_json::json;

use crate::stage::{Stage, id, lines};

/// A side question and its merge, logged so: what the log calls the plugin's messages, and what both models saw.
async fn told(event: &str) -> (Vec<String>, Vec<String>, Vec<String>) {
    let replies = ["because", "the note", "on it"].map(|text| json!({ "text": text }));
    let stage = Stage::with(&json!({ "contextEvent": event }), &replies).await;
    let child = stage.side("why?").await;
    assert!(stage.told(&child, "/merge").await.contains("was added"));
    assert!(stage.told(&child, "/merge").await.contains("merged already"));
    assert_eq!(turn(&stage.parent, "on").await, TurnEnd::Completed);
    let logs = [stage.log(id(&stage.parent)), stage.log(id(&child))].concat();
    let own = logs.iter().filter(|event| event.kind.ends_with("/message"));
    let own = own.filter(|event| event.data.as_str().contains(r#""plugin":"sidechat""#));
    let kinds = own.map(|event| event.kind.to_string()).collect();
    let folded = |agent| lines(&stage.rig.on_disk(id(agent)));
    assert_eq!(folded(&child), lines(&child.live().messages()));
    let hide = |text: String| text.replace(&id(&child).to_string(), "CHILD");
    let seen = folded(&stage.parent).into_iter().map(hide).collect();
    (kinds, seen, folded(&child))
}

#[tokio::test(flavor = "multi_thread")]
async fn side_sessions_fold_the_same_in_both_forms() {
    let (new, parent, child) = told("user/message").await;
    assert_eq!(new, ["user/message"; 3]);
    let (old, older_parent, older_child) = told("context/message").await;
    assert_eq!(old, ["context/message"; 3]);
    assert_eq!((parent, child), (older_parent, older_child));
}
