//! Swapping plugins under load. A binary of its own, as it watches the memory of its process, which
//! Linux tells.

#![cfg(target_os = "linux")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use async_trait::async_trait;
use dsh_plugin_host::{
    Catalog, Decision, Edit, Entered, Failure, Grants, HostOptions, Package, PluginHost, Rest,
    Settings,
};
use program_tests::{self as programs, Scripted, call, everything, manifest, services};

/// How often the plugin is replaced.
const SWAPS: u64 = 2_000;

/// After so many, whatever is made once has been made.
const WARM_UP: u64 = 400;

/// How much the process may grow over the other swaps. Kept, what they replace takes four times as much.
const GROWTH: u64 = 48 << 20;

/// How many turns run at any time.
const TURNS: usize = 4;

/// Four components that do different things, and all call `next` once.
const COMPONENTS: [&str; 4] =
    [programs::PASSES, programs::ADDS_CONTEXT, programs::REWRITES, programs::GRANTED_KIND];

/// Which of them made this of the batch.
fn component(decision: &Decision) -> usize {
    let Decision::Enter(messages) = decision else { panic!("{decision:?}") };
    match &messages[..] {
        [Entered::Batch { .. }, Entered::Batch { .. }] => 0,
        [Entered::Batch { .. }, Entered::Batch { .. }, Entered::Context(_)] => 1,
        [Entered::Edited { edits, .. }, Entered::Edited { .. }] => {
            let [Edit { text, .. }] = &edits[..] else { panic!("{edits:?}") };
            assert_eq!(&**text, "changed");
            2
        }
        [Entered::Context(_), Entered::Batch { .. }, Entered::Batch { .. }] => 3,
        other => panic!("{other:?}"),
    }
}

/// Accepts, and counts.
#[derive(Default)]
struct Counting(AtomicU64);

#[async_trait]
impl Rest for Counting {
    fn name(&self) -> &str {
        "counting"
    }

    async fn pre_step(&self, batch: Decision) -> Result<Decision, Failure> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(batch)
    }
}

fn package(number: u64) -> Package {
    let which = usize::try_from(number % 4).expect("one of four");
    let path = COMPONENTS.get(which).expect("one of four");
    let wasm = std::fs::read(path).expect("a program").into();
    let grants = Grants::new(everything());
    Package { manifest: manifest("swapped"), wasm, settings: Settings::default(), grants }
}

/// Bytes of memory that the process has in use.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = resident.and_then(|kib| kib.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.expect("a number of KiB") << 10
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_run_on_what_they_began_with_while_the_plugin_is_replaced() {
    let cache = tempfile::tempdir().expect("a directory");
    let mut options = HostOptions::default();
    options.cache_dir = Some(cache.path().to_owned());
    let catalog = Arc::new(Catalog::new(PluginHost::new(options).expect("an engine")));
    // The generation's number says which component it has.
    catalog.load(package(1)).await.expect("a plugin");

    let (over, passed) = (Arc::new(AtomicBool::new(false)), Arc::new(Counting::default()));
    let mut turns = Vec::new();
    for _ in 0..TURNS {
        let (catalog, over, passed) = (catalog.clone(), over.clone(), passed.clone());
        turns.push(tokio::spawn(async move {
            let services = services(Scripted::default()).0;
            let (mut calls, mut seen) = (0, [0u64; 4]);
            while !over.load(Ordering::SeqCst) {
                let generation = catalog.current();
                let expected = usize::try_from(generation.number() % 4).expect("one of four");
                // A turn of two steps: the swap in between is not its business.
                for step in 1..=2 {
                    let mut call = call();
                    call.step = step;
                    call.rest = Some(passed.clone());
                    let decision = generation.chain().pre_step(&services, call).await;
                    assert_eq!(component(&decision.expect("a decision")), expected);
                    calls += 1;
                }
                seen[expected] += 1;
            }
            (calls, seen)
        }));
    }

    let mut warm = 0;
    for number in 2..=SWAPS {
        let generation = catalog.load(package(number)).await.expect("a plugin");
        assert_eq!(generation.number(), number);
        assert!(Arc::ptr_eq(&generation, &catalog.current()), "a swap is seen at once");
        if number == WARM_UP {
            warm = resident();
        }
    }
    over.store(true, Ordering::SeqCst);
    let (mut calls, mut seen) = (0, [0; 4]);
    for turn in turns {
        let (mine, saw) = turn.await.expect("no panic");
        calls += mine;
        for (all, mine) in seen.iter_mut().zip(saw) {
            *all += mine;
        }
    }
    let grown = resident().saturating_sub(warm);
    let figures = format!("{calls} calls, turns for each component {seen:?}, grown by {grown}");
    assert_eq!(calls, passed.0.load(Ordering::SeqCst), "each call went through once");
    assert!(seen.iter().all(|&turns| turns > 0), "{figures}");
    assert!(grown < GROWTH, "{figures}");
}
