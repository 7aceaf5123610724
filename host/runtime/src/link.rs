//! One call of a link: handles in, a decision out, checked.

use wasmtime::component::Resource;

use crate::bindings::agent::messages::{Decision as WitDecision, Rejection as WitRejection};
use crate::bindings::session::types::Failure as WitFailure;
use crate::capability::failure_bytes;
use crate::chain::{Link, Outcome};
use crate::error::{CallError, Cause, Failure, Refusal};
use crate::item::Handle;
use crate::json::object;
use crate::message::Rejection;
use crate::plugin::Plugin;
use crate::state::State;

/// Calls `plugin` as a link, in a store of its own.
pub(crate) async fn call(plugin: &Plugin, link: Link) -> Result<Outcome, CallError> {
    let batch = link.received.clone();
    let running = link.running();
    let mut state = plugin.state(&running.services, Some(&running.call.session));
    state.link = Some(link);
    let this = plugin.clone();
    let (called, mut store) = plugin
        .run(state, move |store, instance| {
            Box::pin(async move {
                let Some(seam) = &this.seams().pre_step else { return Ok(None) };
                let guest = seam.load(&mut *store, &instance)?;
                let handles = batch.into_iter().map(|item| store.data_mut().push(item));
                let handles = handles.collect::<wasmtime::Result<Vec<_>>>()?;
                let returned = guest.call_handle(&mut *store, &handles).await?;
                store.data_mut().lift(returned).map(Some)
            })
        })
        .await;
    let state = store.data_mut();
    let Some(link) = state.link.take() else {
        return Err(plugin.error(crate::chain::HANDLE, Cause::NotExported));
    };
    if let Some(first) = link.first_failure() {
        return Err(first.clone());
    }
    let outcome = match called {
        Ok(Some(Ok(outcome))) => link.checked(outcome, state.capabilities.rewrite_user),
        Ok(Some(Err(failure))) => return Err(link.error(Cause::Failed(failure))),
        Ok(None) => return Err(link.error(Cause::NotExported)),
        Err(cause) => return Err(link.error(cause)),
    };
    outcome.map_err(|refusal| link.error(Cause::Refused(refusal)))
}

impl State {
    /// Takes what an export returned out of the guest's hands.
    fn lift(
        &mut self,
        returned: Result<WitDecision, WitFailure>,
    ) -> wasmtime::Result<Result<Outcome, Failure>> {
        match returned {
            Err(failure) => Ok(Err(self.failure(failure)?)),
            Ok(WitDecision::Reject(WitRejection { reason, details })) => {
                let bytes = [&reason, &details].into_iter().flatten().map(String::len).sum();
                self.output(bytes)?;
                let details = checked_details(details)?;
                let by = self.asker.plugin.clone();
                Ok(Ok(Outcome::Reject(Rejection { by, reason, details })))
            }
            Ok(WitDecision::Enter(handles)) => {
                let take = |handle: Resource<Handle>| self.table.delete(handle);
                let items = handles.into_iter().map(take).collect::<Result<_, _>>()?;
                Ok(Ok(Outcome::Enter(items)))
            }
        }
    }

    /// Hands a decision to the guest.
    pub(crate) fn lower(&mut self, outcome: Outcome) -> wasmtime::Result<WitDecision> {
        match outcome {
            Outcome::Reject(Rejection { reason, details, .. }) => {
                Ok(WitDecision::Reject(WitRejection { reason, details }))
            }
            Outcome::Enter(items) => {
                let handles = items.into_iter().map(|item| self.push(item));
                Ok(WitDecision::Enter(handles.collect::<wasmtime::Result<_>>()?))
            }
        }
    }

    /// Checks a failure that the guest returned.
    pub(crate) fn failure(&mut self, failure: WitFailure) -> wasmtime::Result<Failure> {
        self.output(failure_bytes(&failure))?;
        let WitFailure { code, message, details } = failure;
        Ok(Failure { code, message, details: checked_details(details)? })
    }
}

fn checked_details(details: Option<String>) -> Result<Option<String>, Refusal> {
    let details = details.map(|details| object(&details)).transpose();
    details.map_err(|reason| Refusal::Details { reason })
}
