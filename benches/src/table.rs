//! The table: each figure of ours, that of the TypeScript packages, and the ratio.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

/// What is measured: its name on both sides, and what it is.
const ROWS: [(&str, &str); 32] = [
    ("decode/raw", "decode a raw log of 10,000 events, each made"),
    ("decode/raw.held", "… into memory, as it is held there"),
    ("decode/zstd", "decode it in zstd, each made"),
    ("fold/10k", "fold 10,000 decoded events, as they are held"),
    ("fold/10k.each", "… each by itself"),
    ("fold/1m", "fold 1,000,000 decoded events, as they are held"),
    ("fold/1m.each", "… each by itself"),
    ("open/raw-10k", "open for surface, 10,000 events, raw"),
    ("open/zstd-10k", "the same in zstd"),
    ("open/live-10k", "the surface of an open session of 10,000 events"),
    ("open/raw-1m", "open for surface, 1,000,000 events, raw"),
    ("open/zstd-1m", "the same in zstd"),
    ("append/raw", "append a turn of 27 events with fsync, raw"),
    ("append/zstd", "the same in zstd"),
    ("list/cold", "list 10,000 sessions, first time"),
    ("list/warm", "list them again"),
    ("search/cold", "search the titles of 10,000 sessions, first time"),
    ("search/warm", "search them again"),
    ("parse/three-mentions", "mentions in 64 KiB with three"),
    ("parse/no-mentions", "mentions in 64 KiB without one"),
    ("parse/unclosed", "mentions in 64 KiB of `@[`"),
    ("prepare/1048576", "snapshot of 3 × 1 MiB in messages of 1 MiB"),
    ("prepare/65536", "… of 64 KiB"),
    ("prepare/8192", "… of 8 KiB"),
    ("prepare/1024", "… of 1 KiB"),
    ("prepare/256", "… of 256 bytes"),
    ("candidates/all", "candidates of 10,000 sessions in memory, no query"),
    ("candidates/few", "… few match"),
    ("candidates/many", "… many match"),
    ("candidates/none", "… none matches"),
    ("candidates/disk-all", "candidates of 10,000 sessions on disk, no query"),
    ("candidates/disk-few", "… few match"),
];

/// Calls and loads of components, which have no counterpart on the other side.
const SANDBOX: [(&str, &str); 22] = [
    ("pre-step/passes-1-1KiB", "a step through 1 component that looks at nothing, 1 KiB"),
    ("pre-step/passes-1-64KiB", "… 64 KiB"),
    ("pre-step/passes-1-4MiB", "… 4 MiB"),
    ("pre-step/passes-5-1KiB", "… through 5, 1 KiB"),
    ("pre-step/passes-5-64KiB", "… 64 KiB"),
    ("pre-step/passes-5-4MiB", "… 4 MiB"),
    ("pre-step/passes-20-1KiB", "… through 20, 1 KiB"),
    ("pre-step/passes-20-64KiB", "… 64 KiB"),
    ("pre-step/passes-20-4MiB", "… 4 MiB"),
    ("pre-step/reads-1-1KiB", "a step through 1 component that reads the text, 1 KiB"),
    ("pre-step/reads-1-64KiB", "… 64 KiB"),
    ("pre-step/reads-1-4MiB", "… 4 MiB"),
    ("pre-step/rewrites-1-1KiB", "a step through 1 component that changes the text, 1 KiB"),
    ("pre-step/rewrites-1-64KiB", "… 64 KiB"),
    ("pre-step/rewrites-1-4MiB", "… 4 MiB"),
    ("pre-step/native-1KiB", "a step through 1 link in Rust, 1 KiB"),
    ("pre-step/native-4MiB", "… 4 MiB"),
    ("live/one-of-1000", "a step through one of 1,000 live plugins in turn, 1 KiB"),
    ("load/source", "load session-reference, compiling it"),
    ("load/cache", "… from the cache"),
    ("swap/from-cache", "swap a plugin for another, from the cache"),
    ("prepare/256", "the whole of session-reference on 3 × 1 MiB of 256-byte messages"),
];

/// Other ways to have a hook, each at these sizes.
const HOOKS: [(&str, &str); 5] = [
    ("process/sh", "a process for each step, `sh -c cat`"),
    ("process/node", "… in Node"),
    ("process/python", "… in Python"),
    ("resident/node", "a process that stays, in Node, lines of JSON"),
    ("resident/python", "… in Python"),
];

/// How much text a step brings.
const SIZES: [(&str, &str); 3] = [("1KiB", "1 KiB"), ("64KiB", "64 KiB"), ("4MiB", "4 MiB")];

/// The component that hooks are compared with: it reads what they read.
const COMPONENT: &str = "pre-step/reads-1";

/// Plain parses of what `decode` reads, by the libraries that could serve.
const PARSES: [(&str, &str); 4] = [
    (
        "decode/raw-parsed-by-serde_json",
        "every line of the raw log, by serde_json, values passed over",
    ),
    ("decode/raw-parsed-by-sonic", "… by sonic-rs, into its values"),
    (
        "decode/zstd-parsed-by-serde_json",
        "every line of the zstd log, by serde_json, values passed over",
    ),
    ("decode/zstd-parsed-by-sonic", "… by sonic-rs, into its values"),
];

/// Medians in milliseconds, by name.
#[derive(Debug, Default)]
pub struct Measured {
    ours: BTreeMap<String, f64>,
    theirs: BTreeMap<String, f64>,
}

