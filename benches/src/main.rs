//! `speed`: measures ours and the published TypeScript packages on the same inputs, and prints the table.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "printing is what it is for")]

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use dsh_benches::table::{Measured, table};
use dsh_benches::{DIR, Inputs};

const USAGE: &str = "\
cargo run --release -p dsh-benches -- [--quick] [--only-ours | --only-theirs | --only-table]
  --quick        few samples: to see that everything runs, not for figures
  --only-ours    measure this tree alone, and print the table with what is there of the other side
  --only-theirs  measure the TypeScript packages alone (needs npm)
  --only-table   measure nothing";

/// What Criterion is told, to see that everything runs.
const QUICK: [&str; 1] = ["--quick"];

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let known = ["--quick", "--only-ours", "--only-theirs", "--only-table"];
    if args.iter().any(|arg| !known.contains(&&**arg)) {
        bail!("{USAGE}");
    }
    let asked = |flag: &str| args.iter().any(|arg| arg == flag);
    let dir = Path::new(DIR);
    let theirs = dir.join("reference.json");
    Inputs::make(dir)?;
    let before = load();
    if !asked("--only-theirs") && !asked("--only-table") {
        ours(dir, asked("--quick"))?;
    }
    if !asked("--only-ours") && !asked("--only-table") {
        reference(dir, &theirs, asked("--quick"))?;
    }
    let measured = Measured::read(&dir.join("criterion"), &theirs)?;
    println!("{}", table(&measured));
    println!("Processor: {}, {} of them.", processor(), std::thread::available_parallelism()?);
    println!("Load when it began: {before}, when it ended: {}.", load());
    Ok(())
}

fn ours(dir: &Path, quick: bool) -> Result<()> {
    let mut bench = Command::new("cargo");
    bench.args(["bench", "-p", "dsh-benches", "--benches", "--"]);
    bench.args(if quick { &QUICK[..] } else { &[] });
    bench.env("CRITERION_HOME", dir.join("criterion")).current_dir(env!("CARGO_MANIFEST_DIR"));
    run(&mut bench)
}

/// Copies the other side's benches aside, for npm writes beside them, and runs them.
fn reference(dir: &Path, json: &Path, quick: bool) -> Result<()> {
    let aside = dir.join("reference");
    fs::create_dir_all(&aside)?;
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("reference"))? {
        let entry = entry?;
        fs::copy(entry.path(), aside.join(entry.file_name()))?;
    }
    run(Command::new("npm").args(["install", "--no-package-lock"]).current_dir(&aside))?;
    let mut bench = Command::new("node");
    bench.args([OsStr::new("bench.mjs"), "--inputs".as_ref(), dir.as_os_str()]);
    bench.args([OsStr::new("--json"), json.as_os_str()]);
    bench.args(if quick { &QUICK[..] } else { &[] });
    run(bench.current_dir(aside))
}

fn run(command: &mut Command) -> Result<()> {
    eprintln!("{command:?}");
    let status = command.status().with_context(|| format!("{command:?} did not start"))?;
    if status.success() { Ok(()) } else { bail!("{command:?} ended with {status}") }
}

/// How many wanted to run, on average of the last one, five and fifteen minutes.
fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let averages: Vec<&str> = load.split_whitespace().take(3).collect();
    if averages.is_empty() { "unknown".to_owned() } else { averages.join(" ") }
}

fn processor() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    name.map_or("unknown", |(_, name)| name).to_owned()
}
