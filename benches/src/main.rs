//! `speed`: measures ours and the published TypeScript packages on the same inputs, and prints the table.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "printing is what it is for")]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use dsh_benches::table::{Measured, table};
use dsh_benches::{DIR, Inputs};

const USAGE: &str = "\
cargo run --release -p dsh-benches -- [--quick] [--only-ours | --only-theirs | --only-table] [GROUP..]
  --quick        few samples: to see that everything runs, not for figures
  --only-ours    measure this tree alone, and print the table with what is there of the other side
  --only-theirs  measure the TypeScript packages alone (needs npm)
  --only-table   measure nothing
  GROUP          measure these alone: decode, fold, open, append, list, search, parse, prepare, candidates, pre-step,
                 process, load, live, swap, resident";

/// What is measured in turn on both sides, so that both meet the same load: the bench that holds it here, its name, and
/// whether the other side has it.
const GROUPS: [(&str, &str, bool); 15] = [
    ("logs", "decode", true),
    ("logs", "fold", true),
    ("logs", "open", true),
    ("logs", "append", true),
    ("roots", "list", true),
    ("roots", "search", true),
    ("sandbox", "parse", true),
    ("sandbox", "prepare", true),
    ("sandbox", "candidates", true),
    ("sandbox", "pre-step", false),
    ("hooks", "process", false),
    ("plugins", "load", false),
    ("plugins", "live", false),
    ("plugins", "swap", false),
    ("hooks", "resident", false),
];

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (flags, groups): (Vec<&str>, Vec<&str>) =
        args.iter().map(String::as_str).partition(|arg| arg.starts_with("--"));
    let known = ["--quick", "--only-ours", "--only-theirs", "--only-table"];
    let is_group = |name: &&str| GROUPS.iter().any(|(_, group, _)| group == name);
    if !flags.iter().all(|flag| known.contains(flag)) || !groups.iter().all(is_group) {
        bail!("{USAGE}");
    }
    let asked = |flag: &str| flags.contains(&flag);
    let quick: &[&str] = if asked("--quick") { &["--quick"] } else { &[] };
    let dir = Path::new(DIR);
    let theirs = dir.join("theirs");
    Inputs::make(dir)?;
    let before = load();
    let (ours_too, theirs_too) = match (asked("--only-ours"), asked("--only-theirs")) {
        _ if asked("--only-table") => (false, false),
        (ours, theirs) => (ours || !theirs, theirs || !ours),
    };
    if theirs_too {
        install(dir)?;
    }
    for (bench, group, both) in GROUPS {
        if !groups.is_empty() && !groups.contains(&group) {
            continue;
        }
        if ours_too {
            ours(dir, bench, group, quick)?;
        }
        if theirs_too && both {
            reference(dir, &theirs, group, quick)?;
        }
    }
    let measured = Measured::read(&dir.join("criterion"), &theirs)?;
    println!("{}", table(&measured));
    println!("Processor: {}, {} of them.", processor(), std::thread::available_parallelism()?);
    println!("Load when it began: {before}, when it ended: {}.", load());
    Ok(())
}

fn ours(dir: &Path, bench: &str, group: &str, quick: &[&str]) -> Result<()> {
    let mut command = Command::new("cargo");
    command.args(["bench", "-p", "dsh-benches", "--bench", bench, "--"]);
    command.arg(format!("{group}/")).args(quick);
    command.env("CRITERION_HOME", dir.join("criterion")).current_dir(env!("CARGO_MANIFEST_DIR"));
    run(&mut command)
}

/// Where the other side's benches are copied to, for npm writes beside them.
fn aside(dir: &Path) -> PathBuf {
    dir.join("reference")
}

fn install(dir: &Path) -> Result<()> {
    let aside = aside(dir);
    fs::create_dir_all(&aside)?;
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("reference"))? {
        let entry = entry?;
        fs::copy(entry.path(), aside.join(entry.file_name()))?;
    }
    run(Command::new("npm").args(["install", "--no-package-lock"]).current_dir(&aside))
}

fn reference(dir: &Path, theirs: &Path, group: &str, quick: &[&str]) -> Result<()> {
    fs::create_dir_all(theirs)?;
    let mut command = Command::new("node");
    command.args([OsStr::new("bench.mjs"), "--inputs".as_ref(), dir.as_os_str()]);
    command.args(["--only", group]);
    command.arg("--json").arg(theirs.join(format!("{group}.json"))).args(quick);
    run(command.current_dir(aside(dir)))
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