impl Measured {
    /// Reads what Criterion left in `criterion`, and what the reference's benches wrote into the directory `theirs`; what
    /// is not there was not measured.
    ///
    /// # Errors
    /// When a file is there and has another shape.
    pub fn read(criterion: &Path, theirs: &Path) -> Result<Self> {
        let mut measured = Self::default();
        let sized = HOOKS.iter().map(|(name, _)| *name).chain([COMPONENT]);
        let sized = sized.flat_map(|name| SIZES.map(|(size, _)| format!("{name}-{size}")));
        let plain = ROWS.iter().chain(&SANDBOX).chain(&PARSES).map(|(name, _)| (*name).to_owned());
        for name in plain.chain(sized) {
            let file = criterion.join(&name).join("new/estimates.json");
            if let Ok(text) = fs::read_to_string(&file) {
                let estimates: Value = serde_json::from_str(&text)?;
                let nanos = estimates.pointer("/median/point_estimate").and_then(Value::as_f64);
                let nanos = nanos.with_context(|| format!("{} has no median", file.display()))?;
                measured.ours.insert(name, nanos / 1e6);
            }
        }
        for file in fs::read_dir(theirs).into_iter().flatten() {
            let text = fs::read_to_string(file?.path())?;
            let found: Value = serde_json::from_str(&text)?;
            let rows = found.get("rows").and_then(Value::as_array).context("no rows")?;
            for row in rows {
                let name = row.get("name").and_then(Value::as_str).context("a row without name")?;
                let median = row.get("median_ms").and_then(Value::as_f64);
                let median = median.with_context(|| format!("{name} has no median"))?;
                measured.theirs.insert(name.to_owned(), median);
            }
        }
        Ok(measured)
    }
}

/// The table in Markdown.
pub fn table(measured: &Measured) -> String {
    let mut text = String::from("| | dsh-wasm | TypeScript | ratio |\n|---|--:|--:|--:|\n");
    for (name, what) in ROWS {
        // The other side has one way to do it.
        let there = name.split_once('.').map_or(name, |(there, _)| there);
        let (ours, theirs) = (measured.ours.get(name), measured.theirs.get(there));
        let ratio = ours.zip(theirs).map(|(ours, theirs)| ratio(theirs / ours));
        let _ = writeln!(
            text,
            "| {what} | {} | {} | {} |",
            time(ours),
            time(theirs),
            ratio.unwrap_or_default()
        );
    }
    text.push_str("\n| in the sandbox | time |\n|---|--:|\n");
    for (name, what) in SANDBOX {
        let _ = writeln!(text, "| {what} | {} |", time(measured.ours.get(name)));
    }
    hooks(measured, &mut text);
    text.push_str("\n| plain parse of the same bytes | time | decode takes |\n|---|--:|--:|\n");
    for (name, what) in PARSES {
        let decode = name.split_once("-parsed").map_or(name, |(decode, _)| decode);
        let (parse, decode) = (measured.ours.get(name), measured.ours.get(decode));
        let ratio = parse.zip(decode).map(|(parse, decode)| ratio(decode / parse));
        let _ = writeln!(text, "| {what} | {} | {} |", time(parse), ratio.unwrap_or_default());
    }
    text
}

/// What else a hook could be, beside a component that reads the same text.
fn hooks(measured: &Measured, text: &mut String) {
    text.push_str(
        "\n| a hook that is | with | time | a component takes | ratio |\n|---|---|--:|--:|--:|\n",
    );
    for (name, what) in HOOKS {
        for (size, shown) in SIZES {
            let hook = measured.ours.get(&format!("{name}-{size}"));
            let component = measured.ours.get(&format!("{COMPONENT}-{size}"));
            let ratio = hook.zip(component).map(|(hook, component)| ratio(hook / component));
            let (hook, component) = (time(hook), time(component));
            let ratio = ratio.unwrap_or_default();
            let _ = writeln!(text, "| {what} | {shown} | {hook} | {component} | {ratio} |");
        }
    }
}

/// Three digits and a unit.
fn time(ms: Option<&f64>) -> String {
    let Some(ms) = ms else { return String::new() };
    let (value, unit) = match *ms {
        ms if ms >= 1000.0 => (ms / 1000.0, "s"),
        ms if ms >= 1.0 => (ms, "ms"),
        ms if ms >= 0.001 => (ms * 1e3, "µs"),
        ms => (ms * 1e6, "ns"),
    };
    format!("{} {unit}", digits(value))
}

fn ratio(ratio: f64) -> String {
    format!("{}×", digits(ratio))
}

fn digits(value: f64) -> String {
    let decimals = match value {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_sides_measured_has_a_ratio() {
        let mut measured = Measured::default();
        measured.ours.insert("decode/raw".to_owned(), 2.0);
        measured.theirs.insert("decode/raw".to_owned(), 25.0);
        measured.ours.insert("decode/raw-parsed-by-sonic".to_owned(), 1.6);
        measured.theirs.insert("parse/unclosed".to_owned(), 3400.0);
        measured.ours.insert("resident/node-64KiB".to_owned(), 0.9);
        measured.ours.insert("pre-step/reads-1-64KiB".to_owned(), 0.09);
        let text = table(&measured);
        let row = |what: &str| text.lines().find(|line| line.contains(what)).unwrap().to_owned();
        assert!(row("decode a raw log").ends_with("| 2.00 ms | 25.0 ms | 12.5× |"));
        assert!(row("64 KiB of `@[`").ends_with("|  | 3.40 s |  |"));
        assert!(row("lines of JSON | 64 KiB").ends_with("| 900 µs | 90.0 µs | 10.0× |"));
        assert!(text.contains("by sonic-rs, into its values | 1.60 ms | 1.25× |"));
    }

    #[test]
    fn times_are_readable() {
        let shown = [0.000_05, 0.0123, 4.567, 123.4, 12_345.0].map(|ms| time(Some(&ms)));
        assert_eq!(shown, ["50.0 ns", "12.3 µs", "4.57 ms", "123 ms", "12.3 s"]);
    }
}
