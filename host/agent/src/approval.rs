//! Takes a tool call through the gates, and asks the person where one of them says so.

use serde::Serialize;

use crate::turn::Turn;
use crate::{Approval, Call, LogError, ToolError, Verdict, foreign, lifecycle};

impl Turn<'_> {
    /// Whether `call` may run; if not, what the model reads. Deny beats ask, ask beats allow, a failure denies.
    pub(crate) async fn pass_gates(&self, call: &Call) -> Result<(), ToolError> {
        let mut asked: Option<Option<String>> = None;
        for gate in &self.composition.gates {
            let checked = self.unless_cancelled(foreign::call(gate.check(call))).await;
            match checked.map_err(|_| ToolError::not_started())? {
                Ok(Ok(Verdict::Allow)) => {}
                Ok(Ok(Verdict::Ask(reason))) => asked = asked.or(Some(reason)),
                Ok(Ok(Verdict::Deny(reason))) => return Err(ToolError::denied(&reason)),
                Ok(Err(failure)) => {
                    let who = failure.by.as_deref().unwrap_or("a tool gate");
                    return Err(ToolError::denied(&format!("{who} failed: {failure}")));
                }
                Err(panic) => return Err(ToolError::denied(&format!("a tool gate {panic}"))),
            }
        }
        match asked {
            Some(reason) => self.ask(call, reason.as_deref()).await,
            None => Ok(()),
        }
    }

    async fn ask(&self, call: &Call, reason: Option<&str>) -> Result<(), ToolError> {
        let id = self.shared.new_id();
        self.log(asked(&id, call, reason))?;
        let approval = match &self.composition.approver {
            Some(approver) => {
                let asking = foreign::call(approver.approve(call, reason));
                let answer = self.unless_cancelled(asking).await;
                answer.map_or(Approval::Cancelled, |said| said.unwrap_or(Approval::Unavailable))
            }
            None => Approval::Unavailable,
        };
        self.log(decided(&id, approval))?;
        match approval {
            Approval::AllowedOnce => Ok(()),
            Approval::Cancelled if self.cancel.cause().is_some() => Err(ToolError::not_started()),
            Approval::Rejected => Err(ToolError::denied("the user rejected this call")),
            Approval::Cancelled => Err(ToolError::denied("the question to the user was cancelled")),
            Approval::Unavailable => {
                let said = "this call needs the user's approval, and nobody can be asked";
                let why = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
                Err(ToolError::denied(&format!("{said}{why}")))
            }
        }
    }

    /// A call whose approval cannot be logged does not run.
    fn log(&self, draft: Result<dsh_session::Draft, LogError>) -> Result<(), ToolError> {
        let logged = self.shared.append(draft);
        logged.map(drop).map_err(|error| ToolError::denied(&lifecycle::causes(&error)))
    }
}

fn asked(id: &str, call: &Call, reason: Option<&str>) -> Result<dsh_session::Draft, LogError> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Data<'a> {
        id: &'a str,
        tool_name: &'a str,
        call_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'a str>,
    }
    lifecycle::draft(
        "approval/asked",
        &Data { id, tool_name: &call.name, call_id: &call.id, reason },
    )
}

fn decided(id: &str, approval: Approval) -> Result<dsh_session::Draft, LogError> {
    #[derive(Serialize)]
    struct Data<'a> {
        id: &'a str,
        outcome: &'static str,
    }
    lifecycle::draft("approval/decided", &Data { id, outcome: approval.as_str() })
}
