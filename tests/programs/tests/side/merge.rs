//! `/merge`: one note or none, never two, and the person knows which.

use std::time::Duration;

use dsh_plugin_host::{Draft, Outcome};
use program_tests::{Event, Reply, fact};

use crate::rig::{Rig, opened, opened_with, text};

/// Gives the model of a side session its next answers.
fn answers(rig: &Rig, child: &str, replies: impl IntoIterator<Item = Reply>) {
    rig.living.change(child, |session| session.replies.extend(replies));
}

fn says(text: &str) -> Reply {
    Reply::Says(text.to_owned())
}

/// How often a side session was asked for a handback.
fn asked(rig: &Rig, child: &str) -> usize {
    rig.forms(child).iter().filter(|form| *form == "handback-request").count()
}

#[tokio::test]
async fn side_note_is_one_context_message_with_its_facts() {
    let (rig, child) = opened().await;
    let through = rig.living.session(&child).log.len() - 2;
    answers(&rig, &child, [says("  It is the cache.\n")]);
    let said = rig.text(&child, "/merge").await;
    let log = rig.living.session("main").log;
    let Some(Event::Context(note)) = log.last() else { panic!("{log:?}") };
    let heading = format!(
        "A note from the side session {child}, of what was said there up to event {through}:"
    );
    assert_eq!(text(note), format!("{heading}\n\nIt is the cache."));
    let bytes = text(note).len();
    assert_eq!(
        &*note.facts,
        &format!(
            r#"{{"kind":"plugin","form":"handback","child":"{child}","through":{through},"bytes":{bytes},"omitted":0,"cut":false,"plugin":"sidechat","key":"{child}@{through}"}}"#
        )
    );
    assert!(said.contains(&format!("{bytes} bytes")) && said.contains("event 8 there"), "{said}");
}

#[tokio::test]
async fn side_note_is_added_again_only_when_something_was_said_since() {
    let (rig, child) = opened().await;
    answers(&rig, &child, [says("first"), says("second")]);
    rig.text(&child, "/merge").await;
    let again = rig.text(&child, "/merge only the bug").await;
    assert!(again.contains("merged already"), "{again}");
    assert_eq!((rig.handbacks("main").len(), asked(&rig, &child)), (1, 1));

    rig.living.change(&child, |session| session.turn("and?", "that too"));
    rig.text(&child, "/merge").await;
    let notes = rig.handbacks("main");
    assert_eq!(notes.len(), 2);
    assert!(text(&notes[1]).ends_with("second"));
}

