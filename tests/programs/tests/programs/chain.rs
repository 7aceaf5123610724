//! `next`: what a link can do with the rest of the chain.

use std::sync::Arc;

use async_trait::async_trait;
use dsh_plugin_host::{Cause, Chain, Context, Decision, Entered, Failure, Limit, Rejection, Rest};
use program_tests::{self as programs, Scripted, call, chain, run, services};

use crate::decision::{UNTOUCHED, cause, entered};

#[tokio::test]
pub(crate) async fn stops() {
    let stopped = chain(&[programs::STOPS, programs::REJECTS]).await;
    assert_eq!(entered(&stopped).await, UNTOUCHED);
}

#[tokio::test]
pub(crate) async fn calls_next_twice() {
    let Cause::Failed(failure) =
        cause(&chain(&[programs::CALLS_NEXT_TWICE, programs::PASSES]).await).await
    else {
        panic!()
    };
    assert_eq!(failure.code, "next-called-twice");
}

#[tokio::test]
pub(crate) async fn decides_after_failure() {
    let chain = chain(&[programs::DECIDES_AFTER_FAILURE, programs::FAILS]).await;
    let first = run(&chain, &services(Scripted::default()).0).await.expect_err("a failure");
    assert_eq!(first.plugin, "fails");
    assert!(matches!(first.cause, Cause::Failed(failure) if failure.code == "OUT_OF_TEA"));
}

#[tokio::test]
pub(crate) async fn fails_otherwise() {
    let chain = chain(&[programs::FAILS_OTHERWISE, programs::FAILS]).await;
    let first = run(&chain, &services(Scripted::default()).0).await.expect_err("a failure");
    assert_eq!(first.plugin, "fails");
    assert!(matches!(first.cause, Cause::Failed(failure) if failure.code == "OUT_OF_TEA"));
}

#[tokio::test]
pub(crate) async fn tells_of_next() {
    let further_down = [
        (programs::PANICS, "trap"),
        (programs::DUPLICATES, "trap"),
        (programs::LOOPS, "limit"),
        (programs::FAILS, "OUT_OF_TEA"),
    ];
    for (program, code) in further_down {
        let chain = chain(&[programs::TELLS_OF_NEXT, program]).await;
        let (services, _, log) = services(Scripted::default());
        let first = run(&chain, &services).await.expect_err("a failure");
        assert_eq!(first.plugin, chain.links()[1].id());
        let told = log.entries().into_iter().find(|(plugin, ..)| plugin == "tells_of_next");
        assert_eq!(told.map(|(.., text)| text).as_deref(), Some(code), "{program}");
    }
}

#[tokio::test]
async fn what_runs_further_down_is_on_its_own_budget() {
    let links = [programs::PASSES, programs::TELLS_OF_NEXT, programs::LOOPS];
    let chain = chain(&links).await;
    let first = run(&chain, &services(Scripted::default()).0).await.expect_err("a failure");
    assert_eq!(first.plugin, "loops");
    assert!(matches!(first.cause, Cause::Limit(breach) if breach.limit == Limit::Cpu));
}

#[tokio::test]
async fn plugins_without_the_seam_are_passed_over() {
    let mixed = chain(&[programs::COMPLETES, programs::PASSES]).await;
    assert_eq!(mixed.links().len(), 1);
    assert_eq!(entered(&Chain::default()).await, UNTOUCHED);
}

#[tokio::test]
async fn a_chain_can_be_long() {
    let passes = chain(&[programs::PASSES]).await.links()[0].clone();
    let long = Chain::new(std::iter::repeat_n(passes, 100));
    assert_eq!(entered(&long).await, UNTOUCHED);
}

/// A link of the embedder's own, behind the plugins.
struct Native(fn(Vec<Entered>) -> Result<Decision, Failure>);

#[async_trait]
impl Rest for Native {
    fn name(&self) -> &str {
        "native"
    }

    async fn pre_step(&self, batch: Decision) -> Result<Decision, Failure> {
        match batch {
            Decision::Enter(batch) => (self.0)(batch),
            rejected => Ok(rejected),
        }
    }
}

async fn behind(program: &str, native: Native) -> Result<Decision, dsh_plugin_host::CallError> {
    let mut call = call();
    call.rest = Some(Arc::new(native));
    chain(&[program]).await.pre_step(&services(Scripted::default()).0, call).await
}

#[tokio::test]
async fn the_embedders_own_links_can_stand_behind_the_plugins() {
    let note = || Context {
        id: "own".to_owned(),
        plugin: "native".to_owned(),
        content: Vec::new(),
        facts: r#"{"kind":"runtime"}"#.into(),
    };
    let adds = Native(|mut batch| {
        batch.push(Entered::Context(Context {
            id: "own".to_owned(),
            plugin: "native".to_owned(),
            content: Vec::new(),
            facts: r#"{"kind":"runtime"}"#.into(),
        }));
        Ok(Decision::Enter(batch))
    });
    let [one, two] = UNTOUCHED;
    let expected = Decision::Enter(vec![one, two, Entered::Context(note())]);
    assert_eq!(behind(programs::PASSES, adds).await, Ok(expected));

    let rejection = || Rejection { by: "native".to_owned(), ..Rejection::default() };
    let rejects = Native(|_| {
        Ok(Decision::Reject(Rejection { by: "native".to_owned(), ..Rejection::default() }))
    });
    assert_eq!(behind(programs::PASSES, rejects).await, Ok(Decision::Reject(rejection())));

    let fails = Native(|_| Err(Failure::new("NATIVE", "no")));
    let err = behind(programs::PASSES, fails).await.expect_err("a failure");
    assert_eq!(err.to_string(), "native: `dsh:agent/pre-step.handle` failed with NATIVE: no");
}
