//! The agents of a harness, as commands of plugins may act on them.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use dsh_agent::{Agent, AgentError, AskError, Asked, Composition, TurnEnd, WithdrawError};
use dsh_plugin_host as host;
use dsh_plugin_host::{Answer, Asker, Birth, Context, Delivery, Failure, LiveAgent};
use dsh_session::{Message, Seed, SessionId, StoreError, WriteError};

use super::pre_step::context;
use super::stored::Stored;
use crate::harness::{Harness, SYSTEM};
use crate::system;

/// The agents that one command can reach. They live as long as it runs.
pub(crate) struct Crew {
    harness: Harness,
    held: Arc<Mutex<Vec<Agent>>>,
    /// The session that the command was given in, where another process writes it.
    stored: Option<Stored>,
}

impl Crew {
    pub(crate) fn new(harness: Harness, stored: Option<Stored>) -> Self {
        Self { harness, held: Arc::default(), stored }
    }

    /// The agent that the command held on this session.
    pub(crate) fn held(&self, id: &SessionId) -> Option<Agent> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.iter().find(|agent| agent.live().header().id == *id).cloned()
    }

    fn member(&self, agent: Agent) -> Member {
        Member::new(self.harness.clone(), self.held.clone(), agent)
    }
}

#[async_trait]
impl host::Agents for Crew {
    async fn current(&self, asker: &Asker) -> Result<Arc<dyn LiveAgent>, Failure> {
        let id = asker.session.as_deref().and_then(SessionId::from_escaped);
        if let Some(stored) = self.stored.as_ref().filter(|stored| Some(stored.id()) == id.as_ref())
        {
            return Ok(Arc::new(stored.lent(self.harness.clone(), self.held.clone())));
        }
        let agent = id.and_then(|id| self.harness.agent(&id));
        let none = || Failure::new("no-agent", "the session has no live agent here");
        Ok(Arc::new(self.member(agent.ok_or_else(none)?)))
    }
}

/// One agent in a command's hands.
struct Member {
    harness: Harness,
    held: Arc<Mutex<Vec<Agent>>>,
    agent: Agent,
    session: String,
    parent: Option<String>,
}

impl Member {
    fn new(harness: Harness, held: Arc<Mutex<Vec<Agent>>>, agent: Agent) -> Self {
        held.lock().unwrap_or_else(PoisonError::into_inner).push(agent.clone());
        let header = agent.live().header();
        let parent = header.parent.as_ref().map(|parent| parent.escaped().to_owned());
        let session = header.id.escaped().to_owned();
        Self { harness, held, agent, session, parent }
    }

    fn id(&self) -> &SessionId {
        &self.agent.live().header().id
    }

    /// Whether the session was born with a message of this plugin, which no other can have written.
    fn was_created_by(&self, plugin: &str) -> bool {
        let header = self.agent.live().header();
        // The first of its own events ends the seed.
        let first = header.seed_length.unwrap_or(0) + 1;
        self.agent.live().own_notes(plugin).iter().any(|note| note.seq == Some(first))
    }

    async fn asked(&self, plugin: &str) -> Result<Asked, Failure> {
        let fold = Asked::new(self.agent.live().header(), plugin);
        let history = self.harness.sessions().history(self.id(), fold).await;
        Ok(history.map_err(|err| unavailable(&err))?.1)
    }
}

#[async_trait]
impl LiveAgent for Member {
    fn session(&self) -> &str {
        &self.session
    }

    fn parent_session(&self) -> Option<&str> {
        self.parent.as_deref()
    }

    async fn parent(&self, plugin: &str) -> Result<Option<Arc<dyn LiveAgent>>, Failure> {
        let Some(parent) = self.agent.live().header().parent.clone() else { return Ok(None) };
        if !self.was_created_by(plugin) {
            let message = "only the plugin that created a session may act on its parent";
            return Err(Failure::new("not-granted", message));
        }
        // One that is not live is resumed once, however many ask.
        let _alone = self.harness.roster().alone(&parent).await;
        let agent = match self.harness.agent(&parent) {
            Some(agent) => agent,
            None => {
                let composition = Composition::clone(&self.agent.composition());
                let composition = Composition { system: Some(SYSTEM.to_owned()), ..composition };
                let opened = self.harness.continued(&parent, composition).await;
                opened.map_err(|err| unopened(&parent, &err))?
            }
        };
        let member = Self::new(self.harness.clone(), self.held.clone(), agent);
        Ok(Some(Arc::new(member)))
    }

    async fn said_through(&self, plugin: &str) -> Result<Option<u64>, Failure> {
        Ok(self.asked(plugin).await?.said_through())
    }

    async fn completed_turns(&self, before: Option<u64>) -> Result<Arc<dyn host::Seed>, Failure> {
        let seed = self.harness.sessions().seed(self.id(), before).await;
        let seed = seed.map_err(|err| unavailable(&err))?;
        let (harness, held) = (self.harness.clone(), self.held.clone());
        Ok(Arc::new(Inheritance { harness, held, seed, from: self.agent.composition() }))
    }

