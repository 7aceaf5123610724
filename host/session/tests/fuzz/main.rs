//! What fuzzing began with and what it found, replayed: see `tests/fuzz/README.md`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../../../../tests/fuzz/src/codec.rs"]
pub mod codec;
#[path = "../../../../tests/fuzz/src/fold.rs"]
pub mod fold;
#[path = "../../../../tests/fuzz/src/row.rs"]
pub mod row;

use std::fs;
use std::path::Path;

fn replay(target: &str, holds: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz/corpus").join(target);
    let mut inputs: Vec<_> =
        fs::read_dir(corpus).unwrap().map(|input| input.unwrap().path()).collect();
    inputs.sort();
    assert!(!inputs.is_empty());
    for input in inputs {
        let bytes = fs::read(&input).unwrap();
        let held = std::panic::catch_unwind(|| holds(&bytes));
        assert!(held.is_ok(), "{}", input.display());
    }
}

#[test]
fn any_bytes_of_a_log_are_read_or_refused() {
    replay("codec", codec::holds);
}

#[test]
fn any_line_is_read_as_serde_json_reads_it() {
    replay("row", row::holds);
}

#[test]
fn any_rows_are_taken_or_refused() {
    replay("fold", fold::holds);
}
