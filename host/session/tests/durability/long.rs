//! How much memory it takes to open a long log: as much as its surface, however long it is.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;

use dsh_session::{Encoding, Header, SessionId, log_path};

use crate::writer::store;

/// Bytes of a log's text.
const LONG: usize = 200 << 20;

/// Bytes of the text of a log that is all surface.
const SURFACE: usize = 64 << 20;

/// What a process takes that opens a short log, and then some: 24 MiB.
const PROCESS: usize = 24 << 20;

/// Opens the session for its surface, and tells the most memory that this process has taken, in KiB.
pub(crate) fn open(root: &Path, encoding: &str) {
    let read = store(root, encoding).read(&SessionId::new("long"), &mut ()).unwrap();
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let most = most.map_or("", |most| most.trim().trim_end_matches(" kB"));
    println!("{} {most}", read.surface.nodes().len());
}

/// How many nodes a log has, and the most bytes that opening it took; none where the system does not tell.
fn opened(root: &Path, encoding: &str) -> (usize, Option<usize>) {
    let mut this = Command::new(std::env::current_exe().unwrap());
    let output = this.arg("open").arg(root).arg(encoding).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let told = String::from_utf8(output.stdout).unwrap();
    let (nodes, most) = told.trim_end_matches('\n').split_once(' ').unwrap();
    (nodes.parse().unwrap(), most.parse().ok().map(|most: usize| most << 10))
}

/// A log whose rows `row` gives, each for its place, until there are so many bytes of them.
fn log(root: &Path, encoding: &str, bytes: usize, row: impl Fn(&mut u64) -> String) {
    let header = Header::new(SessionId::new("long"), 1, Some("/w".into()));
    let kind = if encoding == "raw" { Encoding::Raw } else { Encoding::Zstd };
    let path = log_path(root, &header, kind).unwrap();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut file = BufWriter::new(File::create(path).unwrap());
    let mut batch = |text: &str| match kind {
        Encoding::Raw => file.write_all(text.as_bytes()).unwrap(),
        Encoding::Zstd => {
            file.write_all(&zstd::bulk::compress(text.as_bytes(), 1).unwrap()).unwrap()
        }
    };
    batch(&(header.line() + "\n"));
    let (mut place, mut written) = (0, 0);
    while written < bytes {
        let mut rows = String::new();
        while rows.len() < 1 << 20 {
            rows += &row(&mut place);
            rows.push('\n');
        }
        batch(&rows);
        written += rows.len();
    }
}

fn message(place: &mut u64, text: &str) -> String {
    let seq = *place;
    *place += 1;
    format!(
        r#"{{"type":"user/message","seq":{seq},"time":1,"data":{{"content":[{{"type":"text","text":"{text}"}}],"source":{{"kind":"user"}},"role":"user","id":"m{seq}"}},"surfaceOp":"append"}}"#
    )
}

/// A hundred deltas.
fn deltas(place: &mut u64) -> String {
    let seq0 = *place;
    *place += 100;
    let (gaps, pieces) = (["3"; 99].join(","), ["\"a word or two \""; 100].join(","));
    format!(
        r#"{{"type":"text-chunks","seq0":{seq0},"time0":1,"data":{{"turn":1,"step":1,"index":0,"dt":[{gaps}],"texts":[{pieces}]}}}}"#
    )
}

pub(crate) fn long() {
    let text = "sixteen bytes, ".repeat(4096);
    for encoding in ["raw", "zstd"] {
        let dir = tempfile::tempdir().unwrap();
        log(dir.path(), encoding, LONG, |place| match *place {
            0 => message(place, "hi"),
            _ => deltas(place),
        });
        let (nodes, most) = opened(dir.path(), encoding);
        assert_eq!(nodes, 1);
        println!("{encoding}: {} MiB of text: {most:?} bytes", LONG >> 20);
        assert!(most.is_none_or(|most| most < PROCESS), "{encoding}: {most:?}");

        let dir = tempfile::tempdir().unwrap();
        log(dir.path(), encoding, SURFACE, |place| message(place, &text));
        let (nodes, most) = opened(dir.path(), encoding);
        assert!(nodes > SURFACE / 70_000, "{nodes}");
        println!("{encoding}: {} MiB of surface: {most:?} bytes", SURFACE >> 20);
        assert!(most.is_none_or(|most| most < SURFACE * 5 / 4 + PROCESS), "{encoding}: {most:?}");
    }
}
