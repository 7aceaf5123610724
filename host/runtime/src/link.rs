//! One link of a running chain: its place, its one `next`, and its decision, checked.

use std::sync::Arc;

use wasmtime::component::Resource;

use crate::bindings::agent::messages::{Decision as WitDecision, Rejection as WitRejection};
use crate::bindings::session::types::Failure as WitFailure;
use crate::capability::failure_bytes;
use crate::chain::{BoxFuture, HANDLE, Outcome, Running, Step};
use crate::error::{CallError, Cause, Failure, Refusal};
use crate::item::{Handle, check_users};
use crate::json::object;
use crate::message::Rejection;
use crate::plugin::Plugin;
use crate::policy::Notice;
use crate::state::State;

/// One link's place in a running chain, and what `next` did in it.
pub(crate) struct Link {
    running: Arc<Running>,
    position: usize,
    /// The batch that the link was called with.
    pub(crate) received: Vec<Handle>,
    next: Next,
}

/// What became of `next` in a link.
enum Next {
    NotCalled,
    Called,
    Returned(Outcome),
    /// The first failure, which stands whatever the link makes of it.
    Failed(CallError),
}

impl Link {
    pub(crate) fn new(running: Arc<Running>, position: usize, received: Vec<Handle>) -> Link {
        Link { running, position, received, next: Next::NotCalled }
    }

    /// A handle's worth of the step.
    pub(crate) fn step(&self) -> Step {
        Step(self.running.clone())
    }

    /// Starts the rest of the chain on `batch`. Calling it twice is a failure that stands.
    pub(crate) fn next(
        &mut self,
        batch: Vec<Handle>,
        may_rewrite: bool,
    ) -> Result<Result<BoxFuture<'static, Result<Outcome, CallError>>, Failure>, Refusal> {
        match &self.next {
            Next::NotCalled => {}
            Next::Failed(first) => return Ok(Err(first.to_failure())),
            Next::Called | Next::Returned(_) => {
                let message = "`next` was called a second time";
                let failure = Failure::new("next-called-twice", message);
                self.next = Next::Failed(self.error(Cause::Failed(failure.clone())));
                return Ok(Err(failure));
            }
        }
        self.hand_on(&self.received, &batch, may_rewrite)?;
        self.next = Next::Called;
        Ok(Ok(self.running.clone().rest(self.position + 1, batch)))
    }

    /// Takes what the rest of the chain returned, and says it as the link sees it.
    pub(crate) fn returned(
        &mut self,
        result: Result<Outcome, CallError>,
    ) -> Result<Outcome, Failure> {
        match result {
            Ok(outcome) => {
                self.next = Next::Returned(outcome.clone());
                Ok(outcome)
            }
            Err(first) => {
                let failure = first.to_failure();
                self.next = Next::Failed(first);
                Err(failure)
            }
        }
    }

    /// Checks what the link decided, and says who rejected first.
    pub(crate) fn checked(&self, outcome: Outcome, may_rewrite: bool) -> Result<Outcome, Refusal> {
        match outcome {
            Outcome::Reject(rejection) => Ok(Outcome::Reject(match &self.next {
                // Passed on as it came: the link further down is the one that rejected.
                Next::Returned(Outcome::Reject(first))
                    if first.reason == rejection.reason && first.details == rejection.details =>
                {
                    first.clone()
                }
                _ => rejection,
            })),
            Outcome::Enter(given) => {
                let had = match &self.next {
                    Next::Returned(Outcome::Enter(had)) => had,
                    _ => &self.received,
                };
                self.hand_on(had, &given, may_rewrite)?;
                Ok(Outcome::Enter(given))
            }
        }
    }

    /// Checks what becomes of the user's messages that the link had last, and remembers what it left out.
    fn hand_on(&self, had: &[Handle], given: &[Handle], may_rewrite: bool) -> Result<(), Refusal> {
        check_users(&self.received, had, given, may_rewrite)?;
        // Without the grant all that it had are there.
        if may_rewrite {
            self.running.handed_on(self.plugin_id(), had, given);
        }
        Ok(())
    }

    /// An error of the link itself.
    pub(crate) fn error(&self, cause: Cause) -> CallError {
        CallError { plugin: self.plugin_id().to_owned(), export: HANDLE, cause }
    }

    fn plugin_id(&self) -> &str {
        self.running.links.get(self.position).map(Plugin::id).unwrap_or_default()
    }
}

/// Calls `plugin` as a link, and passes it over if it faults where the operator wants that.
pub(crate) async fn call(plugin: &Plugin, link: Link) -> Result<Outcome, CallError> {
    let (running, position, received) =
        (link.running.clone(), link.position, link.received.clone());
    // Every link further out waits for this one.
    let outer = running.links.iter().take(position);
    let (next, ended) = match plugin.admit(outer.into_iter().any(|outer| outer.is(plugin))) {
        Ok(_running) => enter(plugin, link).await,
        Err(cause) => (Next::NotCalled, Err(link.error(cause))),
    };
    let error = match ended {
        Err(error) if plugin.skips_faults() && error.cause.can_be_skipped() => error,
        ended => return ended,
    };
    let skipped = match next {
        Next::NotCalled => None,
        Next::Returned(outcome) => Some(outcome),
        // Cut off in the middle, or failed further down: there is no decision to go on with.
        Next::Called | Next::Failed(_) => return Err(error),
    };
    running.services.log.notice(Some(&running.call.session), &Notice::Skipped(error));
    match skipped {
        Some(outcome) => Ok(outcome),
        None => running.rest(position + 1, received).await,
    }
}

/// Runs a link in a store of its own. Gives what became of its `next` too.
async fn enter(plugin: &Plugin, link: Link) -> (Next, Result<Outcome, CallError>) {
    let batch = link.received.clone();
    let running = link.running.clone();
    let (services, session) = (&running.services, Some(running.call.session.as_str()));
    let mut state = plugin.state(services, session);
    state.turn = Some((running.call.turn, running.call.step));
    state.link = Some(link);
    let this = plugin.clone();
    let (called, mut store) = plugin
        .run(HANDLE, state, move |store, instance| {
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
        return (Next::NotCalled, Err(plugin.error(HANDLE, Cause::NotExported)));
    };
    let decided = match called {
        Ok(Some(Ok(outcome))) => Ok(outcome),
        Ok(Some(Err(failure))) => Err(Cause::Failed(failure)),
        Ok(None) => Err(Cause::NotExported),
        Err(cause) => Err(cause),
    };
    let decided = match link.next {
        // The first failure stands, whatever the link made of it.
        Next::Failed(_) => decided,
        _ => decided.and_then(|outcome| {
            let checked = link.checked(outcome, state.capabilities.rewrite_user);
            checked.map_err(Cause::Refused)
        }),
    };
    let decided = match (&link.next, decided) {
        // Passed on as it came: the link further down is the one that failed.
        (Next::Failed(first), Err(Cause::Failed(failure)))
            if first.plugin != plugin.id() && failure == first.to_failure() =>
        {
            Err(first.clone())
        }
        (_, decided) => decided.map_err(|cause| plugin.error(HANDLE, cause)),
    };
    let ended = plugin.ended(services, state, HANDLE, decided);
    match link.next {
        Next::Failed(first) => (Next::Failed(first.clone()), Err(first)),
        next => (next, ended),
    }
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
