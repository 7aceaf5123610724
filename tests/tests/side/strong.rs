//! The stronger form of framing: in the system prompt too.

use dsh_agent::TurnEnd;
use dsh_tests::turn;
use dsh_wasm::Ran;
use serde_json::json;

use crate::stage::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn side_framing_in_the_system_prompt_changes_it_there_alone_and_says_what_it_costs() {
    let settings = json!({ "systemPrompt": true, "framing": "Only look." });
    let replies = ["because", "on it"].map(|text| json!({ "text": text }));
    let stage = Stage::with(&settings, &replies).await;
    let before = stage.request().header.system.clone().unwrap();
    let ran = stage.command(&stage.parent, "/side").await.unwrap();
    let Ran::Opened { agent: child, notice, .. } = ran else { panic!("no session") };
    assert!(notice.is_some_and(|notice| notice.contains("paid in full")));
    assert_eq!(turn(&child, "why?").await, TurnEnd::Completed);
    let request = stage.request();
    assert_eq!(request.header.system.as_deref(), Some(&*format!("{before}\n\nOnly look.")));
    assert_eq!(stage.notes(&child, "framing").len(), 1);
    assert_eq!(turn(&stage.parent, "go on").await, TurnEnd::Completed);
    assert_eq!(stage.request().header.system.as_deref(), Some(&*before));
}
