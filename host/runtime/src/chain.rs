//! A chain of plugins around a step: each link's imported `pre-step` is the rest of the chain.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use crate::called::Decided;
use crate::error::{CallError, Cause, Failure, Refusal};
use crate::item::{Handle, Item, users};
use crate::link::{self, Link};
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
        let running = Arc::new(Running { links, services, call, left_out: Mutex::default() });
        let decision = running.clone().rest(0, items).await?.decision();
        let left_out = running.left_out();
        let decided = Decided { call: &running.call, decision: &decision, left_out: &left_out };
        running.services.log.decided(&decided);
        Ok(decision)
    }
}

/// A chain at work, shared by its links.
pub(crate) struct Running {
    pub(crate) links: Arc<[Plugin]>,
    pub(crate) services: Services,
    pub(crate) call: PreStepCall,
    /// Who left out which of the user's messages, by its place in the batch. One that is put back is none of them.
    left_out: Mutex<BTreeMap<usize, String>>,
}

impl Running {
    fn left_out(&self) -> MutexGuard<'_, BTreeMap<usize, String>> {
        self.left_out.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers what `who` makes of the user's messages that it had.
    pub(crate) fn handed_on(&self, who: &str, had: &[Handle], given: &[Handle]) {
        let (had, given) = (users(had), users(given));
        let mut left_out = self.left_out();
        left_out.retain(|index, _| !given.contains_key(index));
        for index in had.into_keys().filter(|index| !given.contains_key(index)) {
            left_out.insert(index, who.to_owned());
        }
    }

    /// The chain from `position` on. Boxed, as each link's future holds the next one's.
    pub(crate) fn rest(
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
        let offered = Outcome::Enter(batch.clone()).decision();
        let decision = rest.pre_step(offered).await.map_err(|err| failed(Cause::Failed(err)))?;
        match decision {
            Decision::Reject(rejection) => Ok(Outcome::Reject(rejection)),
            Decision::Enter(entered) => {
                let item = |entered| Item::of_entered(&self.call.batch, entered);
                let items = entered.into_iter().map(item).collect::<Option<Vec<_>>>();
                let foreign = || failed(Cause::Refused(Refusal::Foreign { id: String::new() }));
                let items = items.ok_or_else(foreign)?;
                self.handed_on(rest.name(), &batch, &items);
                Ok(Outcome::Enter(items))
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

/// What a plugin holds when it holds a step.
#[expect(unreachable_pub, reason = "the generated bindings re-export it inside the crate")]
pub struct Step(pub(crate) Arc<Running>);

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
