//! Calls into components: the reference plugin's work, chains around a step, and what else a hook could be.

use std::sync::Arc;

use async_trait::async_trait;
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use dsh_benches::{DIR, Inputs, Memory, prose};
use dsh_plugin_host::{
    Block, Chain, Decision, Failure, Grants, Manifest, Plugin, PreStepCall, Reference, Rest,
    Services, Sessions, Settings, Target,
};
use dsh_session::{Encoding, Store};
use dsh_wasm::Reader;
use program_tests as programs;
use tokio::runtime::{Builder, Runtime};

const SIZES: [(&str, usize); 3] = [("1KiB", 1 << 10), ("64KiB", 64 << 10), ("4MiB", 4 << 20)];

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

fn lend(sessions: impl Sessions + 'static) -> Services {
    Services::new(Arc::new(sessions), Arc::new(()), Arc::new(|| "c".to_owned()))
}

/// The reference plugin, with all that it declares granted.
fn references(runtime: &Runtime) -> Plugin {
    let dsh_plugins::Standard { manifest, wasm } = dsh_plugins::SESSION_REFERENCE;
    let manifest = Manifest::parse(manifest).expect("a manifest");
    let grants = Grants::new(manifest.declares.clone());
    let load = async { programs::host().load(manifest, wasm, Settings::default(), &grants).await };
    runtime.block_on(load).expect("a plugin")
}

/// `id` as it is mentioned.
async fn mention(plugin: &Plugin, services: &Services, id: &str, label: &str) -> String {
    let reference = Reference { session: id.to_owned(), label: Some(label.to_owned()) };
    plugin.format(services, &reference).await.expect("a mention")
}

fn parse(c: &mut Criterion) {
    let runtime = runtime();
    let (plugin, services) = (references(&runtime), lend(Memory::default()));
    let third = prose(21_700, 1);
    let mentions = runtime.block_on(async {
        let first = mention(&plugin, &services, "session-1", "Alpha").await;
        let second = mention(&plugin, &services, "session-2", "Be]ta").await;
        let third_one = mention(&plugin, &services, "session-3", "Gamma").await;
        format!("{third}{first}{third}{second}{third}{third_one}")
    });
    let texts = [
        ("three-mentions", mentions),
        ("no-mentions", prose(65_536, 2)),
        ("unclosed", "@[".repeat(32_768)),
    ];
    let mut group = c.benchmark_group("parse");
    for (name, text) in texts {
        group.bench_function(name, |b| {
            b.iter(|| runtime.block_on(plugin.parse(&services, &text)).expect("parsed"));
        });
    }
    group.finish();
}

fn prepare(c: &mut Criterion) {
    let runtime = runtime();
    let plugin = references(&runtime);
    let reference = |id: &str| Reference { session: id.to_owned(), label: None };
    let references = ["a", "b", "c"].map(reference);
    let content = [Block::text("go")];
    let mut group = c.benchmark_group("prepare");
    group.sample_size(20);
    for bytes in [256, 1024, 8192, 65_536, 1 << 20] {
        let services = lend(Memory::mebibytes(bytes));
        group.bench_function(BenchmarkId::from_parameter(bytes), |b| {
            b.iter(|| {
                let call = plugin.prepare(&services, "target", &content, &references);
                runtime.block_on(call).expect("prepared")
            });
        });
    }
    group.finish();
}

fn candidates(c: &mut Criterion) {
    let runtime = runtime();
    let plugin = references(&runtime);
    let target = Target { session: "target".to_owned(), cwd: Some("/w/3".to_owned()) };
    let memory = lend(Memory::many());
    let inputs = Inputs::make(DIR).expect("inputs");
    let store = Store::new(inputs.many(), Encoding::Zstd, Arc::new(|| 0));
    let disk = lend(Reader::new(dsh_session::Sessions::new(store)));
    let queries = [("all", ""), ("few", "number 777"), ("many", "FIX"), ("none", "zzzz")];
    let mut group = c.benchmark_group("candidates");
    for (name, query) in queries {
        group.bench_function(name, |b| {
            b.iter(|| {
                let call = plugin.candidates(&memory, &target, query, None);
                runtime.block_on(call).expect("candidates")
            });
        });
    }
    group.sample_size(10);
    for (name, query) in [("disk-all", ""), ("disk-few", "number 777")] {
        group.bench_function(name, |b| {
            b.iter(|| {
                let call = plugin.candidates(&disk, &target, query, None);
                runtime.block_on(call).expect("candidates")
            });
        });
    }
    group.finish();
}

/// A link that is no component: it takes the batch as it is.
struct Native;

#[async_trait]
impl Rest for Native {
    fn name(&self) -> &str {
        "native"
    }

    async fn pre_step(&self, batch: Decision) -> Result<Decision, Failure> {
        Ok(batch)
    }
}

fn pre_step(c: &mut Criterion) {
    let runtime = runtime();
    let services = lend(Memory::default());
    let mut group = c.benchmark_group("pre-step");
    group.sample_size(30);
    let programs = [
        ("passes", programs::PASSES),
        ("reads", programs::READS_AND_PASSES),
        ("rewrites", programs::REWRITES),
    ];
    for (program, path) in programs {
        let one = runtime.block_on(programs::chain(&[path]));
        for links in [1, 5, 20] {
            let chain = Chain::new(std::iter::repeat_n(one.links(), links).flatten().cloned());
            for (size, bytes) in SIZES {
                group.bench_function(format!("{program}-{links}-{size}"), |b| {
                    let prompt = programs::prompt("m0", &prose(bytes, 1));
                    b.iter(|| {
                        let call = PreStepCall::new("session", 1, 1, vec![prompt.clone()]);
                        runtime.block_on(chain.pre_step(&services, call)).expect("a decision")
                    });
                });
            }
        }
    }
    for (size, bytes) in SIZES {
        group.bench_function(format!("native-{size}"), |b| {
            let (chain, rest) = (Chain::default(), Arc::new(Native));
            let prompt = programs::prompt("m0", &prose(bytes, 1));
            b.iter(|| {
                let mut call = PreStepCall::new("session", 1, 1, vec![prompt.clone()]);
                call.rest = Some(rest.clone());
                runtime.block_on(chain.pre_step(&services, call)).expect("a decision")
            });
        });
    }
    group.finish();
}

criterion_group!(sandbox, parse, prepare, candidates, pre_step);
criterion_main!(sandbox);
