//! Older shapes of events, upgraded as they are read (contracts §1.7).

use thiserror::Error;

use crate::number::safe_integer;
use crate::{Json, Object, Raw, SessionId};

/// An event of an older shape that is none of those that can be upgraded.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("it is a {0} of a shape that was never written")]
pub struct LegacyError(&'static str);

/// What an event is today, where it has an older shape.
#[derive(Debug, PartialEq)]
pub(crate) struct Upgraded {
    pub(crate) kind: &'static str,
    pub(crate) data: Json,
}

/// Where an old event stands: what an upgraded message takes its id from.
pub(crate) struct Origin<'a> {
    pub(crate) session: &'a SessionId,
    pub(crate) seq: u64,
    /// The id of the message that it replaces, where it replaces one.
    pub(crate) replaces: &'a dyn Fn() -> Option<String>,
}

/// The current shape of an event; none where it has it already.
///
/// # Errors
/// When it is a turn's start or end, or steering, of a shape that was never written.
pub(crate) fn upgrade(
    kind: &str,
    data: Raw<'_>,
    origin: &Origin<'_>,
) -> Result<Option<Upgraded>, LegacyError> {
    let object = || data.object();
    Ok(match kind {
        "turn/start" => turn_start(object())?,
        "turn/end" => turn_end(object())?,
        "steering/message" => Some(steering(object(), origin)?),
        "user/message" => object().and_then(|data| user_message(&data, origin)),
        "assistant/message" => object().and_then(|data| assistant_message(&data, origin)),
        "tool/result" => object().and_then(|data| tool_result(&data, origin)),
        _ => None,
    })
}

/// Once a turn's start told what triggered it.
fn turn_start(data: Option<Object<'_>>) -> Result<Option<Upgraded>, LegacyError> {
    let malformed = LegacyError("turn/start");
    let Some(data) = data.filter(|data| data.get("trigger").is_some()) else { return Ok(None) };
    let trigger = data.object("trigger").ok_or(malformed)?;
    let named = trigger.str("kind").is_some_and(|kind| !kind.is_empty());
    match turn(&data) {
        Some(turn) if named && data.has_only(&["turn", "trigger"], &[]) => {
            Ok(Some(Upgraded { kind: "turn/start", data: object(&[("turn", turn)]) }))
        }
        _ => Err(malformed),
    }
}

/// Once the reasons of a turn's end had other members.
fn turn_end(data: Option<Object<'_>>) -> Result<Option<Upgraded>, LegacyError> {
    let malformed = LegacyError("turn/end");
    let Some(data) = data else { return Ok(None) };
    let turn = turn(&data).filter(|_| data.has_only(&["turn", "reason"], &[])).ok_or(malformed)?;
    let reason = data.object("reason").ok_or(malformed)?;
    let alone = reason.has_only(&["kind"], &[]);
    let reason = match &*reason.str("kind").ok_or(malformed)? {
        "completed" | "blocked" | "max-tokens" | "interrupted" if alone => return Ok(None),
        "aborted" if reason.get("reason").is_some() => return Ok(None),
        "aborted" if alone => ABORTED_LEGACY.to_owned(),
        "disposed" if alone => ABORTED_DISPOSED.to_owned(),
        "error" if reason.get("error").is_some() => return Ok(None),
        "error" => {
            let failure = failure(&reason).ok_or(malformed)?;
            format!("{{\"kind\":\"error\",\"error\":{failure}}}")
        }
        "completed" | "blocked" | "max-tokens" | "interrupted" | "aborted" | "disposed" => {
            return Err(malformed);
        }
        _ => return Ok(None),
    };
    Ok(Some(Upgraded { kind: "turn/end", data: object(&[("turn", turn), ("reason", &reason)]) }))
}

const ABORTED_LEGACY: &str = r#"{"kind":"aborted","reason":{"kind":"legacy"}}"#;
const ABORTED_DISPOSED: &str = r#"{"kind":"aborted","reason":{"kind":"disposed"}}"#;

/// The failure of an old error reason, as its JSON.
fn failure(reason: &Object<'_>) -> Option<String> {
    safe_integer(reason.get("step")?.get()).filter(|step| *step >= 0)?;
    if let Some(raw) = reason.get("failure")
        && let Some(failure) = raw.object()
        && reason.has_only(&["kind", "step", "failure"], &[])
        && failure.has_only(&["message", "code"], &["status", "providerRetryAfterMs", "requestId"])
        && ["message", "code", "requestId"]
            .iter()
            .all(|name| absent_or(&failure, name, |raw| raw.is_string()))
        && ["status", "providerRetryAfterMs"]
            .iter()
            .all(|name| absent_or(&failure, name, |raw| raw.is_number()))
    {
        return Some(raw.get().to_owned());
    }
    let message = reason.get("message").filter(|raw| raw.is_string())?;
    let code = match reason.get("code") {
        Some(code) if code.is_string() => code.get(),
        Some(_) => return None,
        None => "\"UNKNOWN\"",
    };
    reason
        .has_only(&["kind", "step", "message"], &["code"])
        .then(|| object(&[("message", message.get()), ("code", code)]).as_str().to_owned())
}

