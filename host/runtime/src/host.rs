//! The host: its engines, and what each plugin shares with the others.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use wasmtime::{Config, Engine};

use crate::grants::Grants;
use crate::load;
use crate::load_error::LoadError;
use crate::manifest::Manifest;
use crate::plugin::Plugin;
use crate::settings::Settings;
use crate::slots;
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
}

impl Default for HostOptions {
    fn default() -> HostOptions {
        HostOptions { cache_dir: None, stack_bytes: 512 << 10, fault_signals: true }
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

/// The same engine twice: every component goes to the first that takes it.
///
/// The contract has no async function, and without support for them an instance costs a quarter less and a chain of
/// five a third. But some toolchains make use of them by default, in JavaScript for one.
#[derive(Clone)]
pub(crate) struct Engines {
    pub(crate) plain: Engine,
    pub(crate) concurrent: Engine,
}

/// What every plugin of a host shares.
pub(crate) struct Shared {
    pub(crate) engines: Engines,
    pub(crate) ticker: Ticker,
    pub(crate) stack_bytes: usize,
}

impl PluginHost {
    /// Makes the engine and starts its ticker, a thread that sleeps while no call runs.
    ///
    /// # Errors
    ///
    /// [`LoadError::Engine`], for a cache directory that cannot be made or a stack that is too small.
    pub fn new(options: HostOptions) -> Result<PluginHost, LoadError> {
        let broken = |err: wasmtime::Error| LoadError::Engine { reason: format!("{err:#}") };
        let mut config = Config::new();
        config.epoch_interruption(true);
        config.max_wasm_stack(options.stack_bytes);
        // What the guest may use, and as much as the host's own frames ever take on top of it.
        config.async_stack_size(options.stack_bytes.saturating_add(1 << 20));
        config.signals_based_traps(options.fault_signals);
        // No toolchain for components needs it, and every check of an address costs more with it.
        config.wasm_memory64(false);
        cache(&mut config, &options).map_err(broken)?;
        let concurrent = slots::engine(&mut config).map_err(broken)?;
        config.concurrency_support(false);
        let plain = slots::engine(&mut config).map_err(broken)?;
        let ticker = Ticker::start([&plain, &concurrent].map(Engine::weak))
            .map_err(|err| LoadError::Engine { reason: err.to_string() })?;
        let engines = Engines { plain, concurrent };
        Ok(PluginHost(Arc::new(Shared { engines, ticker, stack_bytes: options.stack_bytes })))
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

#[cfg(feature = "cache")]
fn cache(config: &mut Config, options: &HostOptions) -> wasmtime::Result<()> {
    let Some(directory) = &options.cache_dir else { return Ok(()) };
    let mut cache = wasmtime::CacheConfig::new();
    cache.with_directory(directory);
    // Entries that are read often would be compressed once more, at a level that takes over 100 MiB of memory and
    // saves some KiB of disk. The test `swaps` would see it.
    cache.with_optimized_compression_usage_counter_threshold(u64::MAX);
    config.cache(Some(wasmtime::Cache::new(cache)?));
    Ok(())
}

#[cfg(not(feature = "cache"))]
fn cache(_config: &mut Config, options: &HostOptions) -> wasmtime::Result<()> {
    match options.cache_dir {
        None => Ok(()),
        Some(_) => Err(wasmtime::Error::msg("`cache_dir` is set, and the feature `cache` is off")),
    }
}
