//! `dsh:agent/pre-step` as an import: the rest of the chain.

use wasmtime::component::Resource;

use crate::bindings::agent::messages::Decision;
use crate::bindings::agent::pre_step as wit;
use crate::bindings::session::types::Failure as WitFailure;
use crate::error::Refusal;
use crate::item::Handle;
use crate::state::State;

impl wit::Host for State {
    async fn handle(
        &mut self,
        batch: Vec<Resource<Handle>>,
    ) -> wasmtime::Result<Result<Decision, WitFailure>> {
        self.host_call(0)?;
        let items = batch.into_iter().map(|handle| self.table.delete(handle));
        let items = items.collect::<Result<Vec<_>, _>>()?;
        let link = self.link.as_mut().ok_or(Refusal::NoStep)?;
        let rest = match link.next(items, self.capabilities.rewrite_user)? {
            Ok(rest) => rest,
            Err(failure) => return Ok(Err(failure.into())),
        };
        let away = self.meter.in_next();
        let result = rest.await;
        drop(away);
        let link = self.link.as_mut().ok_or(Refusal::NoStep)?;
        match link.returned(result) {
            Ok(outcome) => Ok(Ok(self.lower(outcome)?)),
            Err(failure) => Ok(Err(failure.into())),
        }
    }
}
