//! The host as an embedder has it: beside other work, moved between threads, cached, dropped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dsh_plugin_host::{Cause, Chain, HostOptions, Limit, PluginHost};
use program_tests::{self as programs, Delay, Scripted, chain, everything, load, run, services};

use crate::decision::{UNTOUCHED, entered};

#[tokio::test]
async fn a_busy_guest_lets_others_on_the_same_thread_finish_first() {
    let (busy, quick) = (chain(&[programs::LOOPS]).await, chain(&[programs::PASSES]).await);
    let services = services(Scripted::default()).0;
    let loops = async {
        let err = run(&busy, &services).await.expect_err("a limit");
        assert!(matches!(err.cause, Cause::Limit(breach) if breach.limit == Limit::Cpu));
    };
    let passes = async {
        for _ in 0..5 {
            run(&quick, &services).await.expect("a decision");
            tokio::task::yield_now().await;
        }
    };
    tokio::pin!(loops);
    tokio::select! {
        biased;
        () = &mut loops => panic!("the busy guest held the thread to its end"),
        () = passes => {}
    }
    loops.await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_and_well_behaved_calls_run_beside_each_other() {
    let quick = chain(&[programs::PASSES, programs::ADDS_CONTEXT]).await;
    let mut hostile = Vec::new();
    for program in [programs::LOOPS, programs::EATS_MEMORY, programs::RECURSES, programs::PANICS] {
        let chain = chain(&[program]).await;
        hostile.push(tokio::spawn(async move {
            run(&chain, &services(Scripted::default()).0).await.expect_err("a failure");
        }));
    }
    let well_behaved = (0..8).map(|_| {
        let quick = quick.clone();
        tokio::spawn(async move {
            for _ in 0..50 {
                assert_eq!(entered(&quick).await.len(), 3);
            }
        })
    });
    for task in well_behaved.collect::<Vec<_>>().into_iter().chain(hostile) {
        task.await.expect("no panic");
    }
}

#[tokio::test]
async fn a_busy_guest_that_is_dropped_is_gone() {
    let busy = chain(&[programs::LOOPS]).await;
    let services = services(Scripted::default()).0;
    tokio::select! {
        biased;
        err = run(&busy, &services) => panic!("{err:?}"),
        () = tokio::task::yield_now() => {}
    }
    let err = run(&busy, &services).await.expect_err("a limit");
    assert!(matches!(err.cause, Cause::Limit(breach) if breach.limit == Limit::Cpu));
}

#[tokio::test]
async fn plugins_outlive_the_host_that_loaded_them() {
    let chain = chain(&[programs::PASSES]).await;
    assert_eq!(entered(&chain).await, UNTOUCHED);
}

/// Slots are used again: in a chain of three by its own kind, by another one, and by the others of its round.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
pub(crate) async fn looks_for_traces() {
    let host = programs::host();
    let load = async |path| load(&host, path, everything()).await.expect("a plugin");
    let (looks, passes) = (load(programs::LOOKS_FOR_TRACES).await, load(programs::PASSES).await);
    let other = load(programs::LOOKS_FOR_TRACES).await;
    let chain = Chain::new([looks.clone(), passes, other, looks]);
    for _ in 0..20 {
        let side_by_side = (0..4).map(|_| {
            let chain = chain.clone();
            tokio::spawn(async move { entered(&chain).await })
        });
        for task in side_by_side.collect::<Vec<_>>() {
            assert_eq!(task.await.expect("no panic"), UNTOUCHED);
        }
    }
}

#[tokio::test]
async fn a_call_too_many_is_refused_and_no_fault_of_the_plugins() {
    let mut options = HostOptions::default();
    options.calls = 2;
    let host = PluginHost::new(options).expect("an engine");
    let passes = load(&host, programs::PASSES, everything()).await.expect("a plugin");
    let third = load(&host, programs::READS_AND_PASSES, everything()).await.expect("a plugin");
    let two = Chain::new([passes.clone(), passes.clone()]);
    let three = Chain::new([passes.clone(), passes, third.clone()]);
    let services = services(Scripted::default()).0;
    for _ in 0..4 {
        let err = run(&three, &services).await.expect_err("a third call");
        assert_eq!(
            err.to_string(),
            "reads_and_passes: `dsh:agent/pre-step.handle` was stopped: more than 2 calls of all plugins at one time (try again when some have ended, or raise the host's option `calls`)"
        );
    }
    assert_eq!(third.quarantine(), None);
    assert_eq!(entered(&two).await, UNTOUCHED);
}

/// Runs this very program again, as a person whose system allows each process 60 GB of address space.
#[test]
fn a_host_without_address_space_for_slots_works_all_the_same() {
    let program = std::env::current_exe().expect("this program");
    let script =
        "ulimit -v 60000000 && exec \"$0\" --exact host::plugins_outlive_the_host_that_loaded_them";
    let output = Command::new("sh").args(["-c", script]).arg(program).output().expect("a shell");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{output:?}");
}

#[tokio::test]
async fn a_host_can_do_without_fault_signals() {
    let mut options = HostOptions::default();
    options.fault_signals = false;
    let host = PluginHost::new(options).expect("an engine");
    let load = async |path| load(&host, path, everything()).await.expect("a plugin");
    let passes = Chain::new([load(programs::PASSES).await]);
    assert_eq!(entered(&passes).await, UNTOUCHED);
    let recurses = Chain::new([load(programs::RECURSES).await]);
    let err =
        run(&recurses, &services(Scripted::delayed(Delay::None)).0).await.expect_err("a limit");
    assert!(matches!(err.cause, Cause::Limit(breach) if breach.limit == Limit::Stack));
}

#[test]
fn options_that_make_no_engine_are_an_error() {
    let mut options = HostOptions::default();
    options.stack_bytes = 0;
    let err = PluginHost::new(options).expect_err("no stack");
    assert!(err.to_string().starts_with("the plugin engine could not be made: "), "{err}");
    let file = tempfile::NamedTempFile::new().expect("a file");
    let mut options = HostOptions::default();
    options.cache_dir = Some(file.path().join("below"));
    assert!(PluginHost::new(options).is_err(), "a file has no directories");
}

/// What becomes of a cache entry.
type Damage = fn(&[u8]) -> Vec<u8>;

/// Every file below `dir`.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in
        fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").path())
    {
        if entry.is_dir() { found.extend(files(&entry)) } else { found.push(entry) }
    }
    found
}

#[tokio::test]
async fn compiled_code_is_kept_and_a_damaged_entry_is_compiled_anew() {
    let dir = tempfile::tempdir().expect("a directory");
    let load_once = async || {
        let mut options = HostOptions::default();
        options.cache_dir = Some(dir.path().join("not/there/yet"));
        let host = PluginHost::new(options).expect("an engine");
        let plugin = load(&host, programs::PASSES, everything()).await.expect("a plugin");
        assert_eq!(entered(&Chain::new([plugin])).await, UNTOUCHED);
    };
    load_once().await;
    let entries = || files(dir.path()).into_iter().filter(|path| path.extension().is_none());
    assert_eq!(entries().count(), 1, "{:?}", files(dir.path()));
    let damages: [Damage; 4] = [
        |entry| entry[..entry.len() / 2].to_vec(),
        |entry| entry.iter().map(|byte| byte ^ 1).collect(),
        |_| Vec::new(),
        |_| b"something else".to_vec(),
    ];
    for damage in damages {
        for entry in entries() {
            let bytes = fs::read(&entry).expect("an entry");
            fs::write(&entry, damage(&bytes)).expect("written");
        }
        load_once().await;
    }
}
