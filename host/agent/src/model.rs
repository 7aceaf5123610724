//! The model: what it is asked, and how it answers.

use std::fmt;

use futures::stream::BoxStream;

use dsh_session::{Message, SessionId};

use crate::{Chunk, RequestHeader, RetryPolicy};

/// Answers requests.
///
/// An adapter for a provider, or a script. It never fails by itself: what goes wrong is the last chunk, a
/// [`Finish::Error`](crate::Finish::Error).
pub trait Model: Send + Sync {
    /// Where its requests go.
    fn route(&self) -> Route;

    /// When a request that failed is sent again; by default never.
    fn retry_policy(&self) -> RetryPolicy {
        RetryPolicy::NEVER
    }

    /// Streams the answer to `request`. Dropping the stream gives the call up.
    fn stream(&self, request: Request) -> BoxStream<'static, Chunk>;
}

/// Where requests go, and what an adapter fills in by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The provider; not empty.
    pub provider: String,
    /// The model; not empty.
    pub model: String,
    /// How many tokens fit, where that is known.
    pub context_window: Option<u64>,
    /// The output limit, in tokens, where nobody chose one.
    pub max_tokens: Option<u64>,
    /// The effort, such as `high`, where nobody chose one.
    pub reasoning_effort: Option<String>,
}

impl Route {
    /// A route of which only this is known.
    pub fn new(provider: &str, model: &str) -> Self {
        Self {
            provider: provider.into(),
            model: model.into(),
            context_window: None,
            max_tokens: None,
            reasoning_effort: None,
        }
    }
}

/// What a model is asked. Nothing is in it that the log does not hold (contracts §6.4).
#[derive(Clone, PartialEq)]
pub struct Request {
    /// Whose it is; for the adapter, never for the model.
    pub session: SessionId,
    /// Configuration, system prompt and tools: the latest `request/header` of the log.
    pub header: RequestHeader,
    /// The messages that the surface yields.
    pub messages: Vec<Message>,
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("session", &self.session)
            .field("header", &self.header)
            .field("messages", &self.messages.iter().map(Message::json).collect::<Vec<_>>())
            .finish()
    }
}
