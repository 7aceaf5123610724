//! How a turn ended: as an exit code, in words, and as JSON.

use dsh_agent::{Cause, TurnEnd};
use serde::Serialize;

use crate::exit::Exit;
use crate::visible::{Line, Lines};

/// The end of a turn, in the words that `--json` promises.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Outcome {
    /// `completed`, `error`, `blocked`, `max-tokens`, `aborted` or `interrupted`.
    pub outcome: &'static str,
    /// Why, where it is not completed.
    pub error: Option<Reason>,
}

/// Why a turn did not complete.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Reason {
    /// The plugin's or the model's own; of a rejection `blocked`, of a cancelled turn its cause.
    pub code: String,
    /// For people; empty where nobody gave a reason.
    pub message: String,
    /// The plugin that failed or rejected.
    pub plugin: Option<String>,
}

impl Outcome {
    /// In the words of `--json`.
    pub(crate) fn of(end: &TurnEnd) -> Self {
        let (outcome, error) = match end {
            TurnEnd::Completed => ("completed", None),
            TurnEnd::MaxTokens => ("max-tokens", None),
            TurnEnd::Interrupted => ("interrupted", None),
            TurnEnd::Aborted { reason } => ("aborted", Some(Reason::new(cause(reason), ""))),
            TurnEnd::Blocked { reason, plugin, .. } => {
                let said = reason.as_deref().unwrap_or_default();
                ("blocked", Some(Reason { plugin: plugin.clone(), ..Reason::new("blocked", said) }))
            }
            TurnEnd::Error { error } => {
                let reason = Reason::new(&error.code, &error.message);
                ("error", Some(Reason { plugin: error.plugin.clone(), ..reason }))
            }
        };
        Self { outcome, error }
    }

    /// It could not be done, for this reason.
    pub(crate) fn failed(reason: &str) -> Self {
        Self { outcome: "error", error: Some(Reason::new("failed", reason)) }
    }

    /// The exit code.
    pub(crate) fn exit(&self) -> Exit {
        match self.outcome {
            "completed" => Exit::Done,
            "blocked" => Exit::TurnBlocked,
            "max-tokens" => Exit::MaxTokens,
            "aborted" => Exit::Interrupted,
            _ => Exit::TurnFailed,
        }
    }

    /// A sentence for people, with a way out; none where the turn completed.
    pub(crate) fn sentence(&self) -> Option<String> {
        let reason = self.error.as_ref();
        // Each of them comes from a log, so a stranger may have written it.
        let message = Lines(reason.map(|reason| &*reason.message).unwrap_or_default()).to_string();
        let code = Line(reason.map(|reason| &*reason.code).unwrap_or_default()).to_string();
        let plugin = reason.and_then(|reason| reason.plugin.as_deref());
        let plugin = plugin.map(|plugin| Line(plugin).to_string());
        Some(match (self.outcome, plugin.as_deref()) {
            ("completed", _) => return None,
            ("max-tokens", _) => "the reply ends here: the model's token limit is reached".into(),
            ("aborted", _) => "cancelled".into(),
            ("interrupted", _) => {
                "interrupted: its process stopped before this turn was done".into()
            }
            ("blocked", plugin) => {
                let by = plugin.unwrap_or("the harness");
                let why = if message.is_empty() { "it gave no reason".into() } else { message };
                format!("{by} let no step begin: {why}")
            }
            ("error", Some(plugin))
                if matches!(&*code, "trap" | "limit" | "refused" | "quarantined") =>
            {
                format!("a plugin failed, and the message was not sent: {message} ({plugin})")
            }
            ("error", Some(plugin)) => format!("{plugin} refused this message: {message} [{code}]"),
            (outcome, _) => format!("the turn ended in {outcome}: {message} [{code}]"),
        })
    }
}

impl Reason {
    fn new(code: &str, message: &str) -> Self {
        Self { code: code.to_owned(), message: message.to_owned(), plugin: None }
    }
}

fn cause(cause: &Cause) -> &str {
    match cause {
        Cause::User => "user",
        Cause::Parent => "parent",
        Cause::Hook { .. } => "hook",
        Cause::Disposed => "disposed",
    }
}
