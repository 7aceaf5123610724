//! Swapping plugins under load. A binary of its own, as it watches the memory of its process, which
//! Linux tells.

#![cfg(target_os = "linux")]
#![expect(clippy::indexing_slicing, reason = "a test that cannot go on fails")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use async_trait::async_trait;
use dsh_plugin_host::{
    Catalog, Decision, Edit, Entered, Failure, Grants, HostOptions, Package, PluginHost, Rest,
    Settings,
};
use program_tests::{self as programs, Scripted, call, everything, manifest, services};

/// How often the plugin is replaced by one whose compiled code is in the cache.
const FROM_CACHE: u64 = 10_000;

/// How often by one that nobody has compiled before, in between.
const COMPILED: u64 = 200;

/// How often in all.
const SWAPS: u64 = FROM_CACHE + COMPILED;

/// Swaps from one that is compiled to the next.
const STRIDE: u64 = SWAPS / COMPILED;

/// After so many, whatever is made once has been made.
const WARM_UP: u64 = 2_000;

/// How much the process may grow over the other swaps. Kept, what they replace takes twenty times as much.
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

/// Which component a generation has.
fn which(number: u64) -> usize {
    usize::try_from(number % 4).expect("one of four")
}

/// Whether generation `number` is of bytes that no cache knows.
fn is_compiled(number: u64) -> bool {
    number.is_multiple_of(STRIDE)
}

/// The plugin of generation `number`.
fn package(components: &[Arc<[u8]>], number: u64) -> Package {
    let component = &components[which(number)];
    let wasm = if is_compiled(number) { other_bytes(component, number) } else { component.clone() };
    let grants = Grants::new(everything());
    Package { manifest: manifest("swapped"), wasm, settings: Settings::default(), grants }
}

/// The same component with `number` in a custom section, which makes other bytes of it, and so another entry of the
/// cache.
fn other_bytes(component: &[u8], number: u64) -> Arc<[u8]> {
    let mut section = b"\x06number".to_vec();
    section.extend(number.to_le_bytes());
    let length = u8::try_from(section.len()).expect("one byte of LEB128");
    [component, &[0, length], &section].concat().into()
}

/// How many compiled components a cache holds. What else it keeps, of their use and of its own cleaning up, has an
/// extension.
fn entries(dir: &Path) -> u64 {
    let each = std::fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("one").path());
    let counted = each.map(|path| match path.extension() {
        _ if path.is_dir() => entries(&path),
        Some(_) => 0,
        None => 1,
    });
    counted.sum()
}

/// Bytes of memory that the process has in use.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = resident.and_then(|kib| kib.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.expect("a number of KiB") << 10
}

/// What turns saw, one after the other, while the plugin was replaced.
#[derive(Default)]
struct Seen {
    calls: u64,
    turns: [u64; 4],
}

/// Takes turns of two steps until it is `over`.
async fn take_turns(catalog: &Catalog, loaded: &AtomicU64, over: &AtomicBool) -> Seen {
    let services = services(Scripted::default()).0;
    let passed = Arc::new(Counting::default());
    let mut seen = Seen::default();
    while !over.load(Ordering::SeqCst) {
        let at_least = loaded.load(Ordering::SeqCst);
        let generation = catalog.current();
        assert!(generation.number() >= at_least, "a turn begins on what was loaded before it");
        let expected = which(generation.number());
        // A swap between its steps is not a turn's business.
        for step in 1..=2 {
            let mut call = call();
            call.step = step;
            call.rest = Some(passed.clone());
            let decision = generation.chain().pre_step(&services, call).await;
            assert_eq!(component(&decision.expect("a decision")), expected, "no call is mixed");
            seen.calls += 1;
            let through = passed.0.load(Ordering::SeqCst);
            assert_eq!(through, seen.calls, "each call goes through once");
        }
        seen.turns[expected] += 1;
    }
    seen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_run_on_what_they_began_with_while_the_plugin_is_replaced() {
    let cache = tempfile::tempdir().expect("a directory");
    let mut options = HostOptions::default();
    options.cache_dir = Some(cache.path().to_owned());
    let catalog = Arc::new(Catalog::new(PluginHost::new(options).expect("an engine")));
    let components = COMPONENTS.map(|path| Arc::from(std::fs::read(path).expect("a program")));
    // The generation's number says which component it has.
    catalog.load(package(&components, 1)).await.expect("a plugin");

    let (over, loaded) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(1)));
    let mut turns = Vec::new();
    for _ in 0..TURNS {
        let (catalog, over, loaded) = (catalog.clone(), over.clone(), loaded.clone());
        turns.push(tokio::spawn(async move { take_turns(&catalog, &loaded, &over).await }));
    }

    let services = services(Scripted::default()).0;
    let mut warm = 0;
    for number in 2..=SWAPS {
        let generation = catalog.load(package(&components, number)).await.expect("a plugin");
        assert_eq!(generation.number(), number);
        loaded.store(number, Ordering::SeqCst);
        assert!(Arc::ptr_eq(&generation, &catalog.current()), "a swap is seen at once");
        if is_compiled(number) {
            let next = catalog.current().chain().pre_step(&services, call()).await;
            let made_by = component(&next.expect("a decision"));
            assert_eq!(made_by, which(number), "the very next call is on the new one");
        }
        if number == WARM_UP {
            warm = resident();
        }
    }
    over.store(true, Ordering::SeqCst);
    let mut all = Seen::default();
    for turn in turns {
        let seen = turn.await.expect("no panic");
        all.calls += seen.calls;
        all.turns.iter_mut().zip(seen.turns).for_each(|(all, seen)| *all += seen);
    }
    let grown = resident().saturating_sub(warm);
    let figures = format!("{} calls, {:?} turns, grown by {grown}", all.calls, all.turns);
    assert!(all.turns.iter().all(|&turns| turns > 0), "{figures}");
    assert_eq!(entries(cache.path()), 4 + COMPILED, "so many were compiled, and no more");
    assert!(grown < GROWTH, "{figures}");
}
