//! `dsh:agent/agents`: live agents as handles, and what a plugin may ask of them.

use std::sync::Arc;

use wasmtime::component::Resource;

use super::block_bytes;
use crate::agents::{Answer, Birth, Delivery, LiveAgent, Seed};
use crate::bindings::agent::agents as wit;
use crate::bindings::session::types::{Block as WitBlock, Failure as WitFailure};
use crate::error::Failure;
use crate::state::State;

/// What a plugin holds when it holds an agent.
#[expect(unreachable_pub, reason = "the generated bindings re-export it inside the crate")]
pub type AgentHandle = Arc<dyn LiveAgent>;

/// What a plugin holds when it holds a seed.
#[expect(unreachable_pub, reason = "the generated bindings re-export it inside the crate")]
pub type SeedHandle = Arc<dyn Seed>;

/// What a plugin holds when it holds a session that is about to exist.
#[expect(unreachable_pub, reason = "the generated bindings re-export it inside the crate")]
pub struct Unborn {
    seed: SeedHandle,
    birth: Birth,
}

/// Answers a guest: with the failure as it stands, or with what `given` makes of the rest.
macro_rules! answer {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(failure) => return Ok(Err(WitFailure::from(failure))),
        }
    };
}

type Answered<T> = wasmtime::Result<Result<T, WitFailure>>;

impl wit::Host for State {
    async fn current(&mut self) -> Answered<Resource<AgentHandle>> {
        self.host_call(0)?;
        let services = self.services.as_ref().filter(|_| self.has_agent);
        let Some(agents) = services.and_then(|services| services.agents.clone()) else {
            let message = "only a command runs on behalf of an agent";
            return Ok(Err(Failure::new("no-agent", message).into()));
        };
        let away = self.meter.in_import();
        let current = agents.current(&self.asker).await;
        drop(away);
        let agent = answer!(current);
        Ok(Ok(self.hand_over(agent)?))
    }
}

impl wit::HostSeed for State {
    fn length(&mut self, this: Resource<SeedHandle>) -> wasmtime::Result<u64> {
        self.host_call(0)?;
        Ok(self.table.get(&this)?.length())
    }

    fn compacted(&mut self, this: Resource<SeedHandle>) -> wasmtime::Result<bool> {
        self.host_call(0)?;
        Ok(self.table.get(&this)?.compacted())
    }

    fn left_out_open_turn(&mut self, this: Resource<SeedHandle>) -> wasmtime::Result<bool> {
        self.host_call(0)?;
        Ok(self.table.get(&this)?.left_out_open_turn())
    }

