//! `dsh:agent/invocations`: the command that is being run.

use std::sync::Arc;

use wasmtime::component::Resource;

use crate::bindings::agent::invocations as wit;
use crate::commands::Invocation;
use crate::state::State;

/// What a plugin holds when it holds an invocation.
#[expect(unreachable_pub, reason = "the generated bindings re-export it inside the crate")]
pub type InvocationHandle = Arc<Invocation>;

/// The interface has a type only.
impl wit::Host for State {}

impl wit::HostInvocation for State {
    fn session(&mut self, this: Resource<InvocationHandle>) -> wasmtime::Result<String> {
        self.host_call(0)?;
        Ok(self.table.get(&this)?.session.clone())
    }

    fn cwd(&mut self, this: Resource<InvocationHandle>) -> wasmtime::Result<Option<String>> {
        self.host_call(0)?;
        Ok(self.table.get(&this)?.cwd.clone())
    }

    fn name(&mut self, this: Resource<InvocationHandle>) -> wasmtime::Result<String> {
        self.host_call(0)?;
        Ok(self.table.get(&this)?.name.clone())
    }

    fn arguments(&mut self, this: Resource<InvocationHandle>) -> wasmtime::Result<String> {
        self.host_call(0)?;
        self.input(self.table.get(&this)?.arguments.len() as u64)?;
        Ok(self.table.get(&this)?.arguments.clone())
    }

    fn edited(&mut self, this: Resource<InvocationHandle>) -> wasmtime::Result<Option<String>> {
        self.host_call(0)?;
        let bytes = self.table.get(&this)?.edited.as_ref().map_or(0, String::len);
        self.input(bytes as u64)?;
        Ok(self.table.get(&this)?.edited.clone())
    }

    fn drop(&mut self, this: Resource<InvocationHandle>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}
