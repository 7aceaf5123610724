//! What fuzzing began with and what it found, replayed: see `tests/fuzz/README.md`.

#[path = "../../../../tests/fuzz/src/mention.rs"]
pub mod mention;

use std::fs;
use std::path::Path;

#[test]
fn any_text_is_parsed_or_refused() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz/corpus/mention");
    let mut inputs: Vec<_> =
        fs::read_dir(corpus).unwrap().map(|input| input.unwrap().path()).collect();
    inputs.sort();
    assert!(!inputs.is_empty());
    for input in inputs {
        let bytes = fs::read(&input).unwrap();
        let held = std::panic::catch_unwind(|| mention::holds(&bytes));
        assert!(held.is_ok(), "{}", input.display());
    }
}
