//! A model behind a URL that speaks OpenAI's chat completions.

use std::fmt;
use std::sync::Arc;

use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use reqwest::header::{CONTENT_TYPE, HeaderName};
use tokio::time::{Duration, timeout};

use dsh_agent::{Chunk, Finish, Model, ModelFailure, Request, RetryPolicy, Route};

use crate::answer::Answer;
use crate::endpoint::Service;
use crate::reading::Reading;
use crate::{Endpoint, EndpointError, client, failure, wire};

/// The most that is read of an answer that is no success, in bytes.
const ERROR_BODY: usize = 64 * 1024;

/// How long such an answer may take to come.
const ERROR_PATIENCE: Duration = Duration::from_secs(10);

/// Streams answers from a service. Clones share their connections.
///
/// The request is made from the [`Request`] alone, so the same history is the same bytes. Dropping a stream closes its
/// connection. What goes wrong is the last chunk, with a code of contracts §11.5; an answer that breaks off is never
/// taken for a finished one. Nothing that it says holds the key.
#[derive(Clone)]
pub struct Chat(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) endpoint: Endpoint,
    pub(crate) service: Service,
    pub(crate) client: reqwest::Client,
    session_header: Option<HeaderName>,
}

impl Chat {
    /// A model for this endpoint. Nothing is sent yet.
    ///
    /// # Errors
    /// When something of the endpoint cannot be used.
    pub fn new(endpoint: Endpoint) -> Result<Self, EndpointError> {
        if endpoint.model.is_empty() {
            return Err(EndpointError::Unnamed("model"));
        }
        if endpoint.provider.is_empty() {
            return Err(EndpointError::Unnamed("provider"));
        }
        let service = Service::at(&endpoint.base_url)?;
        let client = client::client(&endpoint, &service)?;
        let session_header = match &endpoint.session_header {
            Some(name) => Some(
                HeaderName::from_bytes(name.as_bytes())
                    .map_err(|_| EndpointError::Header { name: name.clone() })?,
            ),
            None => None,
        };
        Ok(Self(Arc::new(Inner { endpoint, service, client, session_header })))
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }
}

impl fmt::Debug for Chat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Chat").field(&self.0.endpoint).finish()
    }
}

impl Model for Chat {
    fn route(&self) -> Route {
        let endpoint = &self.0.endpoint;
        Route {
            context_window: endpoint.context_window,
            max_tokens: endpoint.max_tokens,
            reasoning_effort: endpoint.reasoning_effort.clone(),
            ..Route::new(&endpoint.provider, &endpoint.model)
        }
    }

    fn retry_policy(&self) -> RetryPolicy {
        self.0.endpoint.retry.clone()
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Chunk> {
        let inner = Arc::clone(&self.0);
        let opened = async move {
            let answer = Answer::to(&request);
            match inner.ask(&request).await {
                Ok(response) => Reading::new(inner, response, answer),
                Err(failure) => Reading::failed(&inner, failure),
            }
        };
        stream::once(opened).flat_map(|reading| stream::unfold(reading, Reading::next)).boxed()
    }
}

impl Inner {
    /// Sends the request, and waits until an answer begins that is a success.
    async fn ask(&self, request: &Request) -> Result<reqwest::Response, ModelFailure> {
        let body = wire::body(request, &self.endpoint.dialect)?;
        let mut asked = self.client.post(self.service.chat.clone());
        asked = asked.header(CONTENT_TYPE, "application/json").body(body);
        if let Some(name) = &self.session_header {
            asked = asked.header(name, client::encoded(&request.session.to_string()));
        }
        let host = &self.service.shown;
        let first_byte = self.endpoint.timeouts.first_byte;
        let response = timeout(first_byte, asked.send()).await;
        let response = response.map_err(|_| self.silent(first_byte))?;
        let response = response.map_err(|error| {
            let what = if error.is_connect() { "cannot be reached" } else { "gave no answer" };
            failure::transport(host, what, error)
        })?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(self.refused(response).await)
    }

    /// Why an answer is no success.
    pub(crate) async fn refused(&self, mut response: reqwest::Response) -> ModelFailure {
        let mut body = Vec::new();
        let read = async {
            while let Ok(Some(piece)) = response.chunk().await {
                body.extend_from_slice(&piece);
                if body.len() >= ERROR_BODY {
                    break;
                }
            }
        };
        // What has come until then is said.
        let _ = timeout(ERROR_PATIENCE, read).await;
        body.truncate(ERROR_BODY);
        failure::of_status(&self.service.shown, response.status(), response.headers(), &body)
    }

    pub(crate) fn silent(&self, waited: Duration) -> ModelFailure {
        let (host, waited) = (&self.service.shown, waited.as_secs_f64());
        ModelFailure::new("TIMEOUT", format!("{host} said nothing for {waited} s"))
    }

    /// The same failure without anything secret: services quote keys.
    pub(crate) fn without_secrets(&self, mut failure: ModelFailure) -> ModelFailure {
        let values = self.endpoint.headers.iter().map(|(_, value)| value);
        for secret in self.endpoint.key.iter().chain(values) {
            failure.message = secret.hide(failure.message);
            failure.request_id = failure.request_id.map(|id| secret.hide(id));
            failure.code = secret.hide(failure.code);
        }
        failure
    }

    /// The end of a call that failed.
    pub(crate) fn end(&self, failure: ModelFailure) -> Chunk {
        let reason = Finish::Error { failure: self.without_secrets(failure) };
        Chunk::Finish { reason, replay_state: None }
    }
}
