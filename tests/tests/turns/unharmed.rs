//! Whatever a plugin does in one session, the others stream on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dsh_agent::{Agent, Chunk, Composition, Model, Progress, Request, Route, TurnEnd};
use dsh_model::Scripted;
use dsh_plugin_host::Chain;
use dsh_session::{Header, SessionId};
use dsh_tests::{Rig, model, turn};
use dsh_wasm::Sandbox;
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use program_tests as programs;
use serde_json::json;

/// A model that goes on with the first piece of its reply, letting others go first each time, until it is `over`.
struct Streaming {
    reply: Arc<Scripted>,
    over: Arc<AtomicBool>,
}

impl Model for Streaming {
    fn route(&self) -> Route {
        self.reply.route()
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Chunk> {
        let over = self.over.clone();
        let pieces = self.reply.stream(request).flat_map(move |chunk| {
            let more = matches!(chunk, Chunk::TextDelta { .. });
            let again = stream::unfold((chunk.clone(), over.clone()), move |state| async move {
                tokio::task::yield_now().await;
                (more && !state.1.load(Ordering::Relaxed)).then(|| (state.0.clone(), state))
            });
            stream::once(async { chunk }).chain(again)
        });
        pieces.boxed()
    }
}

const SAID: &str = "one two three four five six";

async fn agent(rig: &Rig, id: &str, chain: Chain, model: Arc<dyn Model>) -> Agent {
    let header = Header::new(SessionId::new(id), 1, None);
    let live = rig.harness.sessions().create(header, None).await.unwrap();
    let sandbox = Sandbox { chain, services: rig.harness.services().clone(), cwd: None };
    let composition = Composition { pre_step: Arc::new(sandbox), ..Composition::new(model) };
    let ids = Arc::new(|| uuid::Uuid::new_v4().to_string());
    Agent::start(live, Progress::default(), composition, ids)
}

/// One thread for everything: a plugin that held it would hold the others.
async fn check(path: &str) {
    let rig = Rig::empty().await;
    let over = Arc::new(AtomicBool::new(false));
    let replies = [json!({ "text": SAID }), json!({ "text": SAID })];
    let streaming = Streaming { reply: model(&replies), over: over.clone() };
    let talks = agent(&rig, "talks", Chain::default(), Arc::new(streaming)).await;
    let harms = agent(&rig, "harms", programs::chain(&[path]).await, model(&replies)).await;
    let mut events = talks.live().subscribe();
    let (talked, ()) = tokio::join!(turn(&talks, "go on"), async {
        while events.next().await.is_some_and(|event| &*event.kind != "assistant/chunk") {}
        let before = talks.live().next_seq();
        let harmed = turn(&harms, "go on").await;
        let TurnEnd::Error { error } = harmed else { panic!("{path}: {harmed:?}") };
        assert!(error.plugin.is_some(), "{path}: {error:?}");
        let meanwhile = talks.live().next_seq() - before;
        assert!(meanwhile > 0, "{path} held the thread");
        over.store(true, Ordering::Relaxed);
    });
    assert_eq!(talked, TurnEnd::Completed, "{path}");
    assert_eq!(turn(&talks, "and on").await, TurnEnd::Completed);
    let messages = rig.on_disk(&SessionId::new("talks"));
    let texts: Vec<String> = messages.iter().map(|message| message.text().to_string()).collect();
    assert_eq!(texts, ["go on", SAID, "and on", SAID], "{path}");
    assert!(rig.on_disk(&SessionId::new("harms")).is_empty(), "{path}");
}

#[tokio::test]
async fn a_plugin_that_never_ends_holds_nobody_up() {
    check(programs::LOOPS).await;
    check(programs::LOOPS_BETWEEN_IMPORTS).await;
}

#[tokio::test]
async fn a_plugin_that_dies_takes_nobody_with_it() {
    for path in [
        programs::PANICS,
        programs::RECURSES,
        programs::EATS_MEMORY,
        programs::HOARDS_HANDLES,
        programs::CALLS_FOR_EVER,
        programs::FLOODS_OUTPUT,
        programs::DUPLICATES,
    ] {
        check(path).await;
    }
}
