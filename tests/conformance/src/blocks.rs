//! The building blocks of the plugin, in a component that exports them one by one.

use anyhow::{Result, anyhow};
use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::{Engine, Store};

mod bindings {
    #![expect(missing_docs, reason = "generated; the documentation is in the WIT")]
    wasmtime::component::bindgen!({ path: "../programs/building-blocks/wit" });
}

use bindings::BuildingBlocksPre;
pub use bindings::exports::conformance::building_blocks::blocks::{Cut, Guest};

/// The component, compiled.
pub struct Blocks {
    engine: Engine,
    pre: BuildingBlocksPre<()>,
}

impl Blocks {
    /// Compiles the component.
    ///
    /// # Errors
    ///
    /// When it does not export the building blocks.
    pub fn new() -> Result<Self> {
        Self::compiled().map_err(said)
    }

    fn compiled() -> wasmtime::Result<Self> {
        let engine = Engine::default();
        let component = Component::new(&engine, include_bytes!(env!("BUILDING_BLOCKS")))?;
        let mut linker = Linker::new(&engine);
        // The seams that come along with the plugin's crate import what nobody calls here.
        linker.define_unknown_imports_as_traps(&component)?;
        let pre: InstancePre<()> = linker.instantiate_pre(&component)?;
        Ok(Self { engine, pre: BuildingBlocksPre::new(pre)? })
    }

    /// A JSON text without any `<`, or the plugin's words why it is none.
    ///
    /// # Errors
    ///
    /// When the component traps.
    pub fn tag_safe(&self, json: &str) -> Result<Result<String, String>> {
        self.call(|blocks, store| blocks.call_tag_safe(store, json))
    }

    /// A text cut to its ends.
    ///
    /// # Errors
    ///
    /// When the component traps.
    pub fn head_and_tail(&self, text: &str, head: u64, tail: u64) -> Result<Cut> {
        self.call(|blocks, store| blocks.call_head_and_tail(store, text, head, tail))
    }

    /// One call in a store of its own.
    fn call<T>(
        &self,
        call: impl FnOnce(&Guest, &mut Store<()>) -> wasmtime::Result<T>,
    ) -> Result<T> {
        let mut store = Store::new(&self.engine, ());
        let instance = self.pre.instantiate(&mut store).map_err(said)?;
        call(instance.conformance_building_blocks_blocks(), &mut store).map_err(said)
    }
}

/// The engine's error with its causes.
fn said(error: wasmtime::Error) -> anyhow::Error {
    anyhow!("{error:#}")
}