    async fn inject(&self, added: Context, _: &str) -> Result<Delivery, Failure> {
        // Its facts hold the key.
        let message = logged(&added)?;
        let delivery = self.agent.record(message).await.map_err(|err| failed(&err))?;
        let dsh_agent::Delivery { message, seq, existed } = delivery;
        Ok(Delivery { message, seq, existed })
    }

    async fn withdraw(&self, message: &str, instead: Context) -> Result<(), Failure> {
        let instead = logged(&instead)?;
        self.agent.withdraw(message, instead).await.map_err(|err| {
            let code = match &err {
                WithdrawError::NotFound(_) => "not-found",
                WithdrawError::Withdrawn => "withdrawn",
                WithdrawError::Sent => "sent",
                _ => return failed(&err),
            };
            Failure::new(code, err.to_string())
        })
    }

    async fn ask(&self, added: Context, key: &str) -> Result<Answer, Failure> {
        let plugin = added.plugin.clone();
        let message = logged(&added)?;
        let known = self.asked(&plugin).await?.answer(key).cloned();
        if let Some(dsh_agent::Answer { text, last_seq }) = known {
            return Ok(Answer { text, last_seq, existed: true });
        }
        match self.agent.ask(message).await {
            Ok(dsh_agent::Answer { text, last_seq }) => {
                Ok(Answer { text, last_seq, existed: false })
            }
            Err(err) => Err(unanswered(&err)),
        }
    }
}

/// What a session can inherit, with what the agent that it comes from is put together from.
pub(super) struct Inheritance {
    pub(super) harness: Harness,
    pub(super) held: Arc<Mutex<Vec<Agent>>>,
    pub(super) seed: Seed,
    pub(super) from: Arc<Composition>,
}

#[async_trait]
impl host::Seed for Inheritance {
    fn length(&self) -> u64 {
        self.seed.events().len() as u64
    }

    fn compacted(&self) -> bool {
        self.seed.is_compacted()
    }

    fn left_out_open_turn(&self) -> bool {
        self.seed.leaves_out_open_turn()
    }

    async fn create(&self, birth: Birth) -> Result<Arc<dyn LiveAgent>, Failure> {
        let mut composition = Composition::clone(&self.from);
        if !birth.append_system.is_empty() {
            let parts = composition.system.iter().chain(&birth.append_system);
            composition.system = Some(parts.cloned().collect::<Vec<_>>().join("\n\n"));
        }
        let mut messages = birth.contexts.iter().map(logged).collect::<Result<Vec<_>, _>>()?;
        if let Some(first) = messages.first_mut() {
            *first = system::kept(first, composition.system.as_deref())?;
        }
        let drafts = messages.iter().map(|message| composition.user_message(message)).collect();
        let born = self.harness.bear(self.seed.clone(), drafts, composition).await;
        let agent = born.map_err(|err| unavailable(&err))?;
        Ok(Arc::new(Member::new(self.harness.clone(), self.held.clone(), agent)))
    }
}

fn logged(added: &Context) -> Result<Message, Failure> {
    context(added).map_err(|err| Failure::new("invalid-json", err.message))
}

pub(super) fn unavailable(err: &dyn std::error::Error) -> Failure {
    let chain = std::iter::successors(Some(err), |err| err.source());
    Failure::new("unavailable", chain.map(ToString::to_string).collect::<Vec<_>>().join(": "))
}

fn failed(err: &dyn std::error::Error) -> Failure {
    unavailable(err)
}

fn unopened(id: &SessionId, err: &StoreError) -> Failure {
    match err {
        StoreError::NotFound(_) => Failure::new("not-found", format!("session {id} is gone")),
        StoreError::Write(WriteError::Held { holder }) => {
            Failure::new("held", format!("session {id} is being written by {holder}"))
        }
        StoreError::Open(_) => {
            Failure::new("held", format!("session {id} is just being closed in this process"))
        }
        err => unavailable(err),
    }
}

fn unanswered(err: &AskError) -> Failure {
    let failure = |code: &str, message: String| Failure::new(code, message);
    match err {
        AskError::NoText => failure("no-text", err.to_string()),
        AskError::TakenBack => failure("turn-cancelled", err.to_string()),
        AskError::Agent(err) => agent_failed(err),
        AskError::Ended(end) => ended(end),
        err => unavailable(err),
    }
}

fn agent_failed(err: &AgentError) -> Failure {
    match err {
        AgentError::Disposed => Failure::new("turn-cancelled", err.to_string()),
        err => Failure::new("turn-failed", unavailable(err).message),
    }
}

/// The end of a turn that came to nothing, with its reason as the log has it.
fn ended(end: &TurnEnd) -> Failure {
    let (code, message) = match end {
        TurnEnd::Aborted { .. } => ("turn-cancelled", "the turn was cancelled".to_owned()),
        TurnEnd::Blocked { reason, plugin, .. } => {
            let by = plugin.as_deref().unwrap_or("the harness");
            let why = reason.as_deref().unwrap_or("it gave no reason");
            ("turn-blocked", format!("{by} let no step begin: {why}"))
        }
        TurnEnd::Error { error } => ("turn-failed", format!("the turn failed: {}", error.message)),
        _ => ("turn-failed", "the turn did not complete".to_owned()),
    };
    let details = serde_json::to_string(end).ok();
    Failure { details, ..Failure::new(code, message) }
}
