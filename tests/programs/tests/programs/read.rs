//! Reads of other sessions.

use std::sync::atomic::Ordering;

use dsh_plugin_host::{Asker, Cause, Decision, Limit, Refusal};
use program_tests::{self as programs, Delay, Scripted, chain, run, services};

use crate::decision::{UNTOUCHED, cause, entered, seen};

#[tokio::test]
pub(crate) async fn reads_titles() {
    assert_eq!(seen(&chain(&[programs::READS_TITLES]).await).await, "Title not-found none Title");
}

#[tokio::test]
async fn entries_that_a_store_does_not_answer_are_unavailable() {
    let chain = chain(&[programs::READS_TITLES]).await;
    let mute = services(Scripted { mute: true, ..Scripted::default() }).0;
    let Ok(Decision::Reject(rejection)) = run(&chain, &mute).await else { panic!() };
    assert_eq!(rejection.reason.expect("titles"), ["unavailable"; 4].join(" "));
}

#[tokio::test]
pub(crate) async fn reads_surfaces() {
    let read = seen(&chain(&[programs::READS_SURFACES]).await).await;
    // The part begins inside `é` and moves inward.
    assert_eq!(read, "6+5 world|héllo|world orl");
}

#[tokio::test]
pub(crate) async fn reads_past_the_end() {
    let past = cause(&chain(&[programs::READS_PAST_THE_END]).await).await;
    assert_eq!(past, Cause::Refused(Refusal::NoSuchNode { index: 2, length: 2 }));
}

#[tokio::test]
pub(crate) async fn asks_for_too_much() {
    let Cause::Limit(breach) = cause(&chain(&[programs::ASKS_FOR_TOO_MUCH]).await).await else {
        panic!()
    };
    // What was asked for, to the byte: nothing of it was copied to find out.
    assert_eq!(
        (breach.limit, breach.figure, breach.allowed),
        (Limit::Memory, Some(65 << 20), 64 << 20)
    );
}

#[tokio::test]
pub(crate) async fn reads_own_notes() {
    let notes = seen(&chain(&[programs::READS_OWN_NOTES]).await).await;
    assert_eq!(notes, "Some(3) n1 {}, None n2 {}");
}

#[tokio::test]
pub(crate) async fn lists_sessions() {
    let chain = chain(&[programs::LISTS_SESSIONS]).await;
    let (services, sessions, _) = services(Scripted::default());
    run(&chain, &services).await.expect("a decision");
    let asker = Asker { plugin: "lists_sessions".to_owned(), session: Some("session".to_owned()) };
    assert_eq!(*sessions.askers.lock().expect("askers"), [asker]);
}

#[tokio::test]
pub(crate) async fn waits() {
    let chain = chain(&[programs::PASSES, programs::WAITS]).await;
    let (hanging, sessions, _) = services(Scripted::delayed(Delay::Hang));
    tokio::select! {
        biased;
        () = sessions.begun.notified() => {}
        decision = run(&chain, &hanging) => panic!("{decision:?}"),
    }
    assert_eq!(sessions.open.load(Ordering::SeqCst), 0, "the read goes on");
    assert_eq!(entered(&chain).await, UNTOUCHED);
}
