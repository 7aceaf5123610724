//! Prints what loading and chains cost on this machine: `cargo run --release -p program-tests --example figures`.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::time::{Duration, Instant};

use dsh_plugin_host::{Chain, HostOptions, PluginHost, PreStepCall, Services};
use program_tests::{self as programs, Scripted, chain, everything, load, prompt, services};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (lent, _, _) = services(Scripted::default());
    let dir = tempfile::tempdir()?;
    for (what, cached) in [("compiled", false), ("into the cache", true), ("from the cache", true)]
    {
        let mut options = HostOptions::default();
        options.cache_dir = cached.then(|| dir.path().to_owned());
        let host = PluginHost::new(options)?;
        let began = Instant::now();
        load(&host, programs::PASSES, everything()).await?;
        println!("load, {what}: {:?}", began.elapsed());
    }
    for program in [programs::PASSES, programs::REWRITES] {
        let link = chain(&[program]).await;
        let name = link.links().first().map_or("", |plugin| plugin.id());
        for links in [1, 2, 5, 20] {
            let chain = Chain::new(std::iter::repeat_n(link.links(), links).flatten().cloned());
            for size in [1 << 10, 64 << 10, 4 << 20] {
                let (tenth, median) = timed(&chain, &lent, size).await?;
                println!(
                    "chain of {links} x {name}, {} KiB: p10 {tenth:?}, p50 {median:?}",
                    size >> 10
                );
            }
        }
    }
    Ok(())
}

/// How long a batch of one prompt of `size` bytes takes through a chain: the tenth percentile and the median.
async fn timed(
    chain: &Chain,
    services: &Services,
    size: usize,
) -> Result<(Duration, Duration), dsh_plugin_host::CallError> {
    let message = prompt("m0", &"x".repeat(size));
    let mut times = Vec::new();
    for _ in 0..if size > 1 << 20 { 60 } else { 600 } {
        let call = PreStepCall::new("session", 1, 1, vec![message.clone()]);
        let began = Instant::now();
        chain.pre_step(services, call).await?;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    let at = |part: usize| times.get(times.len() / part).copied().unwrap_or_default();
    Ok((at(10), at(2)))
}
