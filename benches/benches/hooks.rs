//! What a hook could be instead of a component: a process for each step, or one that stays and is talked to by lines.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use criterion::{Criterion, criterion_group, criterion_main};
use dsh_benches::prose;

const SIZES: [(&str, usize); 3] = [("1KiB", 1 << 10), ("64KiB", 64 << 10), ("4MiB", 4 << 20)];

/// Hooks that read a batch to its end and write it back: a name, a program and its arguments.
const SPAWNED: [(&str, &str, [&str; 2]); 3] = [
    ("sh", "sh", ["-c", "cat"]),
    (
        "node",
        "node",
        [
            "-e",
            "let s='';process.stdin.on('data',d=>s+=d).on('end',()=>process.stdout.write(JSON.stringify(JSON.parse(s))))",
        ],
    ),
    ("python", "python3", ["-c", "import json,sys;json.dump(json.load(sys.stdin),sys.stdout)"]),
];

/// Hooks that answer each line with a line.
const RESIDENT: [(&str, &str, [&str; 2]); 2] = [
    (
        "node",
        "node",
        [
            "-e",
            "require('readline').createInterface({input:process.stdin}).on('line',l=>process.stdout.write(JSON.stringify(JSON.parse(l))+'\\n'))",
        ],
    ),
    (
        "python",
        "python3",
        [
            "-c",
            "import json,sys\nfor l in sys.stdin:\n json.dump(json.loads(l),sys.stdout);print(flush=True)",
        ],
    ),
];

fn batch(bytes: usize) -> String {
    serde_json::json!([{"id": "m0", "text": prose(bytes, 1)}]).to_string()
}

fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").stdin(Stdio::null()).output().is_ok()
}

fn spawned(c: &mut Criterion) {
    let mut group = c.benchmark_group("process");
    group.sample_size(10);
    for (name, program, args) in SPAWNED {
        if !is_there(program) {
            continue;
        }
        for (size, bytes) in SIZES {
            let batch = batch(bytes);
            group.bench_function(format!("{name}-{size}"), |b| {
                b.iter(|| hook(program, &args, &batch));
            });
        }
    }
    group.finish();
}

/// Whoever runs the hook parses what it says, as it would have to.
fn hook(program: &str, args: &[&str], batch: &str) -> serde_json::Value {
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process");
    let mut stdin = child.stdin.take().expect("its input");
    let output = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(batch.as_bytes()));
        child.wait_with_output().expect("its output")
    });
    serde_json::from_slice(&output.stdout).expect("the batch")
}

/// A process that stays.
struct Resident {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Resident {
    fn start(program: &str, args: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a process");
        let stdin = child.stdin.take().expect("its input");
        let stdout = BufReader::new(child.stdout.take().expect("its output"));
        Self { child, stdin, stdout }
    }

    fn ask(&mut self, line: &str) -> serde_json::Value {
        let Self { stdin, stdout, .. } = self;
        let mut answer = String::new();
        std::thread::scope(|scope| {
            // A pipe holds 64 KiB: what is longer must be read while it is written.
            let mut writes = move || stdin.write_all(line.as_bytes()).expect("a line in");
            if line.len() < 32 << 10 {
                writes()
            } else {
                drop(scope.spawn(writes))
            }
            stdout.read_line(&mut answer).expect("a line out");
        });
        serde_json::from_str(&answer).expect("the batch")
    }
}

impl Drop for Resident {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn resident(c: &mut Criterion) {
    let mut group = c.benchmark_group("resident");
    group.sample_size(20);
    for (name, program, args) in RESIDENT {
        if !is_there(program) {
            continue;
        }
        let mut process = Resident::start(program, &args);
        for (size, bytes) in SIZES {
            let line = batch(bytes) + "\n";
            group.bench_function(format!("{name}-{size}"), |b| b.iter(|| process.ask(&line)));
        }
    }
    group.finish();
}

criterion_group!(hooks, spawned, resident);
criterion_main!(hooks);
