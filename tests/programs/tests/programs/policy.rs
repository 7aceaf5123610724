//! Faults: what they do to a turn, how often a plugin may have them, and how many calls it may have at one time.

use dsh_plugin_host::{
    Cause, Chain, Decision, Entered, FAULTS_UNTIL_QUARANTINE, Grants, Level, Limit, OnFault,
    Plugin, PreStepCall, Settings,
};
use program_tests::{
    self as programs, Delay, Scripted, everything, host, load, manifest, prompt, run, services,
};

use crate::decision::UNTOUCHED;

async fn plugin(path: &str) -> Plugin {
    load(&host(), path, everything()).await.expect("a plugin")
}

/// The program at `path` as one whose faults are passed over.
async fn skipped(path: &str, id: &str) -> Plugin {
    let mut grants = Grants::new(everything());
    grants.on_fault.pre_step = OnFault::Skip;
    let wasm = std::fs::read(path).expect("a program");
    host().load(manifest(id), &wasm, Settings::default(), &grants).await.expect("a plugin")
}

/// A decision and every log entry of level warn.
async fn noticed(chain: &Chain) -> (Result<Decision, Cause>, Vec<(String, String)>) {
    let (services, _, log) = services(Scripted::default());
    let decision = run(chain, &services).await.map_err(|err| err.cause);
    let warnings = log.entries().into_iter().filter(|(_, level, _)| *level == Level::Warn);
    (decision, warnings.map(|(plugin, _, text)| (plugin, text)).collect())
}

fn untouched() -> Result<Decision, Cause> {
    Ok(Decision::Enter(UNTOUCHED.into()))
}

#[tokio::test]
async fn a_link_that_faults_is_passed_over_with_a_notice_where_the_operator_wants_that() {
    for (program, id, words) in [
        (programs::PANICS, "panics", "trapped"),
        (programs::EATS_MEMORY, "eats_memory", "memory-bytes"),
        (programs::DUPLICATES, "duplicates", "is there twice"),
    ] {
        let failing = Chain::new([plugin(program).await]);
        let (failed, notices) = noticed(&failing).await;
        assert!(failed.is_err_and(|cause| cause.is_fault()), "{id}: by default the turn ends");
        assert_eq!(notices, []);

        let skipping = Chain::new([skipped(program, id).await]);
        let (decision, notices) = noticed(&skipping).await;
        assert_eq!(decision, untouched(), "{id}");
        let [(by, text)] = &notices[..] else { panic!("{notices:?}") };
        assert_eq!(by, id);
        assert!(
            text.starts_with(&format!("passed over: {id}: ")) && text.contains(words),
            "{text}"
        );
    }
}

#[tokio::test]
pub(crate) async fn panics_after_next() {
    let panics = skipped(programs::PANICS_AFTER_NEXT, "panics_after_next").await;
    let chain = Chain::new([panics.clone(), plugin(programs::ADDS_CONTEXT).await]);
    let (decision, notices) = noticed(&chain).await;
    let Ok(Decision::Enter(entered)) = decision else { panic!("{decision:?}") };
    // The decision of `next` stands, and nothing runs twice: a second note would have another id.
    let Some(Entered::Context(note)) = entered.last() else { panic!("{entered:?}") };
    assert_eq!((entered.len(), note.id.as_str()), (3, "c0"));
    assert_eq!(notices.len(), 1, "{notices:?}");

    // A failure of the rest is not the link's to pass over.
    let chain = Chain::new([panics, plugin(programs::FAILS).await]);
    let (decision, notices) = noticed(&chain).await;
    assert!(matches!(decision, Err(Cause::Failed(_))), "{decision:?}");
    assert_eq!(notices, []);
}

#[tokio::test]
async fn a_failure_of_the_plugins_own_is_never_passed_over() {
    let chain = Chain::new([skipped(programs::FAILS, "fails").await]);
    let (decision, notices) = noticed(&chain).await;
    assert!(matches!(decision, Err(Cause::Failed(own)) if own.code == "OUT_OF_TEA"));
    assert_eq!(notices, []);
}

