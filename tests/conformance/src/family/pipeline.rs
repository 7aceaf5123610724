//! `pipeline`: from raw logs to what the model reads.

use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use dsh_plugin_host::{Failure, Surface};
use serde_json::{Value, json};

use super::{prepare, prestep};
use crate::replayed::{self, ReplayedSurface};
use crate::scripted::{self, Scripted};
use crate::subject::Subject;
use crate::vector::{Got, Vector};

pub(super) async fn run(subject: &Subject, vector: &Vector) -> Result<Got> {
    let mut sessions = Scripted::default();
    for session in vector.input("sessions").as_array().context("no sessions")? {
        let header = scripted::header(session.get("header").context("no header")?)?;
        let events = replayed::events(session.get("events").unwrap_or(&Value::Null))?;
        let id = header.id.clone();
        sessions.surfaces.insert(id, surface(header, events)?);
    }
    match vector.input_str("op")? {
        "prepare" => prepare::prepare(subject, vector, sessions).await,
        "prestep" => {
            let messages = vector.input("messages").as_array().context("no messages")?;
            let entered = |decision: Value| Ok(json!({ "messages": decision.get("messages") }));
            prestep::handle(subject, vector, sessions, messages, None, entered).await
        }
        other => bail!("unknown op {other}"),
    }
}

/// The surface of a raw log, or the failure of reading it.
fn surface(
    header: dsh_plugin_host::Header,
    events: &[Value],
) -> Result<Result<Arc<dyn Surface>, Failure>> {
    let id = dsh_session::SessionId::from_escaped(&header.id).context("no session's id")?;
    Ok(match replayed::replay(&id, events) {
        Ok(mut replayed) => {
            Ok(Arc::new(ReplayedSurface { header, surface: replayed.replay.surface() }))
        }
        Err(error) => Err(Failure::new("unreadable", error.to_string())),
    })
}
