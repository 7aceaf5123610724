//! The default limits, each with a program that runs into it and a twin that does not.

use dsh_plugin_host::{Breach, Cause, Chain, Grants, Level, Limit, Limits, Settings};
use program_tests::{
    self as programs, Delay, Scripted, chain, everything, host, manifest, run, services,
};

use crate::decision::{UNTOUCHED, cause, entered};

/// The limit that stops a program.
async fn breach(program: &str) -> Breach {
    match cause(&chain(&[program]).await).await {
        Cause::Limit(breach) => breach,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
pub(crate) async fn loops() {
    let breach = breach(programs::LOOPS).await;
    assert_eq!((breach.limit, breach.allowed), (Limit::Cpu, 250));
    assert!(breach.figure > Some(250), "{breach}");
}

#[tokio::test]
pub(crate) async fn loops_between_imports() {
    // More calls than it can make in its CPU time, so that this limit is not in the way.
    let mut manifest = manifest("loops_between_imports");
    manifest.limits.host_calls = u64::MAX;
    let mut grants = Grants::new(everything());
    grants.limits = manifest.limits.clone();
    let wasm = std::fs::read(programs::LOOPS_BETWEEN_IMPORTS).expect("a program");
    let loaded = host().load(manifest, &wasm, Settings::default(), &grants).await;
    let Cause::Limit(breach) = cause(&Chain::new([loaded.expect("a plugin")])).await else {
        panic!()
    };
    assert_eq!((breach.limit, breach.allowed), (Limit::Cpu, 250));
}

#[tokio::test]
async fn cpu_time_of_an_import_is_not_the_guests() {
    let chain = chain(&[programs::WAITS]).await;
    let busy = services(Scripted::delayed(Delay::Work(400))).0;
    assert!(run(&chain, &busy).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_import_that_waits_too_long_is_given_up() {
    let chain = chain(&[programs::WAITS]).await;
    let (hanging, sessions, _) = services(Scripted::delayed(Delay::Hang));
    let err = run(&chain, &hanging).await.expect_err("a limit");
    let Cause::Limit(breach) = err.cause else { panic!() };
    assert_eq!((breach.limit, breach.allowed), (Limit::Wall, 10_000));
    assert_eq!(sessions.open.load(std::sync::atomic::Ordering::SeqCst), 0, "the read goes on");
    assert_eq!(entered(&chain).await, UNTOUCHED);
}

#[tokio::test(start_paused = true)]
pub(crate) async fn reads_titles_then_next() {
    let slow = services(Scripted::delayed(Delay::Sleep(9000))).0;
    let once = chain(&[programs::WAITS]).await;
    assert!(run(&once, &slow).await.is_ok());
    // With the time of the rest each of the outer links would be past its ten seconds.
    let waits = once.links()[0].clone();
    let outer = chain(&[programs::READS_TITLES_THEN_NEXT]).await.links()[0].clone();
    let twice = Chain::new([outer.clone(), outer, waits]);
    assert!(run(&twice, &slow).await.is_ok());
}

#[tokio::test]
pub(crate) async fn eats_memory() {
    let breach = breach(programs::EATS_MEMORY).await;
    assert_eq!((breach.limit, breach.allowed), (Limit::Memory, 64 << 20));
    assert!(breach.figure > Some(64 << 20), "{breach}");
}

#[tokio::test]
pub(crate) async fn uses_memory() {
    assert_eq!(entered(&chain(&[programs::USES_MEMORY]).await).await, UNTOUCHED);
}

#[tokio::test]
pub(crate) async fn recurses() {
    let breach = breach(programs::RECURSES).await;
    assert_eq!((breach.limit, breach.allowed), (Limit::Stack, 512 << 10));
}

#[tokio::test]
pub(crate) async fn floods_output() {
    let breach = breach(programs::FLOODS_OUTPUT).await;
    // Without a figure: the engine stopped it at the boundary.
    assert_eq!((breach.limit, breach.figure, breach.allowed), (Limit::Output, None, 8 << 20));
}

#[tokio::test]
pub(crate) async fn trickles_output() {
    let breach = breach(programs::TRICKLES_OUTPUT).await;
    assert_eq!((breach.limit, breach.allowed), (Limit::Output, 8 << 20));
    assert!(breach.figure > Some(8 << 20), "{breach}");
}

#[tokio::test]
pub(crate) async fn calls_for_ever() {
    let breach = breach(programs::CALLS_FOR_EVER).await;
    assert_eq!(
        (breach.limit, breach.figure, breach.allowed),
        (Limit::HostCalls, Some(10_001), 10_000)
    );
}

#[tokio::test]
pub(crate) async fn hoards_handles() {
    let breach = breach(programs::HOARDS_HANDLES).await;
    assert_eq!((breach.limit, breach.allowed), (Limit::Handles, 4096));
}

#[tokio::test]
pub(crate) async fn drops_handles() {
    assert_eq!(entered(&chain(&[programs::DROPS_HANDLES]).await).await, UNTOUCHED);
}

#[tokio::test]
pub(crate) async fn floods_log() {
    let chain = chain(&[programs::FLOODS_LOG]).await;
    let (services, _, log) = services(Scripted::default());
    assert!(run(&chain, &services).await.is_ok());
    let entries = log.entries();
    let (last, kept) = entries.split_last().expect("entries");
    let bytes: usize = kept.iter().map(|(.., text)| text.len()).sum();
    assert_eq!(bytes as u64, Limits::default().log_bytes);
    assert_eq!(last.1, Level::Warn);
    assert!(last.2.contains("dropped"), "{last:?}");
}

#[tokio::test]
async fn a_limit_is_what_the_manifest_wants_and_the_grant_allows() {
    let wasm = std::fs::read(programs::USES_MEMORY).expect("a program");
    let mut manifest = manifest("uses_memory");
    manifest.limits.memory_bytes = 8 << 20;
    let grants = Grants::new(everything());
    let plugin =
        host().load(manifest.clone(), &wasm, Settings::default(), &grants).await.expect("a plugin");
    let Cause::Limit(breach) = cause(&Chain::new([plugin])).await else { panic!() };
    assert_eq!((breach.limit, breach.allowed), (Limit::Memory, 8 << 20));

    manifest.limits.memory_bytes = 1 << 40;
    let plugin =
        host().load(manifest, &wasm, Settings::default(), &grants).await.expect("a plugin");
    assert_eq!(plugin.limits().memory_bytes, 64 << 20);
}
