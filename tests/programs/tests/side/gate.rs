//! Read-only by a gate: what may run in a side session.

use dsh_plugin_host::{Cause, Gates, ToolCall, Verdict};
use program_tests::{Event, Living, Session};

use crate::rig::{opened, opened_with, rig};

#[tokio::test]
async fn side_session_runs_what_is_read_only_and_denies_the_rest() {
    let (rig, child) = opened().await;
    let Verdict::Deny(reason) = rig.check(&child, "edit").await else { panic!() };
    assert!(reason.contains("\"edit\"") && reason.contains("side session"), "{reason}");
    assert_eq!(rig.check_call(&child, "read", true).await, Verdict::Allow);
    assert_eq!(rig.check("main", "edit").await, Verdict::Allow);
}

#[tokio::test]
async fn side_gate_excepts_what_the_settings_name() {
    let (rig, child) = opened_with(r#"{"exceptions":["bash"]}"#).await;
    assert_eq!(rig.check(&child, "bash").await, Verdict::Allow);
    assert!(matches!(rig.check(&child, "edit").await, Verdict::Deny(_)));
}

#[tokio::test]
async fn side_session_stays_read_only_after_a_compaction_and_in_forks_of_it() {
    let (rig, child) = opened().await;
    rig.living.change(&child, |session| session.log.push(Event::Checkpoint));
    assert!(matches!(rig.check(&child, "edit").await, Verdict::Deny(_)));
    let grandchild = rig.open(&child).await.session;
    assert!(matches!(rig.check(&grandchild, "edit").await, Verdict::Deny(_)));
}

#[tokio::test]
async fn side_session_inherits_no_permission() {
    let (rig, child) = opened().await;
    rig.text(&child, "/promote --yes").await;
    assert_eq!(rig.check(&child, "edit").await, Verdict::Allow);
    let grandchild = rig.open(&child).await.session;
    assert!(matches!(rig.check(&grandchild, "edit").await, Verdict::Deny(_)));
}

#[tokio::test]
async fn side_gate_that_cannot_read_the_log_denies() {
    let rig = rig(Living::new([("main", Session::of_turns(1))])).await;
    let call = ToolCall {
        session: "gone".to_owned(),
        turn: 1,
        step: 1,
        id: "call".to_owned(),
        name: "edit".to_owned(),
        arguments: "{}".to_owned(),
        read_only: false,
    };
    let failed = rig.plugin.check_tool(&rig.services, &call).await.expect_err("no such log");
    assert!(matches!(failed.cause, Cause::Failed(failure) if failure.code == "not-found"));
    let ruling = Gates::new([rig.plugin.clone()]).check(&rig.services, &call).await;
    assert!(matches!(ruling.verdict, Verdict::Deny(_)), "{ruling:?}");
}
