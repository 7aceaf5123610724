//! A loaded plugin, and how one call of it runs.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use tracing::{Instrument as _, Span};
use wasmtime::component::{Instance, InstancePre, ResourceTable};
use wasmtime::{Store, UpdateDeadline};

use crate::budget::{Meter, Metered};
use crate::called::{self, Called};
use crate::chain::BoxFuture;
use crate::error::{CallError, Cause};
use crate::grants::Capabilities;
use crate::health::{Health, Quarantine, Running, Standing};
use crate::host::{Bounds, Shared};
use crate::limits::Limits;
use crate::manifest::Manifest;
use crate::policy::{FaultPolicy, Notice, OnFault};
use crate::seam::{Seam, Seams};
use crate::services::Services;
use crate::session::Asker;
use crate::state::{State, Used};
use crate::wasi_empty::Traces;

/// A plugin that is compiled, linked and checked. Cheap to clone; every call runs in a fresh instance.
#[derive(Clone)]
pub struct Plugin(Arc<Loaded>);

pub(crate) struct Loaded {
    pub(crate) manifest: Manifest,
    /// The component's SHA-256, in lower-case hexadecimal digits.
    pub(crate) digest: String,
    pub(crate) host: Arc<Shared>,
    pub(crate) pre: InstancePre<State>,
    pub(crate) seams: Arc<Seams>,
    pub(crate) terms: Terms,
    pub(crate) health: Arc<Health>,
}

/// What a plugin may do, use up and is set to. Cheap to clone: every store has its own.
#[derive(Clone)]
pub(crate) struct Terms {
    pub(crate) capabilities: Arc<Capabilities>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) settings: Arc<str>,
    pub(crate) on_fault: FaultPolicy,
}

impl Plugin {
    pub(crate) fn new(loaded: Loaded) -> Plugin {
        Plugin(Arc::new(loaded))
    }

    /// The id in its manifest.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0.manifest.id
    }

    /// Its manifest.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.0.manifest
    }

    /// The SHA-256 of its component, as 64 lower-case hexadecimal digits.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.0.digest
    }

    /// What it can do: declared and granted.
    #[must_use]
    pub fn capabilities(&self) -> &Capabilities {
        &self.0.terms.capabilities
    }

    /// The limits of each call: wanted, capped by the grant.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.0.terms.limits
    }

    /// Whether it stands in `seam`.
    #[must_use]
    pub fn has(&self, seam: Seam) -> bool {
        self.0.seams.present().any(|present| present == seam)
    }

    /// Why it is not called any more, after [`FAULTS_UNTIL_QUARANTINE`](crate::FAULTS_UNTIL_QUARANTINE) faults in a
    /// row; none while it is.
    #[must_use]
    pub fn quarantine(&self) -> Option<Quarantine> {
        self.0.health.quarantine()
    }

    /// Its faults in a row and its quarantine, for an embedder that keeps them.
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.0.health.standing()
    }

    /// Goes on from where it stood in an earlier process.
    pub fn resume(&self, standing: Standing) {
        self.0.health.resume(standing);
    }

    /// Forgets its faults and calls it again.
    pub fn release(&self) {
        self.0.health.release();
    }

    /// Whether both are the same loaded plugin.
    pub(crate) fn is(&self, other: &Plugin) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether its faults in a chain are passed over.
    pub(crate) fn skips_faults(&self) -> bool {
        self.0.terms.on_fault.pre_step == OnFault::Skip
    }

    /// Whether its faults as a gate are passed over.
    pub(crate) fn skips_faulty_gate(&self) -> bool {
        self.0.terms.on_fault.tool_gate == OnFault::Skip
    }

    /// Lets a call begin; `inside` another call of the same plugin it takes no place of its own.
    pub(crate) fn admit(&self, inside: bool) -> Result<Option<Running>, Cause> {
        self.0.health.admit(self.0.terms.limits.concurrent_calls, inside)
    }

    /// Remembers how a call ended, and tells the log what it came to. An error names the plugin that it is of: in a
    /// chain another one, where the call only passed on what came through `next`.
    pub(crate) fn ended<R>(
        &self,
        services: &Services,
        state: &State,
        export: &'static str,
        ended: Result<R, CallError>,
    ) -> Result<R, CallError> {
        let own = ended.as_ref().err().filter(|error| error.plugin == self.id());
        let quarantine = self.0.health.ended(own);
        let session = state.asker.session.as_deref();
        let ((cpu, wall), (turn, step)) = (state.meter.totals(), state.turn.unzip());
        let called = Called {
            plugin: self,
            export,
            session,
            turn,
            step,
            error: ended.as_ref().err(),
            cpu,
            wall,
            memory_bytes: state.used.memory_bytes,
            host_calls: state.used.host_calls,
            output_bytes: state.used.output_bytes,
            log_bytes: state.used.log_bytes,
        };
        called.record(&state.span);
        services.log.called(&called);
        if let Some(quarantine) = quarantine {
            let plugin = self.id().to_owned();
            services.log.notice(session, &Notice::Quarantined { plugin, quarantine });
        }
        ended
    }

    /// Calls an export that stands in no chain, in a state that was made for the call.
    pub(crate) async fn call<R, F>(
        &self,
        mut state: State,
        services: &Services,
        export: &'static str,
        work: F,
    ) -> Result<R, CallError>
    where
        F: for<'a> FnOnce(
                &'a mut Store<State>,
                Instance,
            ) -> BoxFuture<'a, wasmtime::Result<Result<R, Cause>>>
            + Send,
        R: Send,
    {
        state.place = self.admit(false).map_err(|cause| self.error(export, cause))?;
        let (called, store) = self.run(export, state, work).await;
        let called = called.flatten().map_err(|cause| self.error(export, cause));
        self.ended(services, store.data(), export, called)
    }

    pub(crate) fn seams(&self) -> &Seams {
        &self.0.seams
    }

    pub(crate) fn error(&self, export: &'static str, cause: Cause) -> CallError {
        CallError { plugin: self.id().to_owned(), export, cause }
    }

    /// The state of a call on behalf of `session`.
    pub(crate) fn state(&self, services: &Services, session: Option<&str>) -> State {
        let asker = Asker { plugin: self.id().to_owned(), session: session.map(str::to_owned) };
        let bounds = self.0.host.bounds;
        State { services: Some(services.clone()), ..self.0.terms.state(asker, bounds) }
    }

    /// Instantiates and calls. The store comes back for what is in it; no instance in it is entered again.
    pub(crate) async fn run<R, F>(
        &self,
        export: &'static str,
        mut state: State,
        work: F,
    ) -> (Result<R, Cause>, Store<State>)
    where
        F: for<'a> FnOnce(&'a mut Store<State>, Instance) -> BoxFuture<'a, wasmtime::Result<R>>
            + Send,
        R: Send,
    {
        let span = called::span(self, export, &state);
        state.span = span.clone();
        run(&self.0.host, &self.0.pre, state, work).instrument(span).await
    }
}

