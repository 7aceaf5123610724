//! What a link decides, and what the host accepts of it.

use std::sync::{Arc, Mutex};

use dsh_plugin_host::{
    Cause, Chain, Decided, Decision, Edit, Entered, Failure, Log, LogEntry, Refusal, Rejection,
    Services,
};
use program_tests::{self as programs, Scripted, chain, run, services, ungranted};

pub(crate) const UNTOUCHED: [Entered; 2] =
    [Entered::Batch { index: 0 }, Entered::Batch { index: 1 }];

/// The messages that enter.
pub(crate) async fn entered(chain: &Chain) -> Vec<Entered> {
    match run(chain, &services(Scripted::default()).0).await.expect("a decision") {
        Decision::Enter(messages) => messages,
        Decision::Reject(rejection) => panic!("{rejection:?}"),
    }
}

/// What a program that rejects has seen.
pub(crate) async fn seen(chain: &Chain) -> String {
    match run(chain, &services(Scripted::default()).0).await.expect("a decision") {
        Decision::Reject(rejection) => rejection.reason.expect("a reason"),
        Decision::Enter(messages) => panic!("{messages:?}"),
    }
}

/// Why a chain failed. The same chain is called again, to see that a failed call leaves nothing behind.
pub(crate) async fn cause(chain: &Chain) -> Cause {
    let services = services(Scripted::default()).0;
    let first = run(chain, &services).await.expect_err("a failure");
    let second = run(chain, &services).await.expect_err("a failure");
    assert_eq!((&first.plugin, first.export), (&second.plugin, second.export));
    assert_eq!(std::mem::discriminant(&first.cause), std::mem::discriminant(&second.cause));
    first.cause
}

fn refused(refusal: Refusal) -> Cause {
    Cause::Refused(refusal)
}

fn id(id: &str) -> String {
    id.to_owned()
}

#[tokio::test]
pub(crate) async fn passes() {
    assert_eq!(entered(&chain(&[programs::PASSES]).await).await, UNTOUCHED);
    assert_eq!(entered(&ungranted(programs::PASSES).await).await, UNTOUCHED);
}

#[tokio::test]
pub(crate) async fn rewrites() {
    let edit = || vec![Edit { block: 0, text: "changed".into(), plugin: id("rewrites") }];
    let edited = [0, 1].map(|index| Entered::Edited { index, edits: edit() });
    assert_eq!(entered(&chain(&[programs::REWRITES]).await).await, edited);
    let Cause::Failed(failure) = cause(&ungranted(programs::REWRITES).await).await else {
        panic!()
    };
    assert_eq!(failure.code, "not-granted");
}

#[tokio::test]
pub(crate) async fn leaves_out() {
    assert_eq!(entered(&chain(&[programs::LEAVES_OUT]).await).await, UNTOUCHED[..1]);
    let left_out = cause(&ungranted(programs::LEAVES_OUT).await).await;
    assert_eq!(left_out, refused(Refusal::LeftOut { id: id("m1") }));
}

#[tokio::test]
pub(crate) async fn duplicates() {
    let twice = cause(&chain(&[programs::DUPLICATES]).await).await;
    assert_eq!(twice, refused(Refusal::Duplicated { id: id("m0") }));
}

#[tokio::test]
pub(crate) async fn duplicates_for_next() {
    let twice = cause(&chain(&[programs::DUPLICATES_FOR_NEXT, programs::PASSES]).await).await;
    assert_eq!(twice, refused(Refusal::Duplicated { id: id("m0") }));
}

#[tokio::test]
pub(crate) async fn puts_back() {
    let both = [programs::PUTS_BACK, programs::REWRITES];
    assert_eq!(entered(&chain(&both).await).await, UNTOUCHED);
    let outer = ungranted(programs::PUTS_BACK).await;
    assert_eq!(entered(&outer).await, UNTOUCHED, "nothing was changed, so nothing is undone");
    let inner = chain(&[programs::REWRITES]).await;
    let mixed = Chain::new([outer.links()[0].clone(), inner.links()[0].clone()]);
    assert_eq!(cause(&mixed).await, refused(Refusal::PutBack { id: id("m0") }));
}

