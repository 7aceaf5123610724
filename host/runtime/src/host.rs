//! The host: its engines, and what each plugin shares with the others.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use crate::engines::Engines;
use crate::grants::Grants;
use crate::load;
use crate::load_error::LoadError;
use crate::manifest::Manifest;
use crate::plugin::Plugin;
use crate::settings::Settings;
use crate::ticker::Ticker;
use crate::version;

/// How a host is made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HostOptions {
    /// Where compiled code is kept; none to compile anew in each process.
    ///
    /// It is created if missing, and can be shared by processes and deleted at any time. Whoever can write to it
    /// can run code in this process: it needs the permissions of a program's own folder. Takes the feature `cache`.
    pub cache_dir: Option<PathBuf>,
    /// Bytes of stack for each call into a guest; 512 KiB. One for all plugins of a host, as it is the engine's.
    pub stack_bytes: usize,
    /// Whether guests' memory accesses are checked by the processor, with a handler for its fault signals; true.
    ///
    /// The handler is the engine's, serves faults in guest code alone and passes on every other. Without it no
    /// signal handler is installed, and guests take about twice as long where they touch memory.
    pub fault_signals: bool,
    /// Calls that can run at one time, of all plugins together, each link of a chain being one; 256.
    ///
    /// One more is refused and never waits. Each takes 8 GiB of address space, room for two memories and no memory
    /// itself, and a little time when the host is made. Where the system does not give that much, calls are not
    /// counted and take longer.
    pub calls: u32,
}

impl Default for HostOptions {
    fn default() -> HostOptions {
        HostOptions { cache_dir: None, stack_bytes: 512 << 10, fault_signals: true, calls: 256 }
    }
}

/// What a component imports and exports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Interfaces {
    /// The names of its imports.
    pub imports: Vec<String>,
    /// The names of its exports.
    pub exports: Vec<String>,
}

impl Interfaces {
    /// The versions of the contract that they are of: what the component was built against.
    #[must_use]
    pub fn contract(&self) -> BTreeSet<&str> {
        let names = self.imports.iter().chain(&self.exports);
        let ours = names.filter(|name| name.starts_with("dsh:"));
        ours.filter_map(|name| name.split_once('@')).map(|(_, version)| version).collect()
    }
}

/// Loads plugins. Cheap to clone; its thread ends with the last clone and the last plugin.
#[derive(Clone)]
pub struct PluginHost(Arc<Shared>);

/// What every plugin of a host shares.
pub(crate) struct Shared {
    pub(crate) engines: Engines,
    pub(crate) ticker: Ticker,
    pub(crate) bounds: Bounds,
}

/// What is one for all calls of a host.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    /// [`HostOptions::stack_bytes`].
    pub(crate) stack_bytes: usize,
    /// [`HostOptions::calls`].
    pub(crate) calls: u32,
}

impl PluginHost {
    /// Makes the engine and starts its ticker, a thread that sleeps while no call runs.
    ///
    /// # Errors
    ///
    /// [`LoadError::Engine`], for a cache directory that cannot be made or a stack that is too small.
    pub fn new(options: HostOptions) -> Result<PluginHost, LoadError> {
        let broken = |err: wasmtime::Error| LoadError::Engine { reason: format!("{err:#}") };
        let engines = Engines::new(&options).map_err(broken)?;
        let ticker = Ticker::start(engines.plain().weak())
            .map_err(|err| LoadError::Engine { reason: err.to_string() })?;
        let bounds = Bounds { stack_bytes: options.stack_bytes, calls: options.calls };
        Ok(PluginHost(Arc::new(Shared { engines, ticker, bounds })))
    }

    /// Compiles, links, checks and once instantiates a component.
    ///
    /// It is linked with what `manifest` declares and `grants` grants, and nothing else. Compiling runs on the
    /// runtime's blocking threads.
    ///
    /// # Errors
    ///
    /// Each way in which a plugin does not fit is a [`LoadError`] of its own, which says what to do.
    pub async fn load(
        &self,
        manifest: Manifest,
        wasm: &[u8],
        settings: Settings,
        grants: &Grants,
    ) -> Result<Plugin, LoadError> {
        load::load(self.0.clone(), manifest, wasm, settings, grants).await
    }

    /// The versions of the contract that a component can be built against, the oldest first. One that differs in its
    /// last figure alone loads as well.
    pub fn versions(&self) -> impl Iterator<Item = &'static str> + use<> {
        version::names()
    }

    /// What a component imports and exports, each with its version. It is compiled, and nothing of it runs.
    ///
    /// # Errors
    ///
    /// [`LoadError::NotAComponent`] and [`LoadError::Compile`].
    pub async fn interfaces(
        &self,
        manifest: &Manifest,
        wasm: &[u8],
    ) -> Result<Interfaces, LoadError> {
        load::interfaces(&self.0, manifest, wasm).await
    }
}

impl std::fmt::Debug for PluginHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PluginHost").finish_non_exhaustive()
    }
}
