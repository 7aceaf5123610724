//! One log: decoded, folded, opened for its surface, appended to.

use std::fs;
use std::hint::black_box;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use dsh_benches::{Conversation, DIR, Inputs};
use dsh_session::{Draft, Encoding, Event, Events, Fold, Header, Live, Replay, SessionId, Store};
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use tokio::runtime::{Builder, Runtime};

const ENCODINGS: [(&str, Encoding); 2] = [("raw", Encoding::Raw), ("zstd", Encoding::Zstd)];

/// Has every event made, and keeps none.
struct Every(u64);

impl Fold for Every {
    fn event(&mut self, event: &Event) {
        self.0 += black_box(event).seq;
    }
}

fn inputs() -> Inputs {
    Inputs::make(DIR).expect("inputs")
}

fn store(inputs: &Inputs, encoding: Encoding) -> Store {
    Store::new(inputs.root(encoding), encoding, Arc::new(|| 0))
}

fn decode(c: &mut Criterion) {
    let inputs = inputs();
    let mut group = c.benchmark_group("decode");
    let text = fs::metadata(inputs.log("10k", Encoding::Raw).expect("a place")).expect("a log");
    group.throughput(Throughput::Bytes(text.len()));
    for (name, encoding) in ENCODINGS {
        let (store, id) = (store(&inputs, encoding), SessionId::new("10k"));
        group.bench_function(name, |b| {
            b.iter(|| store.read(&id, &mut Every(0)).expect("a log"));
        });
        group.bench_function(format!("{name}.held"), |b| {
            b.iter(|| {
                let mut events = Events::default();
                store.read(&id, &mut events).expect("a log");
                events
            });
        });
        let path = inputs.log("10k", encoding).expect("a place");
        let read = || {
            let bytes = fs::read(&path).expect("a log");
            match encoding {
                Encoding::Raw => bytes,
                Encoding::Zstd => {
                    let mut text = Vec::new();
                    let mut decoder = zstd::Decoder::new(&bytes[..]).expect("a decoder");
                    decoder.read_to_end(&mut text).expect("frames");
                    text
                }
            }
        };
        group.bench_function(format!("{name}-parsed-by-serde_json"), |b| {
            b.iter(|| {
                for line in read().split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                    black_box(serde_json::from_slice::<IgnoredAny>(line).expect("JSON"));
                }
            });
        });
        group.bench_function(format!("{name}-parsed-by-sonic"), |b| {
            b.iter(|| {
                for line in read().split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                    black_box(sonic_rs::from_slice::<sonic_rs::Value>(line).expect("JSON"));
                }
            });
        });
    }
    group.finish();
}

fn fold(c: &mut Criterion) {
    let inputs = inputs();
    let mut group = c.benchmark_group("fold");
    group.sample_size(10);
    for id in ["10k", "1m"] {
        let session = SessionId::new(id);
        let mut held = Events::default();
        store(&inputs, Encoding::Raw).read(&session, &mut held).expect("a log");
        group.throughput(Throughput::Elements(held.len() as u64));
        group.bench_function(id, |b| {
            b.iter(|| {
                let mut replay = Replay::new(session.clone());
                replay.events(&held).expect("events that follow");
                replay.surface()
            });
        });
        let mut events: Vec<Event> = Vec::new();
        store(&inputs, Encoding::Raw).read(&session, &mut events).expect("a log");
        group.bench_function(format!("{id}.each"), |b| {
            b.iter(|| {
                let mut replay = Replay::new(session.clone());
                for event in &events {
                    replay.event(event).expect("an event that follows");
                }
                replay.surface()
            });
        });
    }
    group.finish();
}

fn open(c: &mut Criterion) {
    let inputs = inputs();
    let mut group = c.benchmark_group("open");
    group.sample_size(10);
    for (name, encoding) in ENCODINGS {
        for id in ["10k", "1m"] {
            let (store, session) = (store(&inputs, encoding), SessionId::new(id));
            group.bench_function(format!("{name}-{id}"), |b| {
                b.iter(|| store.read(&session, &mut ()).expect("a log").surface);
            });
        }
    }
    let dir = tempfile::tempdir_in(DIR).expect("a directory");
    let live = live(&inputs, dir.path());
    group.bench_function("live-10k", |b| b.iter(|| live.surface()));
    group.finish();
}

/// A copy of the raw log, open for writing.
fn live(inputs: &Inputs, root: &Path) -> Live {
    let log = inputs.log("10k", Encoding::Raw).expect("a place");
    let place = root.join(log.strip_prefix(inputs.root(Encoding::Raw)).expect("a log of the root"));
    fs::create_dir_all(place.parent().expect("a directory")).expect("directories");
    fs::copy(log, place).expect("a copy");
    let store = Store::new(root, Encoding::Raw, Arc::new(|| 1_790_000_000_000));
    store.open(&SessionId::new("10k"), &mut ()).expect("a session")
}

/// A turn of a session without its packed deltas and its request header: what one commit brings to the disk.
struct Turn(Vec<Event>);

impl Turn {
    fn new() -> Self {
        let log = Conversation::new("turn", "/w", 1_790_000_000_000, "A turn", 1);
        let mut replay = Replay::new(SessionId::new("turn"));
        let mut events = Vec::new();
        for row in log.batches.iter().flat_map(|batch| batch.lines()) {
            if !["\"seq0\"", "-delta\"", "\"request/header\""].iter().any(|it| row.contains(it)) {
                let row = renumber(row, replay.next_seq());
                events.push(replay.row(&row).expect("an event that follows").0);
            }
        }
        Self(events)
    }

    /// The turn once more, after `seq` events.
    fn drafts(&self, seq: u64) -> Vec<Draft> {
        let draft = |event: &Event| {
            let draft = Draft::from(event.clone());
            let later = |sources: Vec<u64>| sources.iter().map(|place| place + seq).collect();
            Draft { sources: draft.sources.map(later), ..draft }
        };
        self.0.iter().map(draft).collect()
    }
}

/// The row at place `seq`, made from the event before it: the deltas it was made from have been left out.
fn renumber(row: &str, seq: u64) -> String {
    let mut row: Map<String, Value> = serde_json::from_str(row).expect("a row");
    row.insert("seq".to_owned(), seq.into());
    if let Some(sources) = row.get_mut("sourceEventSeqs") {
        *sources = json!([seq - 1]);
    }
    Value::from(row).to_string()
}

fn append(c: &mut Criterion) {
    let dir = tempfile::tempdir_in(DIR).expect("a directory");
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let turn = Turn::new();
    let mut group = c.benchmark_group("append");
    group.sample_size(20).measurement_time(Duration::from_secs(8));
    group.throughput(Throughput::Elements(turn.0.len() as u64));
    for (name, encoding) in ENCODINGS {
        let live = create(&runtime, dir.path().join(name), encoding);
        group.bench_function(name, |b| {
            b.iter_batched(
                || turn.drafts(live.next_seq()),
                |drafts| {
                    live.append_all(drafts).expect("events that follow");
                    runtime.block_on(live.commit()).expect("a disk");
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

fn create(runtime: &Runtime, root: PathBuf, encoding: Encoding) -> Live {
    let store = Store::new(root, encoding, Arc::new(|| 1_790_000_000_000));
    let header = Header::new(SessionId::new("appended"), 1_790_000_000_000, Some("/w".into()));
    let live = store.create(header, Some(Events::default())).expect("a session");
    runtime.block_on(live.commit()).expect("a disk");
    live
}

criterion_group!(logs, decode, fold, open, append);
criterion_main!(logs);
