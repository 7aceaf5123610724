//! An answer while it is read: events as they come, or one JSON text where a server does not stream.

use std::collections::VecDeque;
use std::sync::Arc;

use dsh_agent::{Chunk, ModelFailure};
use tokio::time::{Duration, Instant, timeout, timeout_at};

use crate::answer::Answer;
use crate::chat::Inner;
use crate::failure;
use crate::sse::{Decoder, Event};

/// How long figures may follow after an answer has said how it ends; a server that keeps the connection open for
/// longer has nothing more to say.
const AFTERWORD: Duration = Duration::from_secs(5);

/// The longest answer that is one JSON text, in bytes.
const LONGEST: usize = 16 * 1024 * 1024;

/// An answer while it is read.
pub(crate) struct Reading {
    inner: Arc<Inner>,
    /// What waits to be told.
    chunks: VecDeque<Chunk>,
    /// None once everything was told.
    rest: Option<Rest>,
}

/// What is still to come.
struct Rest {
    response: reqwest::Response,
    body: Body,
    answer: Answer,
    /// Whether something of the body has come.
    begun: bool,
    /// Until when figures may follow.
    until: Option<Instant>,
}

/// What the body turns out to be.
enum Body {
    /// Nothing but white space so far.
    Blank,
    Events(Decoder),
    Json(Vec<u8>),
}

/// Whether more is to be read.
#[derive(PartialEq, Eq)]
enum Then {
    More,
    Over,
}

impl Reading {
    /// The answer in `response`.
    pub(crate) fn new(inner: Arc<Inner>, response: reqwest::Response, answer: Answer) -> Self {
        let rest = Rest { response, body: Body::Blank, answer, begun: false, until: None };
        Self { inner, chunks: VecDeque::new(), rest: Some(rest) }
    }

    /// No answer.
    pub(crate) fn failed(inner: &Arc<Inner>, failure: ModelFailure) -> Self {
        let chunks = [inner.end(failure)].into();
        Self { inner: Arc::clone(inner), chunks, rest: None }
    }

    /// The next chunk.
    pub(crate) async fn next(mut self) -> Option<(Chunk, Self)> {
        loop {
            if let Some(chunk) = self.chunks.pop_front() {
                return Some((chunk, self));
            }
            let mut rest = self.rest.take()?;
            match rest.read(&self.inner, &mut self.chunks).await {
                Ok(Then::More) => self.rest = Some(rest),
                Ok(Then::Over) => rest.answer.end(&mut self.chunks),
                Err(failure) => self.chunks.push_back(self.inner.end(failure)),
            }
        }
    }
}

impl Rest {
    /// Reads the next piece.
    async fn read(
        &mut self,
        inner: &Inner,
        chunks: &mut VecDeque<Chunk>,
    ) -> Result<Then, ModelFailure> {
        let Some(piece) = self.piece(inner).await? else {
            return self.close(inner, chunks);
        };
        self.begun |= !piece.is_empty();
        let then = self.take(inner, &piece, chunks)?;
        if self.answer.is_finished() && self.until.is_none() {
            self.until = Some(Instant::now() + AFTERWORD);
        }
        Ok(then)
    }

    /// The next bytes; none at the end of the body.
    async fn piece(&mut self, inner: &Inner) -> Result<Option<Vec<u8>>, ModelFailure> {
        if let Some(until) = self.until {
            // What the answer needs is there, however the connection ends.
            let piece = timeout_at(until, self.response.chunk()).await;
            return Ok(piece.ok().and_then(Result::ok).flatten().map(Into::into));
        }
        let timeouts = &inner.endpoint.timeouts;
        let wait = if self.begun { timeouts.idle } else { timeouts.first_byte };
        let piece = timeout(wait, self.response.chunk()).await;
        let piece = piece.map_err(|_| inner.silent(wait))?.map_err(|error| {
            let what = "the connection broke before the answer was finished";
            failure::transport(&inner.service.shown, what, error)
        })?;
        Ok(piece.map(Into::into))
    }

