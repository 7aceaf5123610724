//! The tool gates of several plugins as one.

use std::sync::Arc;

use crate::error::{CallError, Cause};
use crate::plugin::Plugin;
use crate::policy::Notice;
use crate::seam::Seam;
use crate::services::Services;
use crate::tool_gate::{ToolCall, Verdict};

/// Plugins whose gates every tool call passes, in order.
#[derive(Clone, Debug, Default)]
pub struct Gates {
    gates: Arc<[Plugin]>,
}

/// What the gates came to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ruling {
    /// Deny beats ask, and ask beats allow.
    pub verdict: Verdict,
    /// The plugin whose verdict it is; none where all allow.
    pub by: Option<String>,
    /// The plugins that have looked at the call and said something, in order. One that was passed over is not here.
    pub heard: Vec<String>,
}

impl Gates {
    /// The gates of those plugins that have one, in order; the others are passed over.
    #[must_use]
    pub fn new(plugins: impl IntoIterator<Item = Plugin>) -> Gates {
        let gates = plugins.into_iter().filter(|plugin| plugin.has(Seam::ToolGate));
        Gates { gates: gates.collect() }
    }

    /// The plugins that have one, in order.
    #[must_use]
    pub fn plugins(&self) -> &[Plugin] {
        &self.gates
    }

    /// Asks the gates in order, up to the first that denies. Of several that want the person to be asked, the first
    /// says why.
    ///
    /// A gate that fails denies, with a notice; where the operator wants faults passed over, one that faults does
    /// not count, with a notice.
    pub async fn check(&self, services: &Services, call: &ToolCall) -> Ruling {
        let mut ruling = Ruling { verdict: Verdict::Allow, by: None, heard: Vec::new() };
        for gate in &*self.gates {
            let verdict = match gate.check_tool(services, call).await {
                Ok(verdict) => verdict,
                Err(error) if gate.skips_faulty_gate() && error.cause.can_be_skipped() => {
                    services.log.notice(Some(&call.session), &Notice::Skipped(error));
                    continue;
                }
                Err(error) => {
                    let reason = reason(&error);
                    services.log.notice(Some(&call.session), &Notice::Denied(error));
                    Verdict::Deny(reason)
                }
            };
            ruling.heard.push(gate.id().to_owned());
            match (&verdict, &ruling.verdict) {
                (Verdict::Deny(_), _) => {
                    return Ruling { verdict, by: Some(gate.id().to_owned()), ..ruling };
                }
                (Verdict::Ask(_), Verdict::Allow) => {
                    ruling.verdict = verdict;
                    ruling.by = Some(gate.id().to_owned());
                }
                _ => {}
            }
        }
        ruling
    }
}

/// What the model reads of a gate that failed: the plugin's own words, or that it gave none.
fn reason(error: &CallError) -> String {
    match &error.cause {
        Cause::Failed(failure) => failure.message.clone(),
        _ => format!("the tool gate of the plugin {:?} failed, so nothing may run", error.plugin),
    }
}
