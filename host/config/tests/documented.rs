//! `docs/config.md` tells of every key just what the catalogue does.

use std::fs;
use std::path::Path;

use dsh_config::{Guard, ROWS, Row};

/// A key's line in the table.
fn line(row: &Row) -> String {
    let who = match row.guard {
        Guard::Open => "anybody",
        Guard::Trusted => "you, a trusted project",
        Guard::Person => "you",
    };
    let default = row.default.map(|default| format!("`{default}`")).unwrap_or_default();
    format!("| `{}` | {} | {default} | {who} | {} |", row.name, row.kind.expects(), row.about)
}

#[test]
fn the_docs_tell_of_every_key() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/config.md");
    let docs = fs::read_to_string(docs).expect("the docs");
    let told: Vec<&str> = docs.lines().filter(|line| line.starts_with("| `")).collect();
    let expected: Vec<String> = ROWS.iter().map(line).collect();
    assert_eq!(told, expected, "the table should be:\n{}", expected.join("\n"));
}
