//! What a component tries before it is ever called.

use anyhow::Result;
use program_tests as programs;

use super::{Attempt, Case, Expect, passes, program};

/// More bytes than a plugin has any reason to have.
const HUGE: usize = 50 << 20;

/// All of them.
///
/// # Errors
///
/// When a component does not parse: a fault of ours.
pub(super) fn cases() -> Result<Vec<Case>> {
    Ok([shapes()?, imports()?, exports()?, starts()?].into_iter().flatten().collect())
}

fn refused(component: Vec<u8>, words: &'static str) -> Attempt {
    Attempt::bytes(component).expects(Expect::NotLoaded(words))
}

fn refused_of(wat: &str, words: &'static str) -> Result<Attempt> {
    Ok(refused(wat::parse_str(wat)?, words))
}

fn shapes() -> Result<Vec<Case>> {
    let component = std::fs::read(programs::PASSES)?;
    let half = component.get(..component.len() / 2).unwrap_or_default().to_vec();
    // A custom section of zeros behind the preamble: valid, and nothing but large.
    let mut huge = wat::parse_str("(component)")?;
    huge.extend([0, 0x80, 0x80, 0x80, 0x19, 1, b'z']);
    huge.resize(huge.len() + HUGE - 2, 0);
    Ok(vec![
        Case::new("is no WebAssembly", refused(b"#!/bin/sh".to_vec(), "no WebAssembly"), passes()),
        Case::new("is empty", refused(Vec::new(), "no WebAssembly"), passes()),
        Case::new(
            "is a module",
            refused_of("(module)", "a core WebAssembly module, not a component")?,
            passes(),
        ),
        Case::new("is cut off in the middle", refused(half, "not a valid component"), passes()),
        Case::new("has 50 MB and nothing in them", refused(huge, "exports no seam"), passes()),
        Case::new(
            "shares a memory between threads",
            refused_of("(component (core module (memory 1 1 shared)))", "not a valid component")?,
            passes(),
        ),
        Case::new(
            "addresses memory with 64 bits",
            refused_of("(component (core module (memory i64 1)))", "not a valid component")?,
            passes(),
        ),
        Case::new("exports nothing", refused_of("(component)", "exports nothing")?, passes()),
    ])
}

