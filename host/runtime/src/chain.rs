//! A chain of plugins around a step: each link's imported `pre-step` is the rest of the chain.

use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;

use crate::error::{CallError, Cause, Failure, Refusal};
use crate::item::{Handle, Item, check_users};
use crate::link;
use crate::message::{Decision, Message, Rejection};
use crate::plugin::Plugin;
use crate::seam::Seam;
use crate::services::Services;

pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The export that makes a plugin a link.
pub(crate) const HANDLE: &str = "dsh:agent/pre-step.handle";

/// Plugins in order, the first outermost.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    links: Arc<[Plugin]>,
}

/// One claimed batch on its way into a step.
#[derive(Clone)]
#[non_exhaustive]
pub struct PreStepCall {
    /// The session that the step belongs to.
    pub session: String,
    /// Its absolute working directory.
    pub cwd: Option<String>,
    /// From one.
    pub turn: u64,
    /// From one, within the turn.
    pub step: u64,
    /// The claimed messages; empty for a step that only continues after tool results.
    pub batch: Vec<Message>,
    /// What comes after the last plugin; without it the last link accepts the batch as it is.
    pub rest: Option<Arc<dyn Rest>>,
}

impl PreStepCall {
    /// A call for step `step` of turn `turn`, both from one, where the last link accepts.
    #[must_use]
    pub fn new(session: impl Into<String>, turn: u64, step: u64, batch: Vec<Message>) -> Self {
        PreStepCall { session: session.into(), cwd: None, turn, step, batch, rest: None }
    }
}

/// What comes after the last plugin of a chain: links of the embedder's own.
#[async_trait]
pub trait Rest: Send + Sync {
    /// Stands for a plugin's id where an error or a rejection says who made it.
    fn name(&self) -> &str;

    /// Decides on `batch`, which plugins may have edited and added to. Its own messages are taken as they are.
    ///
    /// # Errors
    ///
    /// A failure with a code ends the chain as a plugin's would.
    async fn pre_step(&self, batch: Decision) -> Result<Decision, Failure>;
}

impl Chain {
    /// A chain of those plugins that export `pre-step`, in order; the others are passed over.
    #[must_use]
    pub fn new(plugins: impl IntoIterator<Item = Plugin>) -> Chain {
        let links = plugins.into_iter().filter(|plugin| plugin.has(Seam::PreStep));
        Chain { links: links.collect() }
    }

    /// The plugins in it, outermost first.
    #[must_use]
    pub fn links(&self) -> &[Plugin] {
        &self.links
    }

    /// Passes a batch through the chain. Dropping the future cancels every link and what it asked for.
    ///
    /// # Errors
    ///
    /// The first link that failed, trapped, ran into a limit or broke the contract. No message enters then.
    pub async fn pre_step(
        &self,
        services: &Services,
        call: PreStepCall,
    ) -> Result<Decision, CallError> {
        let items = call.batch.iter().cloned().enumerate();
        let items = items.map(|(index, message)| Item::of_batch(index, message)).collect();
        let (links, services) = (self.links.clone(), services.clone());
        let running = Arc::new(Running { links, services, call });
        Ok(running.rest(0, items).await?.decision())
    }
}

/// A chain at work, shared by its links.
pub(crate) struct Running {
    links: Arc<[Plugin]>,
    pub(crate) services: Services,
    pub(crate) call: PreStepCall,
}

impl Running {
    /// The chain from `position` on. Boxed, as each link's future holds the next one's.
    fn rest(
        self: Arc<Running>,
        position: usize,
        batch: Vec<Handle>,
    ) -> BoxFuture<'static, Result<Outcome, CallError>> {
        Box::pin(async move {
            match self.links.get(position) {
                Some(plugin) => {
                    let plugin = plugin.clone();
                    link::call(&plugin, Link::new(self, position, batch)).await
                }
                None => self.last(batch).await,
            }
        })
    }

    async fn last(&self, batch: Vec<Handle>) -> Result<Outcome, CallError> {
        let Some(rest) = &self.call.rest else { return Ok(Outcome::Enter(batch)) };
        let failed = |cause| CallError { plugin: rest.name().to_owned(), export: HANDLE, cause };
        let offered = Outcome::Enter(batch).decision();
        let decision = rest.pre_step(offered).await.map_err(|err| failed(Cause::Failed(err)))?;
        match decision {
            Decision::Reject(rejection) => Ok(Outcome::Reject(rejection)),
            Decision::Enter(entered) => {
                let item = |entered| Item::of_entered(&self.call.batch, entered);
                let items = entered.into_iter().map(item).collect::<Option<_>>();
                let foreign = || failed(Cause::Refused(Refusal::Foreign { id: String::new() }));
                Ok(Outcome::Enter(items.ok_or_else(foreign)?))
            }
        }
    }
}

/// A decision inside the chain.
#[derive(Clone)]
pub(crate) enum Outcome {
    Reject(Rejection),
    Enter(Vec<Handle>),
}

impl Outcome {
    fn decision(self) -> Decision {
        match self {
            Outcome::Reject(rejection) => Decision::Reject(rejection),
            Outcome::Enter(items) => {
                Decision::Enter(items.iter().map(|item| item.entered()).collect())
            }
        }
    }
}

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
    fn new(running: Arc<Running>, position: usize, received: Vec<Handle>) -> Link {
        Link { running, position, received, next: Next::NotCalled }
    }

    pub(crate) fn running(&self) -> &Running {
        &self.running
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
        check_users(&self.received, &self.received, &batch, may_rewrite)?;
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

    /// The failure that stands, if `next` failed.
    pub(crate) fn first_failure(&self) -> Option<&CallError> {
        match &self.next {
            Next::Failed(first) => Some(first),
            _ => None,
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
                check_users(&self.received, had, &given, may_rewrite)?;
                Ok(Outcome::Enter(given))
            }
        }
    }

    /// An error of the link itself.
    pub(crate) fn error(&self, cause: Cause) -> CallError {
        let plugin = self.running.links.get(self.position).map(Plugin::id).unwrap_or_default();
        CallError { plugin: plugin.to_owned(), export: HANDLE, cause }
    }
}

/// What a plugin holds when it holds a step.
#[expect(unreachable_pub, reason = "the generated bindings re-export it inside the crate")]
pub struct Step(Arc<Running>);

impl Step {
    pub(crate) fn session(&self) -> &str {
        &self.0.call.session
    }

    pub(crate) fn cwd(&self) -> Option<&str> {
        self.0.call.cwd.as_deref()
    }

    pub(crate) fn turn(&self) -> u64 {
        self.0.call.turn
    }

    pub(crate) fn index(&self) -> u64 {
        self.0.call.step
    }
}
