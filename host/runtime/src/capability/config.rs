//! `dsh:plugin/config`: the plugin's own settings.

use crate::bindings::plugin::config as wit;
use crate::state::State;

impl wit::Host for State {
    fn get(&mut self) -> wasmtime::Result<String> {
        self.host_call(0)?;
        Ok(self.settings.as_ref().to_owned())
    }
}
