//! Plugins as wholes: loaded from source and from the cache, a thousand of them alive, one swapped for another.

use std::sync::Arc;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use dsh_benches::{Memory, prose};
use dsh_plugin_host::{
    Catalog, Chain, Grants, HostOptions, Manifest, Package, Plugin, PluginHost, PreStepCall,
    Services, Settings,
};
use program_tests as programs;
use tokio::runtime::{Builder, Runtime};

/// How many plugins are alive at one time.
const MANY: usize = 1000;

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

fn lend() -> Services {
    Services::new(Arc::new(Memory::default()), Arc::new(()), Arc::new(|| "c".to_owned()))
}

/// A host that keeps compiled code in `dir`, where there is one.
fn host(dir: Option<&std::path::Path>) -> PluginHost {
    let mut options = HostOptions::default();
    options.cache_dir = dir.map(Into::into);
    PluginHost::new(options).expect("an engine")
}

async fn reference(host: &PluginHost) -> Plugin {
    let dsh_plugins::Standard { manifest, wasm } = dsh_plugins::SESSION_REFERENCE;
    let manifest = Manifest::parse(manifest).expect("a manifest");
    let grants = Grants::new(manifest.declares.clone());
    host.load(manifest, wasm, Settings::default(), &grants).await.expect("a plugin")
}

fn load(c: &mut Criterion) {
    let runtime = runtime();
    let mut group = c.benchmark_group("load");
    group.sample_size(10);
    let compiling = host(None);
    group.bench_function("source", |b| b.iter(|| runtime.block_on(reference(&compiling))));
    let dir = tempfile::tempdir().expect("a directory");
    let cached = host(Some(dir.path()));
    runtime.block_on(reference(&cached));
    group.bench_function("cache", |b| b.iter(|| runtime.block_on(reference(&cached))));
    group.finish();
}

fn many(c: &mut Criterion) {
    let (runtime, services) = (runtime(), lend());
    let dir = tempfile::tempdir().expect("a directory");
    let host = host(Some(dir.path()));
    let load = || programs::load(&host, programs::PASSES, programs::everything());
    let plugins = runtime.block_on(async {
        let mut plugins = Vec::with_capacity(MANY);
        for _ in 0..MANY {
            plugins.push(load().await.expect("a plugin"));
        }
        plugins
    });
    let prompt = programs::prompt("m0", &prose(1 << 10, 1));
    let chains: Vec<Chain> = plugins.into_iter().map(|plugin| Chain::new([plugin])).collect();
    let mut next = chains.iter().cycle();
    let mut group = c.benchmark_group("live");
    group.bench_function("one-of-1000", |b| {
        b.iter(|| {
            let call = PreStepCall::new("session", 1, 1, vec![prompt.clone()]);
            let chain = next.next().expect("one of many");
            runtime.block_on(chain.pre_step(&services, call)).expect("a decision")
        });
    });
    group.finish();
}

fn swap(c: &mut Criterion) {
    let runtime = runtime();
    let dir = tempfile::tempdir().expect("a directory");
    let catalog = Catalog::new(host(Some(dir.path())));
    let packages = [programs::PASSES, programs::REWRITES].map(|path| Package {
        manifest: programs::manifest("p"),
        wasm: std::fs::read(path).expect("a program").into(),
        settings: Settings::default(),
        grants: Grants::new(programs::everything()),
    });
    let mut next = packages.iter().cycle();
    let mut group = c.benchmark_group("swap");
    group.sample_size(20);
    group.bench_function("from-cache", |b| {
        b.iter_batched(
            || next.next().expect("one of two").clone(),
            |package| runtime.block_on(catalog.load(package)).expect("a generation"),
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

criterion_group!(plugins, load, many, swap);
criterion_main!(plugins);
