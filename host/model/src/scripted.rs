//! A model that says what a script tells it to.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::{self, BoxStream};

use dsh_agent::{Chunk, Finish, Model, ModelFailure, Request, Route};

use crate::Script;
use crate::script::ScriptedReply;

/// Replays a [`Script`], one reply for each request. Clones share what is left of it.
///
/// When the script is over, every further request fails with the code `SCRIPT_ENDED`.
#[derive(Clone)]
pub struct Scripted {
    route: Route,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    replies: VecDeque<ScriptedReply>,
    requests: Vec<Request>,
}

impl Scripted {
    /// Replays `script` under the provider `dsh-wasm`, model `scripted`.
    pub fn new(script: Script) -> Self {
        Self::routed(script, Route::new("dsh-wasm", "scripted"))
    }

    /// Replays `script` as if it were another model.
    pub fn routed(script: Script, route: Route) -> Self {
        let state = State { replies: script.replies.into(), requests: Vec::new() };
        Self { route, state: Arc::new(Mutex::new(state)) }
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.state().requests.clone()
    }

    /// How many replies are left.
    pub fn left(&self) -> usize {
        self.state().replies.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Model for Scripted {
    fn route(&self) -> Route {
        self.route.clone()
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Chunk> {
        let mut state = self.state();
        let number = state.requests.len();
        let Some(reply) = state.replies.pop_front() else {
            state.requests.push(request);
            return stream::iter([ended(number)]).boxed();
        };
        let chunks = reply.chunks(number, &request);
        state.requests.push(request);
        drop(state);
        let pace = reply.pace();
        let waited = stream::once(wait(reply.delay()));
        let paced =
            waited.flat_map(move |()| stream::iter(chunks.clone())).then(move |chunk| async move {
                wait(pace).await;
                chunk
            });
        if reply.hang { paced.chain(stream::pending()).boxed() } else { paced.boxed() }
    }
}

/// Waits, and lets others run even where there is nothing to wait for.
async fn wait(time: Duration) {
    if time.is_zero() {
        tokio::task::yield_now().await;
    } else {
        tokio::time::sleep(time).await;
    }
}

fn ended(replies: usize) -> Chunk {
    let message = format!("the script is over: it holds {replies} replies");
    let reason = Finish::Error { failure: ModelFailure::new("SCRIPT_ENDED", message) };
    Chunk::Finish { reason, replay_state: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dsh_session::SessionId;
    use futures::FutureExt as _;

    fn request() -> Request {
        let header = serde_json::from_str(r#"{"config":{"provider":"p","model":"m"}}"#).unwrap();
        Request { session: SessionId::new("s"), header, messages: Vec::new() }
    }

    #[tokio::test]
    async fn replies_come_in_order_and_then_no_more() {
        let model = Scripted::new(Script::parse("{\"text\":\"a\"}").unwrap());
        let first: Vec<Chunk> = model.stream(request()).collect().await;
        assert!(first.contains(&Chunk::TextDelta { index: 0, text: "a".into() }));
        assert_eq!(model.left(), 0);
        let second: Vec<Chunk> = model.stream(request()).collect().await;
        assert_eq!(second, [ended(1)]);
        assert_eq!(model.requests().len(), 2);
    }

    #[tokio::test]
    async fn a_hanging_reply_never_finishes() {
        let model = Scripted::new(Script::parse(r#"{"text":"a","hang":true}"#).unwrap());
        let mut chunks = model.stream(request());
        // Its start and its one delta.
        assert!(chunks.next().await.is_some());
        assert!(chunks.next().await.is_some());
        assert!(chunks.next().now_or_never().is_none());
    }

    #[tokio::test]
    async fn an_error_breaks_the_text_off() {
        let script = r#"{"text":"a","error":{"code":"SERVER","message":"unwell"}}"#;
        let model = Scripted::new(Script::parse(script).unwrap());
        let chunks: Vec<Chunk> = model.stream(request()).collect().await;
        let failure = ModelFailure::new("SERVER", "unwell");
        let end = Chunk::Finish { reason: Finish::Error { failure }, replay_state: None };
        assert_eq!(chunks.last(), Some(&end));
        assert!(!chunks.iter().any(|chunk| matches!(chunk, Chunk::BlockEnd { .. })));
    }
}