    fn drop(&mut self, this: Resource<SeedHandle>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

impl wit::HostBirth for State {
    fn new(&mut self, seed: Resource<SeedHandle>) -> wasmtime::Result<Resource<Unborn>> {
        self.host_call(0)?;
        let seed = self.table.delete(seed)?;
        self.push(Unborn { seed, birth: Birth::default() })
    }

    fn add_context(
        &mut self,
        this: Resource<Unborn>,
        content: Vec<WitBlock>,
        facts: String,
    ) -> Answered<()> {
        self.host_call(content.iter().map(block_bytes).sum::<usize>() + facts.len())?;
        let context = answer!(self.own_context(content, &facts, None));
        self.table.get_mut(&this)?.birth.contexts.push(context);
        Ok(Ok(()))
    }

    fn append_system(&mut self, this: Resource<Unborn>, text: String) -> Answered<()> {
        self.host_call(text.len())?;
        if !self.capabilities.append_system {
            let message = "to change the system prompt takes the grant `append-system`";
            return Ok(Err(Failure::new("not-granted", message).into()));
        }
        self.table.get_mut(&this)?.birth.append_system.push(text);
        Ok(Ok(()))
    }

    async fn create(&mut self, this: Resource<Unborn>) -> Answered<Resource<AgentHandle>> {
        self.host_call(0)?;
        self.act()?;
        let Unborn { seed, birth } = self.table.delete(this)?;
        let away = self.meter.in_import();
        let created = seed.create(birth).await;
        drop(away);
        let agent = answer!(created);
        if self.held.contains(agent.session()) {
            let message = "the new session came back under the id of one that was there before";
            return Ok(Err(Failure::new("unavailable", message).into()));
        }
        Ok(Ok(self.hand_over(agent)?))
    }

    fn drop(&mut self, this: Resource<Unborn>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

impl wit::HostDelivery for State {
    fn message(&mut self, this: Resource<Delivery>) -> wasmtime::Result<String> {
        self.host_call(0)?;
        Ok(self.table.get(&this)?.message.clone())
    }

    fn seq(&mut self, this: Resource<Delivery>) -> wasmtime::Result<Option<u64>> {
        self.host_call(0)?;
        Ok(self.table.get(&this)?.seq)
    }

    fn existed(&mut self, this: Resource<Delivery>) -> wasmtime::Result<bool> {
        self.host_call(0)?;
        Ok(self.table.get(&this)?.existed)
    }

    fn drop(&mut self, this: Resource<Delivery>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

impl wit::HostAnswer for State {
    fn text(&mut self, this: Resource<Answer>) -> wasmtime::Result<String> {
        self.host_call(0)?;
        self.input(self.table.get(&this)?.text.len() as u64)?;
        Ok(self.table.get(&this)?.text.clone())
    }

    fn last_seq(&mut self, this: Resource<Answer>) -> wasmtime::Result<u64> {
        self.host_call(0)?;
        Ok(self.table.get(&this)?.last_seq)
    }

    fn existed(&mut self, this: Resource<Answer>) -> wasmtime::Result<bool> {
        self.host_call(0)?;
        Ok(self.table.get(&this)?.existed)
    }

    fn drop(&mut self, this: Resource<Answer>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

impl wit::HostAgent for State {
    fn session(&mut self, this: Resource<AgentHandle>) -> wasmtime::Result<String> {
        self.host_call(0)?;
        Ok(self.table.get(&this)?.session().to_owned())
    }

    fn parent_session(&mut self, this: Resource<AgentHandle>) -> wasmtime::Result<Option<String>> {
        self.host_call(0)?;
        Ok(self.table.get(&this)?.parent_session().map(str::to_owned))
    }

    async fn parent(
        &mut self,
        this: Resource<AgentHandle>,
    ) -> Answered<Option<Resource<AgentHandle>>> {
        self.host_call(0)?;
        let agent = self.table.get(&this)?.clone();
        let away = self.meter.in_import();
        let parent = agent.parent(&self.asker.plugin).await;
        drop(away);
        match answer!(parent) {
            Some(parent) => Ok(Ok(Some(self.hand_over(parent)?))),
            None => Ok(Ok(None)),
        }
    }

    async fn said_through(&mut self, this: Resource<AgentHandle>) -> Answered<Option<u64>> {
        self.host_call(0)?;
        let agent = self.table.get(&this)?.clone();
        let _away = self.meter.in_import();
        Ok(agent.said_through(&self.asker.plugin).await.map_err(WitFailure::from))
    }

    async fn completed_turns(
        &mut self,
        this: Resource<AgentHandle>,
        before: Option<u64>,
    ) -> Answered<Resource<SeedHandle>> {
        self.host_call(0)?;
        let agent = self.table.get(&this)?.clone();
        let away = self.meter.in_import();
        let seed = agent.completed_turns(before).await;
        drop(away);
        let seed = answer!(seed);
        Ok(Ok(self.push(seed)?))
    }

    async fn inject(
        &mut self,
        this: Resource<AgentHandle>,
        content: Vec<WitBlock>,
        facts: String,
        key: String,
    ) -> Answered<Resource<Delivery>> {
        self.host_call(content.iter().map(block_bytes).sum::<usize>() + facts.len() + key.len())?;
        self.act()?;
        let agent = self.table.get(&this)?.clone();
        let context = answer!(self.own_context(content, &facts, Some(&key)));
        let away = self.meter.in_import();
        let delivery = agent.inject(context, &key).await;
        drop(away);
        let delivery = answer!(delivery);
        Ok(Ok(self.push(delivery)?))
    }

    async fn withdraw(
        &mut self,
        this: Resource<AgentHandle>,
        message: String,
        content: Vec<WitBlock>,
        facts: String,
    ) -> Answered<()> {
        self.host_call(
            content.iter().map(block_bytes).sum::<usize>() + facts.len() + message.len(),
        )?;
        self.act()?;
        let agent = self.table.get(&this)?.clone();
        let context = answer!(self.own_context(content, &facts, None));
        let _away = self.meter.in_import();
        Ok(agent.withdraw(&message, context).await.map_err(WitFailure::from))
    }

    async fn ask(
        &mut self,
        this: Resource<AgentHandle>,
        content: Vec<WitBlock>,
        facts: String,
        key: String,
    ) -> Answered<Resource<Answer>> {
        self.host_call(content.iter().map(block_bytes).sum::<usize>() + facts.len() + key.len())?;
        self.act()?;
        let agent = self.table.get(&this)?.clone();
        let context = answer!(self.own_context(content, &facts, Some(&key)));
        // The turn calls this plugin's other seams: its own place must not be what they lack.
        let place = self.place.take().map(|place| place.leave());
        let away = self.meter.in_import();
        let asked = agent.ask(context, &key).await;
        drop(away);
        self.place = place.map(|left| left.come_back());
        let asked = answer!(asked);
        Ok(Ok(self.push(asked)?))
    }

    fn drop(&mut self, this: Resource<AgentHandle>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

impl State {
    /// Gives the guest an agent, and remembers that it has held it.
    fn hand_over(&mut self, agent: AgentHandle) -> wasmtime::Result<Resource<AgentHandle>> {
        self.held.insert(agent.session().to_owned());
        self.push(agent)
    }
}
