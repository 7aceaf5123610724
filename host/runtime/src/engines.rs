//! The engines of a host: what compiles its plugins and runs them.

use std::sync::{Mutex, PoisonError};

use wasmtime::{Config, Engine};

use crate::host::HostOptions;
use crate::slots;

/// The same engine twice: every component goes to the first that takes it.
///
/// The contract has no async function, and without support for them an instance costs a quarter less and a chain of
/// five a third. But some toolchains make use of them by default, in JavaScript for one.
pub(crate) struct Engines {
    config: Config,
    calls: u32,
    plain: Engine,
    /// Made for the first component that asks for it.
    concurrent: Mutex<Option<Engine>>,
}

impl Engines {
    pub(crate) fn new(options: &HostOptions) -> wasmtime::Result<Engines> {
        let mut config = Config::new();
        config.epoch_interruption(true);
        config.max_wasm_stack(options.stack_bytes);
        // What the guest may use, and as much as the host's own frames ever take on top of it.
        config.async_stack_size(options.stack_bytes.saturating_add(1 << 20));
        config.signals_based_traps(options.fault_signals);
        // No toolchain for components needs it, and every check of an address costs more with it.
        config.wasm_memory64(false);
        cache(&mut config, options)?;
        let mut without = config.clone();
        without.concurrency_support(false);
        let plain = slots::engine(&mut without, options.calls)?;
        Ok(Engines { config, calls: options.calls, plain, concurrent: Mutex::default() })
    }

    /// The one without async functions.
    pub(crate) fn plain(&self) -> &Engine {
        &self.plain
    }

    /// The one with them. `made` is told of it when it is new.
    pub(crate) fn concurrent(&self, made: impl FnOnce(&Engine)) -> wasmtime::Result<Engine> {
        let mut concurrent = self.concurrent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(engine) = &*concurrent {
            return Ok(engine.clone());
        }
        let engine = slots::engine(&mut self.config.clone(), self.calls)?;
        made(&engine);
        Ok(concurrent.insert(engine).clone())
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
