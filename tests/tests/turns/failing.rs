//! A mention that cannot be resolved ends the turn, sends nothing, and leaves the session usable.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dsh_agent::{Agent, Cause, Composition, Progress, TurnEnd};
use dsh_plugin_host as host;
use dsh_plugin_host::{Asker, Chain, Failure, Services, Settings};
use dsh_session::{Header, SessionId};
use dsh_tests::{Rig, mention, model, turn};
use dsh_wasm::{Composed, Options, Sandbox};
use serde_json::json;

/// That a turn for `prompt` ends with the plugin's own code, that neither model nor surface sees anything of it, and
/// that the next turn works.
async fn check(rig: &Rig, prompt: impl FnOnce(&SessionId) -> String, code: &str) {
    let model = model(&[json!({ "text": "fine" })]);
    let agent = rig.harness.create(None, model.clone()).await.unwrap();
    let id = agent.live().header().id.clone();
    let end = turn(&agent, &prompt(&id)).await;
    let TurnEnd::Error { error } = end else { panic!("{end:?}") };
    assert_eq!(error.code, format!("SESSION_REFERENCE_{code}"), "{error:?}");
    assert_eq!(error.plugin.as_deref(), Some("session-reference"));
    assert!(model.requests().is_empty() && rig.on_disk(&id).is_empty());
    assert_eq!(turn(&agent, "something else").await, TurnEnd::Completed);
    assert_eq!(rig.on_disk(&id).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mention_that_names_nothing() {
    let rig = Rig::empty().await;
    check(&rig, |_| "@[x](dsh-session:%%%)".into(), "INVALID_REFERENCE").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_not_there() {
    let rig = Rig::empty().await;
    check(&rig, |_| mention(&SessionId::new("gone")), "READ_FAILED").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_mentions_itself() {
    let rig = Rig::empty().await;
    check(&rig, mention, "SELF_REFERENCE").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_sessions_than_a_message_can_hold() {
    let rig = Rig::empty().await;
    let mut prompt = String::new();
    for word in ["a", "b", "c", "d"] {
        prompt += &mention(&rig.session(&[word]).await);
    }
    check(&rig, |_| prompt, "TOO_MANY").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_that_nothing_fits_into() {
    let mut plugin = Composed::from(dsh_plugins::SESSION_REFERENCE);
    plugin.settings = Settings([("maxReferenceBytes".to_owned(), json!(16))].into_iter().collect());
    let rig = Rig::with(Options { plugins: vec![plugin], ..Options::standard() }).await;
    let source = rig.session(&["MARMALADE"]).await;
    check(&rig, |_| mention(&source), "BUDGET_EXCEEDED").await;
}

/// Reads that never come back.
struct Hangs;

#[async_trait]
impl host::Sessions for Hangs {
    async fn list(&self, _: &Asker) -> Result<Vec<host::Header>, Failure> {
        std::future::pending().await
    }
    async fn titles(&self, _: &Asker, _: &[String]) -> Vec<Result<Option<String>, Failure>> {
        std::future::pending().await
    }
    async fn surfaces(
        &self,
        _: &Asker,
        _: &[String],
    ) -> Vec<Result<Arc<dyn host::Surface>, Failure>> {
        std::future::pending().await
    }
    async fn own_notes(&self, _: &Asker, _: &str) -> Result<Vec<host::OwnNote>, Failure> {
        std::future::pending().await
    }
}

fn hanging(rig: &Rig) -> Services {
    let log = rig.harness.services().log.clone();
    Services::new(Arc::new(Hangs), log, Arc::new(|| "never".to_owned()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_cancelled_while_a_read_hangs_ends_with_its_cause() {
    let rig = Rig::empty().await;
    let source = rig.session(&["MARMALADE"]).await;
    let header = Header::new(SessionId::new("waiting"), 1, None);
    let live = rig.harness.sessions().create(header, None).await.unwrap();
    let chain = Chain::new(rig.harness.plugins().iter().map(|loaded| loaded.plugin.clone()));
    let sandbox = Sandbox { chain, services: hanging(&rig), cwd: None };
    let model = model(&[]);
    let composition =
        Composition { pre_step: Arc::new(sandbox), ..Composition::new(model.clone()) };
    let ids = Arc::new(|| "m1".to_owned());
    let agent = Agent::start(live, Progress::default(), composition, ids);
    let mut events = agent.live().subscribe();
    agent.followup(agent.prompt(&mention(&source)).unwrap()).await.unwrap();
    while events.next().await.is_some_and(|event| &*event.kind != "turn/start") {}
    agent.cancel(Cause::User, false).await.unwrap();
    // Not a measurement: without an end of its own the read would never return.
    let idle = tokio::time::timeout(Duration::from_secs(5), agent.when_idle()).await;
    idle.expect("the turn ends").unwrap();
    let end = agent.last_turn().unwrap().end;
    assert_eq!(end, TurnEnd::Aborted { reason: Cause::User });
    assert!(model.requests().is_empty() && agent.live().messages().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn candidates_can_be_given_up_while_a_read_hangs() {
    let rig = Rig::empty().await;
    let target = host::Target { session: "s".into(), cwd: None };
    let services = hanging(&rig);
    let plugin = rig.harness.mentions().unwrap();
    let waited = tokio::time::timeout(
        Duration::from_millis(20),
        plugin.candidates(&services, &target, "", None),
    );
    assert!(waited.await.is_err(), "a read that hangs gave candidates");
    let found = plugin.candidates(rig.harness.services(), &target, "", None).await.unwrap();
    assert_eq!(found, []);
}