#[tokio::test]
async fn side_note_longer_than_its_cap_is_cut_and_says_so() {
    let (rig, child) = opened_with(r#"{"handbackBytes":512}"#).await;
    answers(&rig, &child, [says(&"木".repeat(400))]);
    let said = rig.text(&child, "/merge").await;
    let [note] = &rig.handbacks("main")[..] else { panic!() };
    let omitted: usize = fact(note, "omitted").parse().expect("a number");
    assert!(text(note).len() <= 512);
    assert_eq!(text(note).matches('木').count() * 3 + omitted, 1200);
    assert_eq!(fact(note, "cut"), "true");
    assert!(said.contains(&format!("{omitted} bytes")), "{said}");
}

#[tokio::test]
async fn side_handback_is_asked_with_the_instruction_and_the_room_there_is() {
    let (rig, child) = opened_with(r#"{"handbackBytes":600}"#).await;
    answers(&rig, &child, [says("the bug")]);
    rig.text(&child, "/merge only the bug").await;
    let log = rig.living.session(&child).log;
    let request = log.iter().find_map(|event| match event {
        Event::Context(context) if fact(context, "form") == "handback-request" => Some(context),
        _ => None,
    });
    let request = text(request.expect("a request"));
    assert!(request.ends_with("only the bug"), "{request}");
    let heading = text(&rig.handbacks("main")[0]).len() - "the bug".len();
    assert!(request.contains(&format!("At most {} bytes", 600 - heading)), "{request}");
}

#[tokio::test]
async fn side_note_waits_for_the_next_step_of_a_running_parent() {
    let (rig, child) = opened().await;
    rig.living.change("main", |session| session.running = true);
    answers(&rig, &child, [says("so")]);
    let said = rig.text(&child, "/merge").await;
    assert!(said.contains("next step"), "{said}");
    assert_eq!(rig.living.session("main").waiting.len(), 1);
    // Waiting or not, it is there.
    assert!(rig.text(&child, "/merge").await.contains("merged already"));
    assert_eq!(rig.living.session("main").waiting.len(), 1);
}

#[tokio::test]
async fn side_handback_that_could_not_be_delivered_is_used_again() {
    let (rig, child) = opened().await;
    rig.living.change("main", |session| session.holder = Some("process 7".to_owned()));
    answers(&rig, &child, [says("asked once"), says("asked twice")]);
    let (code, message) = rig.failure(&child, "/merge only the bug").await;
    assert_eq!(code, "held");
    assert!(message.contains("process 7") && message.contains("nothing was added"), "{message}");
    assert_eq!(rig.handbacks("main"), []);

    rig.living.change("main", |session| session.holder = None);
    rig.text(&child, "/merge").await;
    assert!(text(&rig.handbacks("main")[0]).ends_with("asked once"));
    assert_eq!(asked(&rig, &child), 1);
}

#[tokio::test]
async fn side_handback_is_asked_anew_for_another_instruction() {
    let (rig, child) = opened().await;
    rig.living.change("main", |session| session.holder = Some("process 7".to_owned()));
    answers(&rig, &child, [says("all of it"), says("the bug")]);
    rig.failure(&child, "/merge").await;
    rig.living.change("main", |session| session.holder = None);
    rig.text(&child, "/merge only the bug").await;
    assert!(text(&rig.handbacks("main")[0]).ends_with("the bug"));
}

#[tokio::test]
async fn side_merge_that_comes_to_nothing_adds_nothing_and_says_so() {
    let (rig, child) = opened().await;
    answers(&rig, &child, [Reply::Fails, says(" \n"), says("at last")]);
    let (code, message) = rig.failure(&child, "/merge").await;
    assert_eq!(code, "turn-failed");
    assert!(message.contains("nothing was added"), "{message}");
    assert_eq!(rig.failure(&child, "/merge").await.0, "SIDECHAT_EMPTY_NOTE");
    assert_eq!(rig.handbacks("main"), []);
    // A failed turn is asked again; an empty answer stands until another instruction is given.
    rig.text(&child, "/merge anything").await;
    assert!(text(&rig.handbacks("main")[0]).ends_with("at last"));
}

#[tokio::test]
async fn side_merge_without_a_word_of_its_own_asks_nobody() {
    let (rig, child) = opened().await;
    let fresh = rig.open("main").await.session;
    assert_eq!(rig.failure(&fresh, "/merge").await.0, "SIDECHAT_NOTHING_SAID");
    assert_eq!(rig.failure("main", "/merge").await.0, "SIDECHAT_NOT_A_SIDE_SESSION");
    rig.living.delete("main");
    let (code, message) = rig.failure(&child, "/merge").await;
    assert_eq!(code, "SIDECHAT_PARENT_GONE");
    assert!(message.contains("nothing was added"), "{message}");
    assert_eq!((asked(&rig, &fresh), asked(&rig, &child)), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn side_merge_that_is_cancelled_gives_its_turn_up_and_can_be_made_again() {
    let (rig, child) = opened().await;
    answers(&rig, &child, [Reply::Hangs, says("after all")]);
    let merge = rig.run(&child, "/merge");
    assert!(tokio::time::timeout(Duration::from_secs(3600), merge).await.is_err());
    assert_eq!(rig.living.session(&child).given_up, 1);
    assert_eq!(rig.handbacks("main"), []);
    rig.text(&child, "/merge").await;
    assert_eq!(rig.handbacks("main").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn side_merge_from_a_model_that_takes_a_minute_ends_well_under_default_limits() {
    let (rig, child) = opened().await;
    answers(&rig, &child, [Reply::Later(60_000, "a minute later".to_owned())]);
    rig.text(&child, "/merge").await;
    assert!(text(&rig.handbacks("main")[0]).ends_with("a minute later"));
}

#[tokio::test]
async fn side_preview_proposes_the_note_and_adds_what_the_person_made_of_it() {
    let (rig, child) = opened_with(r#"{"handbackBytes":512}"#).await;
    answers(&rig, &child, [says("what the model thinks")]);
    let Ok(Outcome::Draft(draft)) = rig.run(&child, "/merge --preview only the bug").await else {
        panic!()
    };
    let Draft { text: proposed, name, arguments } = draft;
    assert_eq!(proposed, "what the model thinks");
    assert_eq!(rig.handbacks("main"), []);

    // It speaks of what was said when it was proposed, and is capped like any other.
    let through = rig.living.session(&child).log.len() - 6;
    rig.living.change(&child, |session| session.turn("and?", "that too"));
    let line = format!("/{name} {arguments}");
    let edited = "x".repeat(1000);
    let Ok(Outcome::Text(_)) = rig.run_edited(&child, &line, Some(&edited)).await else { panic!() };
    let [note] = &rig.handbacks("main")[..] else { panic!() };
    assert!((505..=512).contains(&text(note).len()), "{} bytes", text(note).len());
    assert_eq!(fact(note, "cut"), "true");
    assert_eq!(fact(note, "through"), through.to_string());
    assert_eq!(asked(&rig, &child), 1);
    // What was said meanwhile is worth a note of its own.
    answers(&rig, &child, [says("that too")]);
    rig.text(&child, "/merge").await;
    assert_eq!(rig.handbacks("main").len(), 2);
}

#[tokio::test]
async fn side_draft_that_was_emptied_adds_nothing() {
    let (rig, child) = opened().await;
    let emptied = rig.run_edited(&child, "/merge", Some(" ")).await;
    assert!(emptied.expect_err("an empty note").to_string().contains("SIDECHAT_EMPTY_NOTE"));
    assert_eq!((rig.handbacks("main").len(), asked(&rig, &child)), (0, 0));
}

#[tokio::test]
async fn side_session_of_a_side_session_merges_into_the_one_it_was_opened_on() {
    let (rig, child) = opened().await;
    let grandchild = rig.open(&child).await.session;
    rig.living.change(&grandchild, |session| session.turn("deeper?", "deeper"));
    answers(&rig, &grandchild, [says("from below")]);
    rig.text(&grandchild, "/merge").await;
    assert_eq!((rig.handbacks(&child).len(), rig.handbacks("main").len()), (1, 0));
    // The note is something that was said: it can be handed further up.
    answers(&rig, &child, [says("from below, and more")]);
    rig.text(&child, "/merge").await;
    assert_eq!(rig.handbacks("main").len(), 1);
}
