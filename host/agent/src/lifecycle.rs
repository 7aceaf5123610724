//! The events that a turn leaves in the log, each with exactly the members of the contract in their order.

use serde::Serialize;

use dsh_session::{Draft, Json, Message};

use crate::{Cause, Chunk, Failure, LogError, ModelFailure, Usage};

/// The type of the event that keeps why a step was rejected; readers that do not know it pass over it.
pub const REJECTED: &str = "agent/pre-step/rejected";

/// How a turn ended (contracts §1.3, `turn/end`).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TurnEnd {
    /// The model said all it had to say.
    Completed,
    /// Somebody cancelled it.
    Aborted {
        /// Who.
        reason: Cause,
    },
    /// A plugin rejected a step.
    ///
    /// The real client refuses a log whose end says more than that, so an event of its own before it,
    /// [`REJECTED`], keeps the rest; an end that was read from a log is without it.
    Blocked {
        /// For people.
        #[serde(skip)]
        reason: Option<String>,
        /// Who rejected it.
        #[serde(skip)]
        plugin: Option<String>,
        /// For programs.
        #[serde(skip)]
        details: Option<Json>,
    },
    /// It failed.
    Error {
        /// Why.
        error: Box<TurnError>,
    },
    /// The output limit cut a reply of it short.
    MaxTokens,
    /// The process died; only repair writes this.
    Interrupted,
}

/// Why a turn failed: a model's failure verbatim, or that of a plugin or of the loop.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnError {
    /// For people.
    pub message: String,
    /// The model's or the plugin's own, or one of the loop: `LOG`, `INVALID_DECISION`, `INVALID_CONTEXT`,
    /// `EMPTY_RESPONSE`, `PANIC`.
    pub code: String,
    /// See [`ModelFailure::status`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// See [`ModelFailure::provider_retry_after_ms`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_retry_after_ms: Option<u64>,
    /// See [`ModelFailure::request_id`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The plugin that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
    /// For programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Json>,
}

impl TurnEnd {
    /// Reads the reason of a logged `turn/end`; none where it has no kind that this version knows.
    pub fn parse(reason: &Json) -> Option<Self> {
        let reason = reason.object().ok()?;
        Some(match &*reason.text("kind")? {
            "completed" => Self::Completed,
            "aborted" => Self::Aborted { reason: reason.read("reason")? },
            "blocked" => Self::Blocked { reason: None, plugin: None, details: None },
            "error" => Self::Error { error: Box::new(TurnError::parse(&reason.read("error")?)?) },
            "max-tokens" => Self::MaxTokens,
            "interrupted" => Self::Interrupted,
            _ => return None,
        })
    }

    /// A failure of the loop itself.
    pub(crate) fn failed(code: &str, message: impl Into<String>) -> Self {
        ModelFailure::new(code, message).into()
    }
}

impl TurnError {
    fn parse(error: &Json) -> Option<Self> {
        let failure: ModelFailure = error.read().ok()?;
        let members = error.object().ok()?;
        let plugin = members.text("plugin").map(|plugin| plugin.as_ref().to_owned());
        Some(Self { plugin, details: members.read("details"), ..failure.into() })
    }
}

impl From<ModelFailure> for TurnError {
    fn from(failure: ModelFailure) -> Self {
        let ModelFailure { message, code, status, provider_retry_after_ms, request_id } = failure;
        let (plugin, details) = (None, None);
        Self { message, code, status, provider_retry_after_ms, request_id, plugin, details }
    }
}

impl From<ModelFailure> for TurnEnd {
    fn from(failure: ModelFailure) -> Self {
        Self::Error { error: Box::new(failure.into()) }
    }
}

impl From<Failure> for TurnEnd {
    fn from(failure: Failure) -> Self {
        let Failure { code, message, details, by } = failure;
        let error = TurnError { plugin: by, details, ..ModelFailure::new(&code, message).into() };
        Self::Error { error: Box::new(error) }
    }
}

impl From<LogError> for TurnEnd {
    /// The whole chain of causes, since the log is what cannot be asked for more.
    fn from(error: LogError) -> Self {
        Self::failed("LOG", causes(&error))
    }
}

/// An error and what is behind it, in one line.
pub(crate) fn causes(error: &dyn std::error::Error) -> String {
    let chain = std::iter::successors(Some(error), |error| error.source());
    chain.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// An event that only the log keeps.
pub(crate) fn draft<T: Serialize>(kind: &str, data: &T) -> Result<Draft, LogError> {
    Ok(Draft::new(kind, Json::of(data)?))
}

/// Where in a session something happens; the first members of most events.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Place {
    pub(crate) turn: u64,
    pub(crate) step: u64,
}

impl Place {
    pub(crate) fn turn_start(self) -> Result<Draft, LogError> {
        #[derive(Serialize)]
        struct Data {
            turn: u64,
        }
        draft("turn/start", &Data { turn: self.turn })
    }

