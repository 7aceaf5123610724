//! The invariants of ARCHITECTURE.md that no type can hold.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use wit_parser::{Docs, FunctionKind, Handle, Resolve, Type, TypeDefKind, WorldItem};

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every file below `dirs` with this extension, and what it holds; build output left out.
fn files(dirs: &[&str], extension: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut dirs: Vec<PathBuf> = dirs.iter().map(|dir| top().join(dir)).collect();
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).unwrap_or_else(|err| panic!("{}: {err}", dir.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
                dirs.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    assert!(!found.is_empty(), "no .{extension} file below {dirs:?}");
    found
}

fn rust_files() -> Vec<(PathBuf, String)> {
    files(&["host", "plugins", "tests", "benches"], "rs")
}

#[track_caller]
fn never(dirs: &[&str], extension: &str, words: &[&str]) {
    for (path, text) in files(dirs, extension) {
        for word in words {
            assert!(!text.contains(word), "{} mentions {word}", path.display());
        }
    }
}

/// The three packages of the contract.
fn contract() -> Resolve {
    let mut resolve = Resolve::default();
    for package in ["session", "agent", "plugin"] {
        resolve.push_dir(top().join("wit").join(package)).unwrap();
    }
    resolve
}

#[test]
fn a_file_says_what_it_is() {
    for (path, text) in rust_files() {
        assert!(text.starts_with("//!"), "{} has no `//!` line", path.display());
    }
}

#[test]
fn nothing_is_left_to_do() {
    // Halves, so that this file does not hold what it looks for.
    let words =
        [("TO", "DO"), ("FIX", "ME"), ("to", "do!("), ("unimple", "mented!("), ("#[ig", "nore")];
    for (path, text) in rust_files() {
        for word in words.map(|(half, rest)| [half, rest].concat()) {
            assert!(!text.contains(&word), "{} holds {word}", path.display());
        }
    }
}

#[test]
fn sessions_and_agents_know_no_webassembly() {
    let crates = ["host/session", "host/agent", "host/model", "host/tools", "host/mcp"];
    never(&crates, "toml", &["wasmtime", "dsh-plugin"]);
    never(&crates, "rs", &["wasmtime", "dsh_plugin"]);
}

#[test]
fn the_runtime_knows_neither_store_nor_loop() {
    never(&["host/runtime"], "toml", &["dsh-session", "dsh-agent"]);
    never(&["host/runtime"], "rs", &["dsh_session", "dsh_agent"]);
}

#[test]
fn settings_know_nothing_of_what_they_set() {
    never(
        &["host/config"],
        "toml",
        &["dsh-session", "dsh-agent", "dsh-plugin", "reqwest", "tokio"],
    );
    never(&["host/config"], "rs", &["std::process", "std::net"]);
}

#[test]
fn the_runtime_alone_is_lean() {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--edges", "normal", "--prefix", "none", "--no-default-features"])
        .args(["--package", "dsh-plugin-host"])
        .current_dir(top())
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).unwrap();
    assert!(tree.contains("wasmtime "), "{tree}");
    for heavy in ["zstd", "icu_", "dsh-session", "dsh-agent", "wasmtime-wasi"] {
        assert!(!tree.contains(heavy), "{heavy} in:\n{tree}");
    }
}

#[test]
fn plugins_know_the_contract_only() {
    let host = ["dsh-session", "dsh-agent", "dsh-plugin-host", "dsh-model", "wasmtime"];
    never(&["plugins"], "toml", &host);
}

#[test]
fn bindings_are_made_in_one_place() {
    for (path, text) in files(&["host"], "rs") {
        assert_eq!(
            text.contains("bindgen!({"),
            path.ends_with("runtime/src/bindings.rs"),
            "{}",
            path.display()
        );
    }
    for (path, text) in files(&["plugins"], "rs") {
        assert_eq!(
            text.contains("generate!({"),
            path.ends_with("guest/src/bindings.rs"),
            "{}",
            path.display()
        );
    }
}

#[test]
fn the_contract_is_documented() {
    let resolve = contract();
    let said = |docs: &Docs, what: String| {
        assert!(
            docs.contents.as_deref().is_some_and(|text| !text.trim().is_empty()),
            "{what} has no doc"
        );
    };
    for (_, interface) in &resolve.interfaces {
        let name = interface.name.clone().unwrap_or_default();
        said(&interface.docs, name.clone());
        for function in interface.functions.values() {
            if !matches!(function.kind, FunctionKind::Constructor(_)) {
                said(&function.docs, format!("{name}.{}", function.name));
            }
        }
        for (ty, id) in &interface.types {
            let def = &resolve.types[*id];
            if !matches!(def.kind, TypeDefKind::Type(Type::Id(_))) {
                said(&def.docs, format!("{name}.{ty}"));
            }
        }
    }
    for (_, world) in &resolve.worlds {
        said(&world.docs, world.name.clone());
    }
}

#[test]
fn no_export_takes_a_borrowed_handle() {
    let resolve = contract();
    for (_, world) in &resolve.worlds {
        for item in world.exports.values() {
            let WorldItem::Interface { id, .. } = item else {
                panic!("{} exports a loose function", world.name)
            };
            for function in resolve.interfaces[*id].functions.values() {
                for param in &function.params {
                    assert!(
                        !borrows(&resolve, &param.ty),
                        "{}: {} borrows",
                        world.name,
                        function.name
                    );
                }
            }
        }
    }
}

fn borrows(resolve: &Resolve, ty: &Type) -> bool {
    let Type::Id(id) = ty else { return false };
    match &resolve.types[*id].kind {
        TypeDefKind::Handle(Handle::Borrow(_)) => true,
        TypeDefKind::Type(ty) | TypeDefKind::List(ty) | TypeDefKind::Option(ty) => {
            borrows(resolve, ty)
        }
        TypeDefKind::Record(record) => {
            record.fields.iter().any(|field| borrows(resolve, &field.ty))
        }
        TypeDefKind::Tuple(tuple) => tuple.types.iter().any(|ty| borrows(resolve, ty)),
        TypeDefKind::Variant(variant) => {
            variant.cases.iter().filter_map(|case| case.ty.as_ref()).any(|ty| borrows(resolve, ty))
        }
        TypeDefKind::Result(result) => {
            [&result.ok, &result.err].into_iter().flatten().any(|ty| borrows(resolve, ty))
        }
        _ => false,
    }
}

/// Toolchains that keep every import of a world must get by with these two.
#[test]
fn the_smallest_worlds_import_only_config_and_log() {
    let resolve = contract();
    for name in ["base", "tool-gate-plugin", "commands-plugin"] {
        let (_, world) = resolve.worlds.iter().find(|(_, world)| world.name == name).unwrap();
        for item in world.imports.values() {
            let WorldItem::Interface { id, .. } = item else {
                panic!("{name} imports a loose function")
            };
            let interface = &resolve.interfaces[*id];
            let functions = interface.functions.values();
            // What an export's types are made of comes along; it can be called only on a handle that was given.
            let loose = functions
                .filter(|function| !matches!(function.kind, FunctionKind::Method(_)))
                .count();
            let interface = interface.name.as_deref().unwrap_or_default();
            assert!(
                loose == 0 || ["config", "log"].contains(&interface),
                "{name} imports {interface}"
            );
        }
    }
}

#[test]
fn the_readme_names_what_ci_runs() {
    let readme = fs::read_to_string(top().join("README.md")).unwrap();
    let ci = fs::read_to_string(top().join(".ci/run")).unwrap();
    let command = "rustup target add wasm32-unknown-unknown && cargo test --workspace";
    assert!(readme.contains(command) && ci.contains(command));
}
