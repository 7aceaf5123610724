//! A model that says what a test feeds it, when the test feeds it.

use std::sync::Arc;

use dsh_agent::{BlockType, Chunk, Composition, Finish, Model, ReplyBlock, Request, Route};
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::rig::Rig;

/// Streams what it is fed; a reply lasts until its finish is fed.
pub(crate) struct Fed {
    route: Route,
    chunks: Arc<tokio::sync::Mutex<UnboundedReceiver<Chunk>>>,
}

/// The other end of a [`Fed`].
pub(crate) struct Feed(UnboundedSender<Chunk>);

impl Fed {
    pub(crate) fn new(route: Route) -> (Arc<Self>, Feed) {
        let (sender, chunks) = unbounded_channel();
        let chunks = Arc::new(tokio::sync::Mutex::new(chunks));
        (Arc::new(Self { route, chunks }), Feed(sender))
    }

    /// The same model by another route.
    pub(crate) fn routed(&self, route: Route) -> Arc<Self> {
        Arc::new(Self { route, chunks: Arc::clone(&self.chunks) })
    }
}

/// A rig whose agent runs a turn on "first" and has begun to answer.
pub(crate) async fn answering() -> (Rig, Feed) {
    let (model, feed) = Fed::new(Route::new("p", "m"));
    let mut rig = Rig::start(Composition::new(model)).await;
    rig.agent.followup(rig.prompt("first")).await.unwrap();
    feed.text("so");
    rig.until("assistant/chunk").await;
    (rig, feed)
}

impl Model for Fed {
    fn route(&self) -> Route {
        self.route.clone()
    }

    fn stream(&self, _: Request) -> BoxStream<'static, Chunk> {
        let chunks = Arc::clone(&self.chunks);
        stream::unfold(chunks, |chunks| async {
            let chunk = chunks.lock().await.recv().await?;
            Some((chunk, chunks))
        })
        .boxed()
    }
}

impl Feed {
    pub(crate) fn chunk(&self, chunk: Chunk) {
        self.0.send(chunk).unwrap();
    }

    /// Some text of a reply that goes on.
    pub(crate) fn text(&self, text: &str) {
        self.chunk(Chunk::BlockStart { index: 0, block_type: BlockType::Text });
        self.chunk(Chunk::TextDelta { index: 0, text: text.into() });
    }

    pub(crate) fn finish(&self, reason: Finish) {
        self.chunk(Chunk::Finish { reason, replay_state: None });
    }

    /// A whole reply of text.
    pub(crate) fn say(&self, text: &str) {
        self.text(text);
        self.finish(Finish::Stop);
    }

    /// A whole reply that calls tools: ids, names and arguments.
    pub(crate) fn call(&self, calls: &[(&str, &str, &str)]) {
        for (index, (id, name, arguments)) in (0..).zip(calls) {
            let [id, name, arguments] = [id, name, arguments].map(ToString::to_string);
            self.chunk(Chunk::BlockEnd {
                index,
                block: ReplyBlock::ToolCall { id, name, arguments },
            });
        }
        self.finish(Finish::ToolCalls);
    }
}