impl Terms {
    /// The state of a call that nothing is lent to.
    pub(crate) fn state(&self, asker: Asker, bounds: Bounds) -> State {
        let Terms { capabilities, limits, settings, on_fault: _ } = self.clone();
        let mut table = ResourceTable::new();
        table.set_max_capacity(usize::try_from(limits.handles).unwrap_or(usize::MAX));
        State {
            services: None,
            asker,
            capabilities,
            settings,
            bounds,
            meter: Meter::new(&limits),
            limits,
            table,
            link: None,
            has_agent: false,
            held: BTreeSet::new(),
            place: None,
            turn: None,
            span: Span::none(),
            last_words: None,
            used: Used::default(),
            wasi: Traces::default(),
        }
    }
}

/// Makes a store with every limit in force, instantiates in it and calls.
pub(crate) async fn run<R, F>(
    host: &Shared,
    pre: &InstancePre<State>,
    state: State,
    work: F,
) -> (Result<R, Cause>, Store<State>)
where
    F: for<'a> FnOnce(&'a mut Store<State>, Instance) -> BoxFuture<'a, wasmtime::Result<R>> + Send,
    R: Send,
{
    let _ticking = host.ticker.hold();
    let meter = state.meter.clone();
    let mut store = Store::new(pre.engine(), state);
    store.limiter(|state| state);
    let output = store.data().limits.output_bytes;
    store.set_hostcall_fuel(usize::try_from(output).unwrap_or(usize::MAX));
    store.set_epoch_deadline(1);
    let clock = meter.clone();
    store.epoch_deadline_callback(move |_| {
        clock.alarm()?;
        Ok(UpdateDeadline::Yield(1))
    });
    let call = async {
        let instance = pre.instantiate_async(&mut store).await?;
        work(&mut store, instance).await
    };
    let result = Metered::new(meter, call).await;
    store.data_mut().end_streams();
    let result = result.map_err(|err| Cause::of(&err, store.data()));
    (result, store)
}

impl fmt::Debug for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plugin")
            .field("id", &self.id())
            .field("version", &self.0.manifest.version)
            .finish_non_exhaustive()
    }
}