#[tokio::test]
pub(crate) async fn hides_from_next() {
    assert_eq!(entered(&chain(&[programs::HIDES_FROM_NEXT]).await).await, UNTOUCHED);
    let hidden = cause(&ungranted(programs::HIDES_FROM_NEXT).await).await;
    assert_eq!(hidden, refused(Refusal::LeftOut { id: id("m0") }));
}

/// Keeps who dropped what.
#[derive(Default)]
struct Dropped(Mutex<Vec<(String, String)>>);

impl Log for Dropped {
    fn write(&self, _: &LogEntry<'_>) {}

    fn decided(&self, decided: &Decided<'_>) {
        let dropped = decided.dropped();
        let owned = dropped.iter().map(|(id, by)| ((*id).to_owned(), (*by).to_owned()));
        self.0.lock().expect("no panic").extend(owned);
    }
}

#[tokio::test]
async fn who_drops_a_message_is_named_wherever_it_stands() {
    let (leaves_out, hides) = (programs::LEAVES_OUT, programs::HIDES_FROM_NEXT);
    let by_it = [("m1", "leaves_out")];
    for (programs, dropped) in [
        (&[leaves_out][..], &by_it[..]),
        (&[programs::PASSES, leaves_out, programs::PASSES], &by_it),
        (&[programs::PASSES, programs::PASSES, leaves_out], &by_it),
        // It brings back what it hid.
        (&[hides, programs::PASSES], &[]),
    ] {
        let log = Arc::new(Dropped::default());
        let new_id = Arc::new(|| "c".to_owned());
        let services = Services::new(Arc::new(Scripted::default()), log.clone(), new_id);
        run(&chain(programs).await, &services).await.expect("a decision");
        let found = log.0.lock().expect("no panic").clone();
        let found: Vec<_> = found.iter().map(|(id, by)| (&**id, &**by)).collect();
        assert_eq!(found, dropped);
    }
}

#[tokio::test]
async fn a_link_need_not_bring_back_what_a_link_further_down_left_out() {
    let outer = ungranted(programs::PASSES).await;
    let inner = chain(&[programs::LEAVES_OUT]).await;
    let mixed = Chain::new([outer.links()[0].clone(), inner.links()[0].clone()]);
    assert_eq!(entered(&mixed).await, UNTOUCHED[..1]);
}

#[tokio::test]
pub(crate) async fn rejects() {
    let chain = chain(&[programs::PASSES, programs::REJECTS]).await;
    let decision = run(&chain, &services(Scripted::default()).0).await;
    let rejection =
        Rejection { by: id("rejects"), reason: Some(id("not now")), details: Some(id("{}")) };
    assert_eq!(decision, Ok(Decision::Reject(rejection)));
}

#[tokio::test]
pub(crate) async fn fails() {
    let chain = chain(&[programs::FAILS]).await;
    let details = Some(id(r#"{"max":3}"#));
    let own = Failure { code: id("OUT_OF_TEA"), message: id("no tea"), details };
    assert_eq!(cause(&chain).await, Cause::Failed(own));
    let err = run(&chain, &services(Scripted::default()).0).await.expect_err("a failure");
    assert_eq!(
        err.to_string(),
        "fails: `dsh:agent/pre-step.handle` failed with OUT_OF_TEA: no tea"
    );
}

#[tokio::test]
pub(crate) async fn fails_with_broken_details() {
    let broken = cause(&chain(&[programs::FAILS_WITH_BROKEN_DETAILS]).await).await;
    assert!(matches!(broken, Cause::Refused(Refusal::Details { .. })), "{broken:?}");
}
