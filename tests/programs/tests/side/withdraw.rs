//! `/merge --undo`, and the way out when it is too late.

use dsh_plugin_host::Verdict;
use program_tests::{Event, Reply, fact};

use crate::rig::{Rig, opened, text};

async fn merged() -> (Rig, String) {
    let (rig, child) = opened().await;
    rig.living.change(&child, |session| session.replies.push_back(Reply::Says("so".to_owned())));
    rig.text(&child, "/merge").await;
    (rig, child)
}

#[tokio::test]
async fn side_note_is_withdrawn_and_one_short_line_stands_in_its_place() {
    let (rig, child) = merged().await;
    rig.text(&child, "/merge --undo").await;
    let log = rig.living.session("main").log;
    let [.., Event::Context(note), Event::Instead(of, line)] = &log[..] else { panic!("{log:?}") };
    assert_eq!(of, &note.id);
    assert_eq!(
        (fact(line, "form").as_str(), fact(line, "message")),
        ("withdrawal", note.id.clone())
    );
    assert!(text(line).len() < 100 && text(line).contains("withdrawn"), "{}", text(line));
    assert_eq!(rig.failure(&child, "/merge --undo").await.0, "SIDECHAT_NOTHING_MERGED");
}

#[tokio::test]
async fn side_note_that_was_withdrawn_can_be_merged_once_more() {
    let (rig, child) = merged().await;
    rig.text(&child, "/merge --undo").await;
    rig.text(&child, "/merge").await;
    assert!(rig.text(&child, "/merge").await.contains("merged already"));
    assert_eq!(rig.handbacks("main").len(), 2);
    rig.text(&child, "/merge --undo").await;
    assert_eq!(rig.failure(&child, "/merge --undo").await.0, "SIDECHAT_NOTHING_MERGED");
}

#[tokio::test]
async fn side_note_that_was_sent_stays_and_a_fork_from_before_it_is_offered() {
    let (rig, child) = merged().await;
    rig.living.change("main", |session| {
        session.turn("go on", "gone on");
        session.sent = session.log.len();
    });
    let before = rig.living.session("main").log;
    let (code, message) = rig.failure(&child, "/merge --undo").await;
    assert_eq!(code, "SIDECHAT_NOTE_SENT");
    assert!(message.contains("/merge --fork"), "{message}");

    let fork = rig.open_with(&child, "/merge --fork").await.session;
    let forked = rig.living.session(&fork);
    let note = before.iter().position(|event| matches!(event, Event::Context(_)));
    assert_eq!((forked.parent.as_deref(), Some(forked.log.len())), (Some("main"), note));
    assert_eq!(rig.living.session("main").log, before);
    // It is an ordinary session: what it was forked from was one.
    assert_eq!(rig.check(&fork, "edit").await, Verdict::Allow);
}

#[tokio::test]
async fn side_session_forked_from_before_a_note_is_as_read_only_as_its_source() {
    let (rig, child) = opened().await;
    let grandchild = rig.open(&child).await.session;
    rig.living.change(&grandchild, |session| {
        session.turn("deeper?", "deeper");
        session.replies.push_back(Reply::Says("so".to_owned()));
    });
    rig.text(&grandchild, "/merge").await;
    let fork = rig.open_with(&grandchild, "/merge --fork").await.session;
    assert!(matches!(rig.check(&fork, "edit").await, Verdict::Deny(_)));
}

#[tokio::test]
async fn side_undo_without_a_note_says_so() {
    let (rig, child) = opened().await;
    for line in ["/merge --undo", "/merge --fork"] {
        assert_eq!(rig.failure(&child, line).await.0, "SIDECHAT_NOTHING_MERGED");
        assert_eq!(rig.failure("main", line).await.0, "SIDECHAT_NOT_A_SIDE_SESSION");
    }
}
