//! What must hold after each harm.

use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use dsh_session::{ReadSession, StoreError, WriteError};

use crate::long::long;
use crate::writer::{self, session, store};

pub(crate) const ALL: [(&str, fn()); 5] = [
    ("a_long_log_takes_memory_for_its_surface_alone", long),
    ("killed_anywhere_nothing_acknowledged_is_lost", killed),
    ("a_full_disk_loses_and_leaves_nothing", full),
    ("a_disk_full_from_the_start_leaves_no_half_session", full_from_the_start),
    ("a_second_process_is_refused_until_the_first_one_dies", second_process),
];

const ENCODINGS: [&str; 2] = ["raw", "zstd"];

/// How often each encoding's writer is killed.
const KILLS: usize = 250;

/// How many times one log is killed before the next one is begun.
const KILLS_PER_LOG: usize = 25;

/// A writer and what it tells.
struct Writer {
    child: Child,
    told: std::io::Lines<BufReader<ChildStdout>>,
}

impl Writer {
    fn start(root: &Path, encoding: &str) -> Self {
        Self::run(Command::new(std::env::current_exe().unwrap()).args([
            "write",
            root.to_str().unwrap(),
            encoding,
        ]))
    }

    /// A writer whose files may not grow beyond `blocks` of 512 bytes.
    fn start_with_disk(root: &Path, encoding: &str, blocks: u32) -> Self {
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" write \"$1\" \"$2\"");
        let program = std::env::current_exe().unwrap();
        Self::run(Command::new("sh").arg("-c").arg(script).arg(program).arg(root).arg(encoding))
    }

    fn run(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let told = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, told }
    }

    fn next(&mut self) -> Option<String> {
        self.told.next().map(Result::unwrap)
    }

    /// The process is gone; gives the number of events that it told last, if any.
    fn acknowledged(self) -> Option<u64> {
        let Self { mut child, told } = self;
        let counts = told.map(Result::unwrap).filter_map(|line| line.parse().ok());
        let last = counts.last();
        child.wait().unwrap();
        last
    }
}

/// Every event of the session, each as it was written.
fn read_whole(root: &Path, encoding: &str) -> ReadSession {
    let read = store(root, encoding).read(&session(), &mut ()).unwrap();
    let ends_of_seeds = read.committed - read.surface.nodes().len() as u64;
    let written =
        read.surface.nodes().iter().all(|node| node.message.text() == writer::text(node.seq));
    assert!(written, "an event is not as it was written");
    assert!(ends_of_seeds <= KILLS_PER_LOG as u64);
    read
}

fn killed() {
    let seed = RandomState::new().build_hasher().finish();
    println!("seed {seed}");
    let mut state = seed | 1;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    for encoding in ENCODINGS {
        let mut acknowledged_in_all = 0;
        for _ in 0..KILLS / KILLS_PER_LOG {
            let dir = tempfile::tempdir().unwrap();
            let mut acknowledged = 0;
            for _ in 0..KILLS_PER_LOG {
                let mut writer = Writer::start(dir.path(), encoding);
                for _ in 0..random(6) {
                    let told = writer.next().unwrap();
                    acknowledged = told.parse().unwrap_or(acknowledged);
                }
                spin(Duration::from_micros(random(4000)));
                writer.child.kill().unwrap();
                acknowledged = writer.acknowledged().unwrap_or(acknowledged);
                let listing = store(dir.path(), encoding).list().unwrap();
                assert!(listing.unreadable.is_empty(), "{:?}", listing.unreadable);
                if acknowledged > 0 || !listing.sessions.is_empty() {
                    let read = read_whole(dir.path(), encoding);
                    assert!(read.committed >= acknowledged, "{} of {acknowledged}", read.committed);
                    // What was on disk and not yet told is there for good as well.
                    acknowledged = read.committed;
                }
            }
            acknowledged_in_all += acknowledged;
        }
        println!("{encoding}: {KILLS} kills, {acknowledged_in_all} events");
    }
}

/// Lets some time pass at the grain of a system call, which no timer has.
fn spin(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        std::hint::spin_loop();
    }
}

fn full() {
    for encoding in ENCODINGS {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = Writer::start_with_disk(dir.path(), encoding, 64);
        let (mut acknowledged, mut failures) = (0, 0);
        while let Some(told) = writer.next() {
            match told.parse() {
                Ok(count) => acknowledged = count,
                Err(_) => failures += usize::from(told.starts_with("failed: ")),
            }
        }
        writer.child.wait().unwrap();
        assert_eq!(failures, 3);
        assert!(acknowledged > 0);
        let read = read_whole(dir.path(), encoding);
        assert_eq!((read.committed, read.torn), (acknowledged, None));
        // With room again, it goes on.
        let store = store(dir.path(), encoding);
        let live = store.open(&session(), &mut ()).unwrap();
        assert!(live.repair().is_none());
        writer::append(&live);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(live.commit()).unwrap();
        drop(live);
        assert_eq!(read_whole(dir.path(), encoding).committed, acknowledged + 2);
    }
}

fn full_from_the_start() {
    for encoding in ENCODINGS {
        let dir = tempfile::tempdir().unwrap();
        let writer = Writer::start_with_disk(dir.path(), encoding, 0);
        assert_eq!(writer.acknowledged(), None);
        let listing = store(dir.path(), encoding).list().unwrap();
        assert!(listing.sessions.is_empty() && listing.unreadable.is_empty());
        assert_eq!(files(dir.path()), ["writer.lock"]);
        // A root that cannot be made at all is a clear error too.
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let root = file.join("sessions");
        let header = dsh_session::Header::new(session(), 7, None);
        let live = store(&root, encoding).create(header, None);
        assert!(matches!(live, Err(StoreError::Root { .. })));
    }
}

/// The names of all files under `dir`.
fn files(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let (directories, files): (Vec<PathBuf>, Vec<PathBuf>) =
        entries.partition(|path| path.is_dir());
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    files.iter().map(name).chain(directories.iter().flat_map(|dir| self::files(dir))).collect()
}

fn second_process() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::start(dir.path(), "zstd");
    while writer.next().unwrap().parse::<u64>().is_err() {}
    let store = store(dir.path(), "zstd");
    match store.open(&session(), &mut ()) {
        Err(StoreError::Write(WriteError::Held { holder })) => {
            assert_eq!(holder, format!("process {}", writer.child.id()));
        }
        other => panic!("{other:?}"),
    }
    // It reads what is being written, torn ends and all.
    for _ in 0..20 {
        read_whole(dir.path(), "zstd");
    }
    writer.child.kill().unwrap();
    writer.child.wait().unwrap();
    assert!(store.open(&session(), &mut ()).is_ok());
}