fn absent_or(object: &Object<'_>, name: &str, holds: impl Fn(Raw<'_>) -> bool) -> bool {
    object.get(name).is_none_or(holds)
}

/// Steering was an event of its own once.
fn steering(data: Option<Object<'_>>, origin: &Origin<'_>) -> Result<Upgraded, LegacyError> {
    let malformed = LegacyError("steering/message");
    let data = data.ok_or(malformed)?;
    data.get("turn").and_then(|turn| safe_integer(turn.get())).ok_or(malformed)?;
    if let Some(message) = data.get("message").filter(|raw| raw.get().starts_with('{'))
        && data.has_only(&["turn", "message"], &[])
    {
        return Ok(Upgraded { kind: "user/message", data: message.into() });
    }
    match (data.get("content"), data.get("source")) {
        (Some(content), Some(source)) if data.has_only(&["turn", "content", "source"], &[]) => {
            let members = [
                ("content", content.get()),
                ("source", source.get()),
                ("id", &origin.new_id()),
                ("role", "\"user\""),
            ];
            Ok(Upgraded { kind: "user/message", data: object(&members) })
        }
        _ => Err(malformed),
    }
}

/// Messages had no identity once.
fn user_message(data: &Object<'_>, origin: &Origin<'_>) -> Option<Upgraded> {
    let identified = ["id", "role", "message"].iter().any(|name| data.get(name).is_some());
    if identified || data.get("content").is_none() || data.get("source").is_none() {
        return None;
    }
    let id = origin.new_id();
    let mut members: Vec<_> = data.iter().map(|(name, value)| (name, value.get())).collect();
    members.extend([("id", id.as_str()), ("role", "\"user\"")]);
    Some(Upgraded { kind: "user/message", data: object(&members) })
}

/// A reply lay flat in its event once.
fn assistant_message(data: &Object<'_>, origin: &Origin<'_>) -> Option<Upgraded> {
    let (None, Some(content), Some(provenance)) =
        (data.get("message"), data.get("content"), data.get("provenance"))
    else {
        return None;
    };
    let provenance = provenance.object().unwrap_or_default();
    let mut source: Vec<_> = provenance.iter().map(|(name, value)| (name, value.get())).collect();
    source.push(("kind", "\"model\""));
    let message = object(&[
        ("id", &origin.new_id()),
        ("role", "\"assistant\""),
        ("content", content.get()),
        ("source", object(&source).as_str()),
    ]);
    Some(Upgraded {
        kind: "assistant/message",
        data: with_message(data, &["content", "provenance"], &message),
    })
}

/// A tool's result lay flat in its event once.
fn tool_result(data: &Object<'_>, origin: &Origin<'_>) -> Option<Upgraded> {
    let (None, Some(call), Some(content), Some(is_error)) =
        (data.get("message"), data.get("callId"), data.get("content"), data.get("isError"))
    else {
        return None;
    };
    let block = object(&[
        ("type", "\"tool-result\""),
        ("toolCallId", call.get()),
        ("content", content.get()),
        ("isError", is_error.get()),
    ]);
    let id = (origin.replaces)().map_or_else(|| origin.new_id(), |id| quoted(&id));
    let message = object(&[
        ("id", &id),
        ("role", "\"user\""),
        ("content", &format!("[{}]", block.as_str())),
        ("source", object(&[("kind", "\"tool\""), ("callId", call.get())]).as_str()),
    ]);
    Some(Upgraded {
        kind: "tool/result",
        data: with_message(data, &["callId", "content", "isError"], &message),
    })
}

impl Origin<'_> {
    /// The id that every reader gives to a message without one, as JSON.
    fn new_id(&self) -> String {
        format!("\"legacy-message:{}:{}\"", self.session.escaped(), self.seq)
    }
}

/// The members of `data` but those of `names`, and the message.
fn with_message(data: &Object<'_>, names: &[&str], message: &Json) -> Json {
    let mut members: Vec<_> = data
        .iter()
        .filter(|(name, _)| !names.contains(name))
        .map(|(name, value)| (name, value.get()))
        .collect();
    members.push(("message", message.as_str()));
    object(&members)
}

fn turn<'a>(data: &Object<'a>) -> Option<&'a str> {
    let turn = data.get("turn")?.get();
    safe_integer(turn).filter(|turn| *turn >= 1).map(|_| turn)
}

