//! `dsh:agent/tools`: the tool call that a gate looks at.

use std::sync::Arc;

use wasmtime::component::Resource;

use crate::bindings::agent::tools as wit;
use crate::state::State;
use crate::tool_gate::ToolCall;

/// What a plugin holds when it holds a tool call.
#[expect(unreachable_pub, reason = "the generated bindings re-export it inside the crate")]
pub type CallHandle = Arc<ToolCall>;

/// The interface has a type only.
impl wit::Host for State {}

impl wit::HostCall for State {
    fn session(&mut self, this: Resource<CallHandle>) -> wasmtime::Result<String> {
        self.host_call(0)?;
        Ok(self.table.get(&this)?.session.clone())
    }

    fn turn(&mut self, this: Resource<CallHandle>) -> wasmtime::Result<u64> {
        self.host_call(0)?;
        Ok(self.table.get(&this)?.turn)
    }

    fn step(&mut self, this: Resource<CallHandle>) -> wasmtime::Result<u64> {
        self.host_call(0)?;
        Ok(self.table.get(&this)?.step)
    }

    fn id(&mut self, this: Resource<CallHandle>) -> wasmtime::Result<String> {
        self.host_call(0)?;
        Ok(self.table.get(&this)?.id.clone())
    }

    fn name(&mut self, this: Resource<CallHandle>) -> wasmtime::Result<String> {
        self.host_call(0)?;
        Ok(self.table.get(&this)?.name.clone())
    }

    fn arguments(&mut self, this: Resource<CallHandle>) -> wasmtime::Result<String> {
        self.host_call(0)?;
        self.input(self.table.get(&this)?.arguments.len() as u64)?;
        Ok(self.table.get(&this)?.arguments.clone())
    }

    fn read_only(&mut self, this: Resource<CallHandle>) -> wasmtime::Result<bool> {
        self.host_call(0)?;
        Ok(self.table.get(&this)?.read_only)
    }

    fn drop(&mut self, this: Resource<CallHandle>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}
