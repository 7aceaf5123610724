//! Hostile plugins: each is stopped by name, hurts nobody beside it, and has a twin that is allowed.

mod attempt;
mod in_calls;
mod in_commands;
mod in_loads;
mod memory;
mod sound;

use std::io;

use anyhow::{Context as _, Result, ensure};
use dsh_plugin_host::{HostOptions, PluginHost};
use program_tests as programs;

pub use attempt::{Attempt, Expect};

/// One thing that a plugin might try, and the same within what it may.
pub struct Case {
    /// What is tried.
    pub sentence: &'static str,
    /// The hostile one.
    pub hostile: Attempt,
    /// The one that is allowed.
    pub twin: Attempt,
}

/// How many cases ended in which way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// As expected, both the hostile one and its twin.
    pub passed: usize,
    /// Otherwise.
    pub failed: usize,
}

impl Case {
    /// A hostile attempt with its twin.
    pub fn new(sentence: &'static str, hostile: Attempt, twin: Attempt) -> Self {
        Self { sentence, hostile, twin }
    }

    /// Runs both on `host`, and gives what stopped the hostile one.
    ///
    /// # Errors
    ///
    /// Which of them ended otherwise than expected, and how; also where a plugin beside it was hurt.
    pub async fn judge(&self, host: &PluginHost) -> Result<String> {
        let said = self.hostile.judge(host).await?;
        let twin = self.twin.judge(host).await;
        twin.map_err(|err| err.context("its twin"))?;
        Ok(said)
    }
}

impl Case {
    /// As [`judge`](Self::judge), and once more: no memory may be kept of what was stopped. Gives how much was, in
    /// bytes, where that can be told.
    ///
    /// # Errors
    ///
    /// As [`judge`](Self::judge), and where more was kept than an allocator moves about.
    pub async fn judge_twice(&self, host: &PluginHost) -> Result<(String, Option<u64>)> {
        let said = self.judge(host).await?;
        let before = memory::resident();
        self.judge(host).await.context("when it was run once more")?;
        let kept = before.zip(memory::resident());
        let kept = kept.map(|(before, after)| after.saturating_sub(before));
        ensure!(
            kept.is_none_or(|kept| kept <= memory::MAY_KEEP),
            "{} KiB were kept when it was run once more",
            kept.unwrap_or_default() >> 10
        );
        Ok((said, kept))
    }
}

/// Every case.
///
/// # Errors
///
/// When a program was not built.
pub fn cases() -> Result<Vec<Case>> {
    let mut cases = in_calls::cases();
    cases.extend(in_commands::cases());
    cases.extend(in_loads::cases()?);
    Ok(cases)
}

/// Runs `cases`, all on one host, each twice. Writes to `out` a line for each, with what stopped it and how much more
/// memory the process had after the second time, or what was wrong; and the sum.
///
/// # Errors
///
/// When there can be no host, or `out` cannot be written to.
pub async fn run(cases: &[Case], out: &mut dyn io::Write) -> Result<Tally> {
    let cache = tempfile::tempdir().context("a directory for compiled code")?;
    let mut options = HostOptions::default();
    options.cache_dir = Some(cache.path().to_owned());
    let host = PluginHost::new(options)?;
    let mut tally = Tally::default();
    for case in cases {
        match case.judge_twice(&host).await {
            Ok((said, kept)) => {
                tally.passed += 1;
                // A panic's text has lines of its own.
                let said = said.replace('\n', " ");
                let kept = kept.map(|kept| format!(" (+{} KiB)", kept >> 10)).unwrap_or_default();
                writeln!(out, "passed  {}: {said}{kept}", case.sentence)?;
            }
            Err(err) => {
                tally.failed += 1;
                writeln!(out, "FAILED  {}: {err:#}", case.sentence)?;
            }
        }
    }
    let Tally { passed, failed } = tally;
    writeln!(out, "{passed} passed, {failed} failed")?;
    Ok(tally)
}

/// A program with all that it declares granted, which enters a step or rejects it.
fn program(path: &str) -> Attempt {
    Attempt::of(path)
}

/// The plainest program, as a twin of what needs no other.
fn passes() -> Attempt {
    program(programs::PASSES)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn wrong(hostile: Attempt, twin: Attempt) -> String {
        let mut out = Vec::new();
        let cases = [Case::new("sentence", hostile, twin)];
        let tally = run(&cases, &mut out).await.expect("a report");
        assert_eq!(tally, Tally { passed: 0, failed: 1 });
        let said = String::from_utf8(out).expect("text");
        assert!(said.starts_with("FAILED  sentence: ") && said.ends_with("0 passed, 1 failed\n"));
        said
    }

    #[tokio::test]
    async fn what_ends_otherwise_than_expected_fails_its_case() {
        let said = wrong(passes().expects(Expect::Trap), passes()).await;
        assert!(said.contains("came to Decision"), "{said}");
        let said = wrong(program(programs::PANICS), passes()).await;
        assert!(said.contains("trapped"), "{said}");
        let said = wrong(passes(), program(programs::FAILS)).await;
        assert!(said.contains("its twin") && said.contains("OUT_OF_TEA"), "{said}");
        let said = wrong(passes().expects(Expect::NotLoaded("WASI")), passes()).await;
        assert!(said.contains("came to Decision"), "{said}");
    }
}
