//! What the data of messages and request headers must hold for a log to be replayed (contracts §1.3).

use crate::envelope::EventError;
use crate::vocabulary::adds_user_message;
use crate::{Event, Message, MessageError, Object, Raw, Role};

/// The message of an event, where its type is a surface type; `data` is the event's.
///
/// # Errors
/// When the message has not the shape of that type.
pub(crate) fn message(event: &Event, data: Raw<'_>) -> Result<Option<Message>, MessageError> {
    let raw = match &*event.kind {
        kind if adds_user_message(kind) => data,
        "assistant/message" | "tool/result" => {
            let message = data.object().and_then(|data| data.get("message"));
            message.ok_or(MessageError("is missing"))?
        }
        _ => return Ok(None),
    };
    let message = Message::read(event.data.part(raw), raw)?;
    match (&*event.kind, message.role()) {
        ("assistant/message", Role::Assistant) => from_model(&message)?,
        ("tool/result", Role::User) => from_tool(&message)?,
        (kind, Role::User) if adds_user_message(kind) => {}
        _ => return Err(MessageError("has not the role of its event")),
    }
    Ok(Some(message))
}

fn from_model(message: &Message) -> Result<(), MessageError> {
    let source = message.source();
    let facts = source.facts.object().map_err(|_| MessageError("has no source"))?;
    match &*source.kind == "model" && has_model(&facts) {
        true => Ok(()),
        false => Err(MessageError("is a reply and does not name its provider and model")),
    }
}

fn from_tool(message: &Message) -> Result<(), MessageError> {
    let source = message.source();
    let facts = source.facts.object().map_err(|_| MessageError("has no source"))?;
    let call = facts.str("callId").filter(|id| &*source.kind == "tool" && !id.is_empty());
    let call = call.ok_or(MessageError("is a tool's result and does not name its call"))?;
    match message.answers() {
        Some(answered) if answered == call => Ok(()),
        Some(_) => Err(MessageError("names two different tool calls")),
        None => Err(MessageError("is a tool's result and not exactly one result block")),
    }
}

/// Checks the data of a `request/header`: what a request is made from.
pub(crate) fn request_header(data: Raw<'_>) -> Result<(), EventError> {
    let wrong = EventError::RequestHeader;
    let data = data.object().unwrap_or_default();
    if data.str("reason").as_deref() == Some("fallback") {
        return Err(wrong("has the retired reason `fallback`"));
    }
    let header = data.object("header").ok_or(wrong("is missing"))?;
    let config = header.object("config").filter(has_model);
    let config = config.ok_or(wrong("does not name its provider and model"))?;
    if config
        .get("reasoningEffort")
        .is_some_and(|raw| raw.text().is_none_or(|text| text.is_empty()))
    {
        return Err(wrong("has an empty reasoning effort"));
    }
    let Some(defaults) = header.get("adapterDefaults") else { return Ok(()) };
    let defaults = defaults.object().ok_or(wrong("has adapter defaults that are no object"))?;
    let fits = defaults.iter().all(|(name, value)| {
        matches!(name, "reasoningEffort" | "maxTokens")
            && value.get() == "true"
            && config.get(name).is_some()
    });
    if fits { Ok(()) } else { Err(wrong("has adapter defaults that its config does not bear out")) }
}

fn has_model(pair: &Object<'_>) -> bool {
    ["provider", "model"].iter().all(|name| pair.str(name).is_some_and(|text| !text.is_empty()))
}