    fn take(
        &mut self,
        inner: &Inner,
        piece: &[u8],
        chunks: &mut VecDeque<Chunk>,
    ) -> Result<Then, ModelFailure> {
        if matches!(self.body, Body::Blank) {
            match first_sign(piece) {
                None => return Ok(Then::More),
                Some(b'{') => self.body = Body::Json(Vec::new()),
                Some(b'<') => return Err(page(inner)),
                Some(_) => self.body = Body::Events(Decoder::default()),
            }
        }
        match &mut self.body {
            Body::Blank => Ok(Then::More),
            Body::Json(text) if text.len() + piece.len() > LONGEST => Err(too_long(inner)),
            Body::Json(text) => {
                text.extend_from_slice(piece);
                Ok(Then::More)
            }
            Body::Events(decoder) => {
                let mut events = VecDeque::new();
                let pushed = decoder.push(piece, &mut events);
                for event in events {
                    if event_taken(&mut self.answer, &event, chunks)? == Then::Over {
                        return Ok(Then::Over);
                    }
                }
                pushed.map(|()| Then::More).map_err(|_| too_long(inner))
            }
        }
    }

    /// The body has ended: either with an answer that is whole, or this is a failure.
    fn close(&mut self, inner: &Inner, chunks: &mut VecDeque<Chunk>) -> Result<Then, ModelFailure> {
        let mut stray = None;
        match std::mem::replace(&mut self.body, Body::Blank) {
            Body::Blank => {}
            Body::Json(text) => {
                let text = String::from_utf8_lossy(&text);
                // A text that does not end as JSON does was cut off.
                if text.trim_end().ends_with('}') {
                    self.answer.take(&text, chunks)?;
                }
            }
            Body::Events(decoder) => {
                stray = decoder.stray().map(str::to_owned);
                let whole = |event: &Event| {
                    let json = serde_json::from_str::<serde::de::IgnoredAny>(&event.data);
                    event.data.trim() == DONE || json.is_ok()
                };
                if let Some(event) = decoder.finish().filter(whole)
                    && event_taken(&mut self.answer, &event, chunks)? == Then::Over
                {
                    return Ok(Then::Over);
                }
            }
        }
        if self.answer.is_finished() {
            return Ok(Then::Over);
        }
        let said = stray.map(|stray| format!("; it said: {stray}")).unwrap_or_default();
        let host = &inner.service.shown;
        let message = format!("{host} closed the connection before the answer was finished{said}");
        Err(ModelFailure::new("TRANSPORT", message))
    }
}

/// What ends a stream of events.
const DONE: &str = "[DONE]";

/// Takes an event. After the last one the answer is over, whether or not it has said how it ends.
fn event_taken(
    answer: &mut Answer,
    event: &Event,
    chunks: &mut VecDeque<Chunk>,
) -> Result<Then, ModelFailure> {
    if event.data.trim() == DONE {
        return Ok(Then::Over);
    }
    if event.name == "error" {
        let error = serde_json::from_str::<serde_json::Value>(&event.data);
        let error = error.unwrap_or_else(|_| event.data.clone().into());
        return Err(failure::of_payload(error.get("error").unwrap_or(&error)));
    }
    if !event.data.trim().is_empty() {
        answer.take(&event.data, chunks)?;
    }
    Ok(Then::More)
}

/// The first byte that is neither white space nor a part of a byte order mark.
fn first_sign(piece: &[u8]) -> Option<u8> {
    let blank = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, 0xef | 0xbb | 0xbf);
    piece.iter().copied().find(|byte| !blank(byte))
}

fn page(inner: &Inner) -> ModelFailure {
    let host = &inner.service.shown;
    failure::malformed(format!("{host} answered with a web page; check the base URL"))
}

fn too_long(inner: &Inner) -> ModelFailure {
    let host = &inner.service.shown;
    failure::malformed(format!("{host} sends a line that has no end"))
}
