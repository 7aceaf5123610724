//! A root of ten thousand sessions: listed, and searched by title.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use dsh_benches::{DIR, Inputs, MANY};
use dsh_session::{Encoding, SessionId, Sessions, Store, index_beside};
use tokio::runtime::{Builder, Runtime};

/// The root's sessions, with the index that every front end of ours keeps beside a root.
fn sessions(inputs: &Inputs) -> Sessions {
    let store = Store::new(inputs.many(), Encoding::Zstd, Arc::new(|| 0));
    Sessions::new(store.with_index(index(inputs)))
}

/// The same before anybody has asked anything of the root.
fn without_index(inputs: &Inputs) -> Sessions {
    match fs::remove_file(index(inputs)) {
        Err(error) if error.kind() != ErrorKind::NotFound => panic!("the index stays: {error}"),
        _ => sessions(inputs),
    }
}

fn index(inputs: &Inputs) -> PathBuf {
    index_beside(&inputs.many()).expect("a root with a name")
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

async fn list(sessions: &Sessions) -> Vec<SessionId> {
    let records = sessions.list().await.expect("a root");
    assert_eq!(records.sessions.len() as u64, MANY);
    records.sessions.into_iter().map(|record| record.header.id).collect()
}

/// The sessions whose title holds `query`.
async fn search(sessions: &Sessions, query: &str) -> usize {
    let ids = list(sessions).await;
    let titles = sessions.titles(&ids).await;
    let found = titles.into_iter().filter(
        |title| matches!(title, Ok(Some(title)) if title.title.to_lowercase().contains(query)),
    );
    found.count()
}

fn roots(c: &mut Criterion) {
    let inputs = Inputs::make(DIR).expect("inputs");
    let runtime = runtime();
    let mut group = c.benchmark_group("list");
    group.sample_size(10);
    group.bench_function("cold", |b| {
        let list = |sessions: Sessions| runtime.block_on(list(&sessions));
        b.iter_batched(|| without_index(&inputs), list, BatchSize::PerIteration);
    });
    let warm = sessions(&inputs);
    group.bench_function("warm", |b| b.iter(|| runtime.block_on(list(&warm))));
    group.finish();

    let mut group = c.benchmark_group("search");
    group.sample_size(10);
    group.bench_function("cold", |b| {
        let search = |sessions: Sessions| {
            assert_eq!(runtime.block_on(search(&sessions, "number 777")), 11);
        };
        b.iter_batched(|| without_index(&inputs), search, BatchSize::PerIteration);
    });
    group.bench_function("warm", |b| b.iter(|| runtime.block_on(search(&warm, "number 777"))));
    group.finish();
}

criterion_group!(benches, roots);
criterion_main!(benches);
