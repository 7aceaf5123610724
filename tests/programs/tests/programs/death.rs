//! Guests that die of themselves.

use dsh_plugin_host::{Cause, Level, Trap};
use program_tests::{self as programs, Scripted, chain, run, services};

use crate::decision::cause;

fn trap(cause: Cause) -> Trap {
    match cause {
        Cause::Trap(trap) => trap,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
pub(crate) async fn panics() {
    let chain = chain(&[programs::PANICS]).await;
    let (services, _, log) = services(Scripted::default());
    let err = run(&chain, &services).await.expect_err("a trap");
    assert!(err.to_string().starts_with("panics: `dsh:agent/pre-step.handle` trapped: "), "{err}");
    let trap = trap(err.cause);
    assert!(trap.backtrace.is_some_and(|frames| frames.contains("wasm function")), "no frames");
    let words = trap.last_words.expect("a panic's text");
    assert!(words.contains("2 messages were one too many"), "{words}");
    assert_eq!(log.entries(), [("panics".to_owned(), Level::Error, words)]);
}

#[tokio::test]
pub(crate) async fn makes_up_a_handle() {
    let reason = trap(cause(&chain(&[programs::MAKES_UP_A_HANDLE]).await).await).reason;
    assert!(reason.contains("handle"), "{reason}");
}

#[tokio::test]
pub(crate) async fn uses_a_dropped_handle() {
    let reason = trap(cause(&chain(&[programs::USES_A_DROPPED_HANDLE]).await).await).reason;
    assert!(reason.contains("handle"), "{reason}");
}