#[tokio::test]
async fn three_faults_in_a_row_are_a_quarantine_that_can_be_lifted() {
    let panics = plugin(programs::PANICS).await;
    let chain = Chain::new([panics.clone()]);
    for fault in 1..=FAULTS_UNTIL_QUARANTINE {
        assert_eq!(panics.quarantine(), None, "before fault {fault}");
        let (failed, notices) = noticed(&chain).await;
        assert!(matches!(failed, Err(Cause::Trap(_))), "{failed:?}");
        assert_eq!(notices.is_empty(), fault < FAULTS_UNTIL_QUARANTINE, "{notices:?}");
    }
    let quarantine = panics.quarantine().expect("a quarantine");
    assert!(quarantine.last_fault.contains("one too many"), "{quarantine}");
    let (refused, _) = noticed(&chain).await;
    assert_eq!(refused, Err(Cause::Quarantined(quarantine.clone())));

    panics.release();
    assert_eq!(panics.quarantine(), None);
    let (failed, _) = noticed(&chain).await;
    assert!(matches!(failed, Err(Cause::Trap(_))), "it is called again: {failed:?}");
}

#[tokio::test]
async fn a_plugin_in_quarantine_is_passed_over_where_its_faults_are() {
    let chain = Chain::new([skipped(programs::PANICS, "panics").await]);
    for call in 0..=FAULTS_UNTIL_QUARANTINE {
        let (decision, notices) = noticed(&chain).await;
        assert_eq!(decision, untouched());
        let (_, last) = notices.last().expect("a notice each time");
        assert_eq!(last.contains("was not called"), call == FAULTS_UNTIL_QUARANTINE, "{last}");
    }
}

#[tokio::test]
pub(crate) async fn panics_when_asked() {
    let panics = plugin(programs::PANICS_WHEN_ASKED).await;
    let chain = Chain::new([panics.clone()]);
    let call = async |text: &str| {
        let call = PreStepCall::new("session", 1, 1, vec![prompt("m0", text)]);
        chain.pre_step(&services(Scripted::default()).0, call).await.is_ok()
    };
    // A call that ends well in between, and the count begins anew.
    for _ in 0..FAULTS_UNTIL_QUARANTINE {
        assert!(!call("panic").await && !call("panic").await && call("hello").await);
    }
    assert_eq!(panics.quarantine(), None);
}

#[tokio::test]
async fn neither_failures_of_its_own_nor_cancelled_calls_are_a_plugins_faults() {
    let fails = plugin(programs::FAILS).await;
    let loops = plugin(programs::LOOPS).await;
    let services = services(Scripted::default()).0;
    let (failing, looping) = (Chain::new([fails.clone()]), Chain::new([loops.clone()]));
    for _ in 0..=FAULTS_UNTIL_QUARANTINE {
        assert!(run(&failing, &services).await.is_err());
        tokio::select! {
            biased;
            ended = run(&looping, &services) => panic!("{ended:?}"),
            () = tokio::task::yield_now() => {}
        }
    }
    assert_eq!((fails.quarantine(), loops.quarantine()), (None, None));
}

#[tokio::test]
async fn one_call_too_many_at_one_time_is_refused_at_once() {
    let mut manifest = manifest("waits");
    manifest.limits.concurrent_calls = 1;
    let wasm = std::fs::read(programs::WAITS).expect("a program");
    let grants = Grants::new(everything());
    let waits = host().load(manifest, &wasm, Settings::default(), &grants).await;
    let waits = waits.expect("a plugin");
    let chain = Chain::new([waits.clone()]);
    let (hanging, sessions, _) = services(Scripted::delayed(Delay::Hang));
    let refusals = async {
        sessions.begun.notified().await;
        for _ in 0..=FAULTS_UNTIL_QUARANTINE {
            let err = run(&chain, &hanging).await.expect_err("a refusal");
            let Cause::Limit(breach) = err.cause else { panic!("{err}") };
            assert_eq!(
                (breach.limit, breach.figure, breach.allowed),
                (Limit::ConcurrentCalls, Some(2), 1)
            );
        }
    };
    tokio::select! {
        biased;
        ended = run(&chain, &hanging) => panic!("{ended:?}"),
        () = refusals => {}
    }
    assert_eq!(waits.quarantine(), None, "whoever calls too often is not the plugin");
    // The call that hung is gone, and so is its place.
    assert!(run(&chain, &services(Scripted::default()).0).await.is_ok());
}

#[tokio::test]
async fn a_call_inside_another_of_the_same_plugin_takes_no_place() {
    let mut manifest = manifest("passes");
    manifest.limits.concurrent_calls = 1;
    let wasm = std::fs::read(programs::PASSES).expect("a program");
    let grants = Grants::new(everything());
    let passes = host().load(manifest, &wasm, Settings::default(), &grants).await;
    let thrice = Chain::new(std::iter::repeat_n(passes.expect("a plugin"), 3));
    assert_eq!(noticed(&thrice).await.0, untouched());
}
