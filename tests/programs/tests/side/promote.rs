//! `/promote`: the rule is lifted after a question, once, and the log says so.

use dsh_plugin_host::{Outcome, Question, Verdict};
use program_tests::{Event, fact};

use crate::rig::opened;

#[tokio::test]
async fn side_promotion_is_asked_first_and_logged_once() {
    let (rig, child) = opened().await;
    let Ok(Outcome::Question(Question { name, arguments, .. })) = rig.run(&child, "/promote").await
    else {
        panic!()
    };
    assert_eq!(rig.forms(&child), ["framing"]);
    assert!(matches!(rig.check(&child, "edit").await, Verdict::Deny(_)));

    rig.text(&child, &format!("/{name} {arguments}")).await;
    assert_eq!(rig.forms(&child), ["framing", "promotion"]);
    assert_eq!(rig.check(&child, "edit").await, Verdict::Allow);
    let log = rig.living.session(&child).log;
    let Some(Event::Context(promotion)) = log.last() else { panic!("{log:?}") };
    assert_eq!(
        (fact(promotion, "tools"), fact(promotion, "plugin")),
        ("all".into(), "sidechat".into())
    );

    assert!(rig.text(&child, "/promote").await.contains("already"));
    assert_eq!(rig.forms(&child), ["framing", "promotion"]);
}

#[tokio::test]
async fn side_promotion_of_what_is_no_side_session_is_refused() {
    let (rig, _) = opened().await;
    assert_eq!(rig.failure("main", "/promote").await.0, "SIDECHAT_NOT_A_SIDE_SESSION");
    assert_eq!(rig.failure("main", "/promote now").await.0, "SIDECHAT_INVALID_ARGUMENTS");
}
