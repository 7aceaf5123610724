//! The seam `tool-gate`: whether one tool call may run.

use std::sync::Arc;

use crate::bindings::exports::tool_gate as wit;
use crate::error::{CallError, Cause};
use crate::plugin::Plugin;
use crate::services::Services;

pub(crate) const CHECK: &str = "dsh:agent/tool-gate.check";

/// One tool call of the model that is about to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// The session that it runs in.
    pub session: String,
    /// From one.
    pub turn: u64,
    /// From one, within the turn.
    pub step: u64,
    /// The model's id of the call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// As the model gave them, JSON; text that is none as a JSON string.
    pub arguments: String,
    /// Whether it changes nothing: a word of the embedder's own tools, or of a server that the operator trusts.
    pub read_only: bool,
}

/// What a gate says about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may run.
    Allow,
    /// It does not run; the model reads the reason.
    Deny(String),
    /// The person decides; the text says why they are asked.
    Ask(Option<String>),
}

impl Plugin {
    /// What its gate says about one call. Several plugins' gates are asked together by [`Gates`](crate::Gates).
    ///
    /// # Errors
    ///
    /// The plugin's own failure, or whatever else ended the call. Each of them denies.
    pub async fn check_tool(
        &self,
        services: &Services,
        call: &ToolCall,
    ) -> Result<Verdict, CallError> {
        let (this, call) = (self.clone(), Arc::new(call.clone()));
        let session = call.session.clone();
        let mut state = self.state(services, Some(&session));
        state.turn = Some((call.turn, call.step));
        self.call(state, services, CHECK, move |store, instance| {
            Box::pin(async move {
                let Some(seam) = &this.seams().tool_gate else {
                    return Ok(Err(Cause::NotExported));
                };
                let guest = seam.load(&mut *store, &instance)?;
                let handle = store.data_mut().push(call)?;
                let verdict = guest.call_check(&mut *store, handle).await?;
                let state = store.data_mut();
                match verdict {
                    Ok(verdict) => {
                        state.output(bytes(&verdict))?;
                        Ok(Ok(verdict.into()))
                    }
                    Err(failure) => Ok(Err(Cause::Failed(state.failure(failure)?))),
                }
            })
        })
        .await
    }
}

fn bytes(verdict: &wit::Verdict) -> usize {
    match verdict {
        wit::Verdict::Deny(text) | wit::Verdict::Ask(Some(text)) => text.len(),
        wit::Verdict::Allow | wit::Verdict::Ask(None) => 0,
    }
}

impl From<wit::Verdict> for Verdict {
    fn from(verdict: wit::Verdict) -> Verdict {
        match verdict {
            wit::Verdict::Allow => Verdict::Allow,
            wit::Verdict::Deny(reason) => Verdict::Deny(reason),
            wit::Verdict::Ask(reason) => Verdict::Ask(reason),
        }
    }
}