/// An object of members whose values are JSON texts.
fn object(members: &[(&str, &str)]) -> Json {
    let mut text = String::from("{");
    for (name, value) in members {
        let comma = if text.len() == 1 { "" } else { "," };
        text.extend([comma, &quoted(name), ":", value]);
    }
    text.push('}');
    Json::from_trusted(text)
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upgraded(kind: &str, data: &str) -> Result<Option<Upgraded>, LegacyError> {
        let session = SessionId::new("s");
        let origin = Origin { session: &session, seq: 7, replaces: &|| Some("old".into()) };
        let data = Json::parse(data).unwrap();
        upgrade(kind, Raw::from(&data), &origin)
    }

    #[track_caller]
    fn becomes(kind: &str, old: &str, current: &str) {
        let upgraded = upgraded(kind, old).unwrap().unwrap();
        assert_eq!(upgraded.data.as_str(), current);
    }

    #[track_caller]
    fn stays(kind: &str, data: &str) {
        assert_eq!(upgraded(kind, data), Ok(None));
    }

    #[test]
    fn a_turn_start_loses_its_trigger() {
        becomes("turn/start", r#"{"turn":2,"trigger":{"kind":"user"}}"#, r#"{"turn":2}"#);
        stays("turn/start", r#"{"turn":2}"#);
        assert!(upgraded("turn/start", r#"{"turn":0,"trigger":{"kind":"user"}}"#).is_err());
        assert!(upgraded("turn/start", r#"{"turn":2,"trigger":{"kind":""}}"#).is_err());
    }

    #[test]
    fn an_old_reason_becomes_a_current_one() {
        becomes(
            "turn/end",
            r#"{"turn":1,"reason":{"kind":"aborted"}}"#,
            r#"{"turn":1,"reason":{"kind":"aborted","reason":{"kind":"legacy"}}}"#,
        );
        becomes(
            "turn/end",
            r#"{"turn":1,"reason":{"kind":"disposed"}}"#,
            r#"{"turn":1,"reason":{"kind":"aborted","reason":{"kind":"disposed"}}}"#,
        );
        becomes(
            "turn/end",
            r#"{"turn":1,"reason":{"kind":"error","step":1,"message":"m"}}"#,
            r#"{"turn":1,"reason":{"kind":"error","error":{"message":"m","code":"UNKNOWN"}}}"#,
        );
        becomes(
            "turn/end",
            r#"{"turn":1,"reason":{"kind":"error","step":0,"failure":{"message":"m","code":"C","status":500}}}"#,
            r#"{"turn":1,"reason":{"kind":"error","error":{"message":"m","code":"C","status":500}}}"#,
        );
        stays("turn/end", r#"{"turn":1,"reason":{"kind":"completed"}}"#);
        stays("turn/end", r#"{"turn":1,"reason":{"kind":"of-the-future","x":1}}"#);
        for malformed in [
            r#"{"turn":1,"reason":"completed"}"#,
            r#"{"turn":1,"reason":{"kind":"completed","x":1}}"#,
            r#"{"turn":1.5,"reason":{"kind":"completed"}}"#,
            r#"{"turn":1,"reason":{"kind":"error","message":"m"}}"#,
        ] {
            assert!(upgraded("turn/end", malformed).is_err(), "{malformed}");
        }
    }

    #[test]
    fn a_message_without_identity_gets_one() {
        becomes(
            "user/message",
            r#"{"content":[],"source":{"kind":"user"}}"#,
            r#"{"content":[],"source":{"kind":"user"},"id":"legacy-message:s:7","role":"user"}"#,
        );
        becomes(
            "assistant/message",
            r#"{"turn":1,"content":[],"provenance":{"provider":"p","model":"m"},"usage":{}}"#,
            r#"{"turn":1,"usage":{},"message":{"id":"legacy-message:s:7","role":"assistant","content":[],"source":{"provider":"p","model":"m","kind":"model"}}}"#,
        );
        becomes(
            "tool/result",
            r#"{"turn":1,"callId":"c","content":[],"isError":false}"#,
            r#"{"turn":1,"message":{"id":"old","role":"user","content":[{"type":"tool-result","toolCallId":"c","content":[],"isError":false}],"source":{"kind":"tool","callId":"c"}}}"#,
        );
        stays("user/message", r#"{"content":[],"source":{"kind":"user"},"role":"user"}"#);
    }

    #[test]
    fn steering_becomes_a_message_of_the_user() {
        becomes("steering/message", r#"{"turn":1,"message":{"id":"m"}}"#, r#"{"id":"m"}"#);
        becomes(
            "steering/message",
            r#"{"turn":1,"content":[],"source":{"kind":"user"}}"#,
            r#"{"content":[],"source":{"kind":"user"},"id":"legacy-message:s:7","role":"user"}"#,
        );
        assert!(upgraded("steering/message", r#"{"content":[],"id":"u"}"#).is_err());
    }
}
