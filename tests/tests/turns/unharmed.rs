//! Whatever a plugin does in one session, the others stream on.

use std::sync::Arc;
use std::sync::Mutex;

use dsh_agent::{Agent, Chunk, Composition, Model, Progress, Request, Route, TurnEnd};
use dsh_model::Scripted;
use dsh_plugin_host::Chain;
use dsh_session::{Header, SessionId};
use dsh_tests::{Rig, model, turn};
use dsh_wasm::Sandbox;
use futures::StreamExt as _;
use futures::stream::BoxStream;
use program_tests as programs;
use serde_json::json;

/// A model that lets others go first before each piece of its reply.
struct Yielding(Arc<Scripted>);

impl Model for Yielding {
    fn route(&self) -> Route {
        self.0.route()
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Chunk> {
        let pieces = self.0.stream(request).then(|chunk| async {
            tokio::task::yield_now().await;
            chunk
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
async fn check(path: &str, stays: bool) {
    let rig = Rig::empty().await;
    let replies = [json!({ "text": SAID }), json!({ "text": SAID })];
    let model: Arc<dyn Model> = Arc::new(Yielding(model(&replies)));
    let talks = agent(&rig, "talks", Chain::default(), model.clone()).await;
    let harms = agent(&rig, "harms", programs::chain(&[path]).await, model).await;
    let order = Mutex::new(Vec::new());
    let (talked, harmed) = tokio::join!(
        async {
            let end = turn(&talks, "go on").await;
            order.lock().unwrap().push("talks");
            end
        },
        async {
            let end = turn(&harms, "go on").await;
            order.lock().unwrap().push("harms");
            end
        },
    );
    assert_eq!(talked, TurnEnd::Completed, "{path}");
    let TurnEnd::Error { error } = harmed else { panic!("{path}: {harmed:?}") };
    assert!(error.plugin.is_some(), "{path}: {error:?}");
    if stays {
        assert_eq!(order.into_inner().unwrap(), ["talks", "harms"], "{path} held the thread");
    }
    assert_eq!(turn(&talks, "and on").await, TurnEnd::Completed);
    let texts: Vec<String> = rig
        .on_disk(&SessionId::new("talks"))
        .iter()
        .map(dsh_session::Message::text)
        .map(|text| text.to_string())
        .collect();
    assert_eq!(texts, ["go on", SAID, "and on", SAID], "{path}");
    assert!(rig.on_disk(&SessionId::new("harms")).is_empty(), "{path}");
}

#[tokio::test]
async fn a_plugin_that_never_ends_holds_nobody_up() {
    check(programs::LOOPS, true).await;
    check(programs::LOOPS_BETWEEN_IMPORTS, true).await;
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
        check(path, false).await;
    }
}