    pub(crate) fn turn_end(self, reason: &TurnEnd) -> Result<Draft, LogError> {
        #[derive(Serialize)]
        struct Data<'a> {
            turn: u64,
            reason: &'a TurnEnd,
        }
        draft("turn/end", &Data { turn: self.turn, reason })
    }

    /// Why a step was rejected that would have been this one.
    pub(crate) fn rejected(
        self,
        reason: Option<&str>,
        plugin: Option<&str>,
        details: Option<&Json>,
    ) -> Result<Draft, LogError> {
        #[derive(Serialize)]
        struct Data<'a> {
            turn: u64,
            step: u64,
            #[serde(skip_serializing_if = "Option::is_none")]
            reason: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            plugin: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            details: Option<&'a Json>,
        }
        let Self { turn, step } = self;
        let draft = draft(REJECTED, &Data { turn, step, reason, plugin, details })?;
        Ok(Draft { ignorable: true, ..draft })
    }

    pub(crate) fn step_start(self) -> Result<Draft, LogError> {
        draft("step/start", &self)
    }

    pub(crate) fn step_end(self) -> Result<Draft, LogError> {
        draft("step/end", &self)
    }

    pub(crate) fn chunk(self, chunk: &Chunk) -> Result<Draft, LogError> {
        #[derive(Serialize)]
        struct Data<'a> {
            turn: u64,
            step: u64,
            chunk: &'a Chunk,
        }
        draft("assistant/chunk", &Data { turn: self.turn, step: self.step, chunk })
    }

    /// The assembled reply, made from the chunks at `seqs`.
    pub(crate) fn assistant_message(
        self,
        message: &Message,
        usage: Option<Usage>,
        interrupted: bool,
        seqs: Vec<u64>,
    ) -> Result<Draft, LogError> {
        #[derive(Serialize)]
        struct Data<'a> {
            turn: u64,
            step: u64,
            message: &'a Json,
            #[serde(skip_serializing_if = "Option::is_none")]
            usage: Option<Usage>,
            #[serde(skip_serializing_if = "std::ops::Not::not")]
            interrupted: bool,
        }
        let Self { turn, step } = self;
        let data = Data { turn, step, message: message.json(), usage, interrupted };
        Ok(Draft::node("assistant/message", Json::of(&data)?, Some(seqs)))
    }

    pub(crate) fn tool_call(
        self,
        id: &str,
        name: &str,
        arguments: &str,
    ) -> Result<Draft, LogError> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Data<'a> {
            turn: u64,
            step: u64,
            call_id: &'a str,
            name: &'a str,
            arguments: &'a str,
        }
        let Self { turn, step } = self;
        draft("tool/call", &Data { turn, step, call_id: id, name, arguments })
    }
}

/// A title made of the words of the message at `seq`.
pub(crate) fn fallback_title(title: &str, seq: u64) -> Result<Draft, LogError> {
    #[derive(Serialize)]
    struct Kind {
        kind: &'static str,
    }
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Data<'a> {
        title: &'a str,
        message_seqs: [u64; 1],
        source: Kind,
    }
    draft("session/title", &Data { title, message_seqs: [seq], source: Kind { kind: "fallback" } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(end: &TurnEnd, json: &str) {
        assert_eq!(serde_json::to_string(end).unwrap(), json);
        assert_eq!(TurnEnd::parse(&Json::parse(json).unwrap()).as_ref(), Some(end));
    }

    #[test]
    fn ends_are_written_as_recorded_and_read_again() {
        check(&TurnEnd::Completed, r#"{"kind":"completed"}"#);
        check(&TurnEnd::MaxTokens, r#"{"kind":"max-tokens"}"#);
        check(&TurnEnd::Interrupted, r#"{"kind":"interrupted"}"#);
        check(
            &TurnEnd::Aborted { reason: Cause::User },
            r#"{"kind":"aborted","reason":{"kind":"user"}}"#,
        );
        let failure = ModelFailure {
            status: Some(401),
            request_id: Some("req-61".into()),
            ..ModelFailure::new("AUTH", "the key is not known here")
        };
        check(
            &failure.into(),
            r#"{"kind":"error","error":{"message":"the key is not known here","code":"AUTH","status":401,"requestId":"req-61"}}"#,
        );
    }

    #[test]
    fn a_rejection_says_no_more_in_the_end_than_the_real_client_reads() {
        let (reason, details) = (Some("not on Mondays".into()), None);
        let end = TurnEnd::Blocked { reason, plugin: Some("p".into()), details };
        assert_eq!(serde_json::to_string(&end).unwrap(), r#"{"kind":"blocked"}"#);
        let place = Place { turn: 1, step: 2 };
        let draft = place.rejected(Some("not on Mondays"), Some("p"), None).unwrap();
        let data = r#"{"turn":1,"step":2,"reason":"not on Mondays","plugin":"p"}"#;
        assert_eq!((draft.data.as_str(), draft.ignorable), (data, true));
    }

    #[test]
    fn a_plugin_is_named_with_its_failure() {
        let failure = Failure {
            details: Some(Json::parse("[1]").unwrap()),
            by: Some("session-reference".into()),
            ..Failure::new("SELF_REFERENCE", "no")
        };
        check(
            &failure.into(),
            r#"{"kind":"error","error":{"message":"no","code":"SELF_REFERENCE","plugin":"session-reference","details":[1]}}"#,
        );
        let (reason, plugin, details) = (None, None, None);
        check(&TurnEnd::Blocked { reason, plugin, details }, r#"{"kind":"blocked"}"#);
    }
}
