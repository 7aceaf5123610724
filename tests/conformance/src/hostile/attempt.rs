//! One attempt: plugins, how they are called, what their calls are lent, and how it has to end.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::{Result, anyhow, bail};
use dsh_plugin_host::{
    CallError, Capabilities, Cause, Chain, Decision, Gates, Grants, Invocation, Limit, Limits,
    Manifest, Plugin, PluginHost, Scope, Services, SessionScopes, Settings, ToolCall, Verdict,
};
use program_tests::{self as programs, Delay, Living, Scripted, Session, services};

use super::sound;

/// How often a well-behaved plugin is called beside each attempt.
const BYSTANDERS: usize = 10;

/// How an attempt has to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// With a decision, an outcome or a call that is allowed.
    Decides,
    /// With a rejection for exactly this reason: what the program has seen.
    Says(&'static str),
    /// Given up in a read, which goes with it.
    GivenUp,
    /// Stopped by this limit.
    Limit(Limit),
    /// With a tool call that is denied.
    Denies,
    /// With a trap.
    Trap,
    /// Refused, in these words among others.
    Refused(&'static str),
    /// With a failure of this code.
    Fails(&'static str),
    /// In quarantine, once it was called often enough.
    Quarantine,
    /// Not loaded, for a reason in these words among others.
    NotLoaded(&'static str),
}

/// How the plugins are called.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// As a chain around a step.
    Step,
    /// The first of them, with a command of these arguments, in a session with an agent.
    Command(&'static str),
    /// As gates, with a call of this tool.
    Gate(&'static str),
}

/// What a call came to.
#[derive(Debug)]
enum Came {
    Decision(Decision),
    Outcome,
    Verdict(Verdict),
}

/// Plugins, and how a call of them has to end.
pub struct Attempt {
    component: Result<Vec<u8>, String>,
    behind: Vec<&'static str>,
    grants: Grants,
    declares: Option<Capabilities>,
    limits: Limits,
    hangs: bool,
    calls: usize,
    way: Way,
    expects: Expect,
}

impl Attempt {
    /// The component at `path` with everything declared and granted, alone in its chain.
    pub fn of(path: &str) -> Self {
        let component = std::fs::read(path).map_err(|err| format!("{path}: {err}"));
        Self { component, ..Self::bytes(Vec::new()) }
    }

    /// As [`Attempt::of`], a component of these bytes.
    pub fn bytes(component: Vec<u8>) -> Self {
        Self {
            component: Ok(component),
            behind: Vec::new(),
            grants: Grants::new(programs::everything()),
            declares: None,
            limits: Limits::default(),
            hangs: false,
            // Twice, to see that the first call leaves nothing behind.
            calls: 2,
            way: Way::Step,
            expects: Expect::Decides,
        }
    }

    /// How it has to end.
    pub fn expects(self, expects: Expect) -> Self {
        Self { expects, ..self }
    }

    /// Another program further down the chain, with everything granted.
    pub fn before(mut self, path: &'static str) -> Self {
        self.behind.push(path);
        self
    }

    /// With nothing granted but reads, which some programs cannot link without.
    pub fn ungranted(mut self) -> Self {
        self.grants.capabilities.message_kinds.clear();
        self.grants.capabilities.rewrite_user = false;
        self
    }

    /// With reads of titles and texts that reach so far.
    pub fn scoped(mut self, scope: Scope) -> Self {
        self.grants.capabilities.sessions = SessionScopes::new(scope, scope);
        self
    }

    /// With nothing granted at all.
    pub fn denied(mut self) -> Self {
        self.grants.capabilities = Capabilities::default();
        self
    }

    /// With a manifest that declares nothing.
    pub fn undeclared(self) -> Self {
        Self { declares: Some(Capabilities::default()), ..self }
    }

    /// With other limits wanted and granted.
    pub fn limited(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.limits);
        self.grants.limits = self.limits.clone();
        self
    }

    /// With sessions whose reads never end.
    pub fn hanging(self) -> Self {
        Self { hangs: true, ..self }
    }

    /// Called so often.
    pub fn called(self, calls: usize) -> Self {
        Self { calls, ..self }
    }

    /// Called as a command with these arguments, in a session with two completed turns.
    pub fn commanded(self, arguments: &'static str) -> Self {
        Self { way: Way::Command(arguments), ..self }
    }

    /// Asked about a call of this tool.
    pub fn asked_about(self, tool: &'static str) -> Self {
        Self { way: Way::Gate(tool), ..self }
    }

    /// Without the grant to change a system prompt.
    pub fn without_append_system(mut self) -> Self {
        self.grants.capabilities.append_system = false;
        self
    }

    /// Runs it beside a well-behaved plugin on the same thread, and says how it ended.
    ///
    /// # Errors
    ///
    /// When it ended otherwise than expected, or the other plugin was hurt.
    pub(super) async fn judge(&self, host: &PluginHost) -> Result<String> {
        let well_behaved = chain(host, programs::PASSES).await?;
        let (said, beside) = tokio::join!(self.ended(host), called(&well_behaved, BYSTANDERS));
        beside?;
        let said = said?;
        // And afterwards.
        called(&well_behaved, 1).await?;
        Ok(said)
    }

    async fn ended(&self, host: &PluginHost) -> Result<String> {
        let component = self.component.as_ref().map_err(|err| anyhow!("{err}"))?;
        let mut manifest = programs::manifest("hostile");
        manifest.limits = self.limits.clone();
        if let Some(declares) = &self.declares {
            manifest.declares = declares.clone();
        }
        let first = match self.load(host, manifest, component).await {
            Ok(plugin) => plugin,
            Err(said) => {
                return match self.expects {
                    Expect::NotLoaded(words) if said.contains(words) => Ok(said),
                    expected => bail!("{expected:?} was expected; {said}"),
                };
            }
        };
        let mut links = vec![first];
        for path in &self.behind {
            links.push(programs::load(host, path, programs::everything()).await?);
        }
        let chain = Chain::new(links.iter().cloned());
        let mut last = String::new();
        for call in 1..=self.calls {
            let delay = if self.hangs { Delay::Hang } else { Delay::None };
            let (services, sessions, log) = services(Scripted::delayed(delay));
            let ended = tokio::select! {
                biased;
                ended = self.call(&chain, &links, services) => Some(ended),
                () = sessions.begun.notified(), if self.expects == Expect::GivenUp => None,
            };
            if sessions.open.load(Ordering::SeqCst) > 0 {
                bail!("a read goes on that nobody waits for");
            }
            let Some(ended) = ended else {
                last = "given up, and its read with it".to_owned();
                continue;
            };
            sound::log(&log.entries(), &self.limits)?;
            let in_order = call < self.calls && self.expects == Expect::Quarantine;
            last = match ended {
                Ok(came) if self.fits(&came) => {
                    if let Came::Decision(decision) = &came {
                        sound::decision(decision, &chain)?;
                    }
                    format!("came to {came:?}")
                }
                Err(err) if in_order || self.meets(&err.cause) => err.to_string(),
                Ok(came) => bail!("{:?} was expected; came to {came:?}", self.expects),
                Err(err) => bail!("{:?} was expected; {err}", self.expects),
            };
        }
        Ok(last)
    }

    async fn call(
        &self,
        chain: &Chain,
        links: &[Plugin],
        services: Services,
    ) -> Result<Came, CallError> {
        let session = || "s".to_owned();
        match self.way {
            Way::Step => programs::run(chain, &services).await.map(Came::Decision),
            Way::Command(arguments) => {
                let living = Living::new([("s", Session::of_turns(2))]);
                let services = services.with_agents(Arc::new(living));
                let invocation = Invocation {
                    session: session(),
                    cwd: None,
                    name: "do".to_owned(),
                    arguments: arguments.to_owned(),
                    edited: None,
                };
                let Some(first) = links.first() else { return Ok(Came::Outcome) };
                first.run_command(&services, &invocation).await.map(|_| Came::Outcome)
            }
            Way::Gate(tool) => {
                let call = ToolCall {
                    session: session(),
                    turn: 1,
                    step: 1,
                    id: "call".to_owned(),
                    name: tool.to_owned(),
                    arguments: "{}".to_owned(),
                    read_only: false,
                };
                let gates = Gates::new(links.iter().cloned());
                Ok(Came::Verdict(gates.check(&services, &call).await.verdict))
            }
        }
    }

    async fn load(
        &self,
        host: &PluginHost,
        manifest: Manifest,
        component: &[u8],
    ) -> Result<Plugin, String> {
        let loaded = host.load(manifest, component, Settings::default(), &self.grants).await;
        loaded.map_err(|err| err.to_string())
    }

    fn fits(&self, came: &Came) -> bool {
        match (self.expects, came) {
            (Expect::Denies, Came::Verdict(verdict)) => matches!(verdict, Verdict::Deny(_)),
            (Expect::Decides, Came::Verdict(verdict)) => *verdict == Verdict::Allow,
            (Expect::Decides, _) => true,
            (Expect::Says(seen), Came::Decision(Decision::Reject(rejection))) => {
                rejection.reason.as_deref() == Some(seen)
            }
            _ => false,
        }
    }

    fn meets(&self, cause: &Cause) -> bool {
        match (self.expects, cause) {
            (Expect::Limit(limit), Cause::Limit(breach)) => breach.limit == limit,
            (Expect::Trap, Cause::Trap(_)) | (Expect::Quarantine, Cause::Quarantined(_)) => true,
            (Expect::Refused(words), Cause::Refused(refusal)) => {
                refusal.to_string().contains(words)
            }
            (Expect::Fails(code), Cause::Failed(failure)) => failure.code == code,
            _ => false,
        }
    }
}

/// A chain of one program.
async fn chain(host: &PluginHost, path: &str) -> Result<Chain> {
    Ok(Chain::new([programs::load(host, path, programs::everything()).await?]))
}

/// Calls a chain that always decides, giving way after each call.
async fn called(chain: &Chain, times: usize) -> Result<()> {
    for _ in 0..times {
        let ended = programs::run(chain, &services(Scripted::default()).0).await;
        ended.map_err(|err| anyhow!("a plugin beside it was hurt: {err}"))?;
        tokio::task::yield_now().await;
    }
    Ok(())
}