fn imports() -> Result<Vec<Case>> {
    let import = |name: &str, words| {
        refused_of(&format!("(component (import \"{name}\" (instance)))"), words)
    };
    let wasi = |name: &str, words| import(name, words).map(Attempt::undeclared);
    let mistyped = "(component (import \"dsh:plugin/config@0.1.0\"
        (instance (export \"get\" (func (result u32))))))";
    let missing = "(component (import \"dsh:plugin/config@0.1.0\"
        (instance (export \"set\" (func (param \"to\" string))))))";
    Ok(vec![
        Case::new(
            "imports WASI",
            wasi("wasi:cli/stdout@0.2.6", "does not declare `wasi-empty`")?,
            passes(),
        ),
        Case::new(
            "imports a file system",
            wasi("wasi:filesystem/types@0.2.6", "does not declare `wasi-empty`")?,
            passes(),
        ),
        Case::new(
            "imports sockets",
            wasi("wasi:sockets/tcp@0.2.6", "does not declare `wasi-empty`")?,
            passes(),
        ),
        Case::new(
            "imports what is no part of the contract",
            import("acme:rockets/launch@1.0.0", "no part of this host's contract")?,
            passes(),
        ),
        Case::new(
            "imports another version",
            import("dsh:session/query@0.2.0", "in version 0.2.0")?,
            program(programs::READS_TITLES),
        ),
        Case::new(
            "imports an interface without a version",
            import("dsh:session/query", "speaks `dsh:session/query`")?,
            program(programs::READS_TITLES),
        ),
        Case::new(
            "imports a function of another type",
            refused_of(mistyped, "`dsh:plugin/config@0.1.0` does not fit")?,
            program(programs::TELLS_ITS_SETTINGS),
        ),
        Case::new(
            "imports a function that there is not",
            refused_of(missing, "`dsh:plugin/config@0.1.0` does not fit")?,
            program(programs::TELLS_ITS_SETTINGS),
        ),
        Case::new(
            "imports what it does not declare",
            program(programs::READS_TITLES)
                .undeclared()
                .expects(Expect::NotLoaded("does not declare")),
            program(programs::READS_TITLES),
        ),
        Case::new(
            "imports what it was not granted",
            program(programs::READS_TITLES)
                .denied()
                .expects(Expect::NotLoaded("declared and not granted")),
            program(programs::READS_TITLES),
        ),
    ])
}

/// A component whose seam `mentions` has `candidates` of another type, around a core module. One that gets as far as
/// being refused for that has started.
fn around(core: &str) -> String {
    format!(
        "(component
           (core module $m {core} (func (export \"f\") (result i32) i32.const 0))
           (core instance $c (instantiate $m))
           (func $f (result u32) (canon lift (core func $c \"f\")))
           (instance $i (export \"candidates\" (func $f)))
           (export \"dsh:agent/mentions@0.1.0\" (instance $i)))"
    )
}

fn exports() -> Result<Vec<Case>> {
    let empty = |name: &str, words| {
        refused_of(&format!("(component (instance $i) (export \"{name}\" (instance $i)))"), words)
    };
    Ok(vec![
        Case::new(
            "exports no seam",
            empty("acme:rockets/launch", "it exports acme:rockets/launch")?,
            passes(),
        ),
        Case::new(
            "exports a seam of another version",
            empty("dsh:agent/pre-step@0.3.0", "in version 0.3.0")?,
            passes(),
        ),
        Case::new(
            "exports a seam without its function",
            empty("dsh:agent/pre-step@0.1.0", "does not fit")?,
            passes(),
        ),
        Case::new(
            "exports a seam of another type",
            refused_of(&around(""), "`dsh:agent/mentions@0.1.0` does not fit")?,
            passes(),
        ),
    ])
}

fn starts() -> Result<Vec<Case>> {
    let case = |sentence, core: &str, words, allowed: &str| {
        let twin = refused_of(&around(allowed), "`dsh:agent/mentions@0.1.0` does not fit")?;
        Ok(Case::new(sentence, refused_of(&around(core), words)?, twin))
    };
    [
        case(
            "loops for ever when it is instantiated",
            "(func $s (loop br 0)) (start $s)",
            "ms of CPU time",
            "(func $s) (start $s)",
        ),
        case(
            "traps when it is instantiated",
            "(func $s unreachable) (start $s)",
            "did not start: trapped",
            "(func $s) (start $s)",
        ),
        case(
            "recurses for ever when it is instantiated",
            "(func $s call $s) (start $s)",
            "bytes of stack",
            "(func $s) (start $s)",
        ),
        case(
            "begins with too large a memory",
            "(memory 1025)",
            "bytes of memory",
            "(memory 1024)",
        ),
        case(
            "begins with two memories that are too large together",
            "(memory 600) (memory 600)",
            "bytes of memory",
            "(memory 500) (memory 500)",
        ),
        case(
            "grows its memory when it is instantiated",
            "(memory 1) (func $s (drop (memory.grow (i32.const 1024)))) (start $s)",
            "bytes of memory",
            "(memory 1) (func $s (drop (memory.grow (i32.const 1023)))) (start $s)",
        ),
        case(
            "begins with too large a table",
            "(table 100001 funcref)",
            "table elements",
            "(table 100000 funcref)",
        ),
        case(
            "grows a table for ever",
            "(table $t 0 funcref)
             (func $s (loop (drop (table.grow $t (ref.null func) (i32.const 1000))) br 0)) (start $s)",
            "table elements",
            "(table $t 0 funcref)
             (func $s (drop (table.grow $t (ref.null func) (i32.const 1000)))) (start $s)",
        ),
    ]
    .into_iter()
    .collect()
}
