//! Builds every program under `guests/examples` as a component, and names each for the tests.

#![expect(clippy::disallowed_methods, reason = "cargo tells a build script everything so")]

use std::collections::BTreeSet;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const TARGET: &str = "wasm32-unknown-unknown";

/// The workspace, seen from here.
const ROOT: &str = "../..";

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    // <target>/<profile>/build/<package>/out, and a directory beside it: the outer cargo holds the lock of its own.
    let target = out.ancestors().nth(4).ok_or("OUT_DIR is not where cargo puts it")?.join("guests");
    build(&target)?;
    let examples = target.join(TARGET).join("guest").join("examples");
    let mut inputs =
        BTreeSet::from(["build.rs", "guests/Cargo.toml", "guests/examples"].map(str::to_owned));
    inputs.extend(
        ["Cargo.toml", "Cargo.lock", ".cargo/config.toml"].map(|path| format!("{ROOT}/{path}")),
    );
    let (mut constants, mut calls) = (String::new(), String::new());
    for name in names()? {
        let component = examples.join(&name);
        inputs.extend(inputs_of(&component.with_extension("d"))?);
        let (upper, path) = (name.to_uppercase(), component.with_extension("wasm"));
        constants +=
            &format!("/// The component of `{name}`.\npub const {upper}: &str = {path:?};\n");
        calls += &format!("$mac!({name}); ");
    }
    let each = format!(
        "/// Applies `$mac` to the name of every program.\n#[macro_export]\n\
         macro_rules! for_each_program {{ ($mac:ident) => {{ {calls} }}; }}\n"
    );
    fs::write(out.join("programs.rs"), constants + &each)?;
    for input in inputs {
        println!("cargo::rerun-if-changed={input}");
    }
    Ok(())
}

/// Builds without what the outer build was told for its own crates: flags, wrappers such as clippy's, its target.
fn build(target: &Path) -> Result<(), Box<dyn Error>> {
    let mut cargo = Command::new(env::var("CARGO")?);
    cargo.args([
        "build",
        "--profile",
        "guest",
        "--target",
        TARGET,
        "--package",
        "programs",
        "--examples",
    ]);
    // The profile's link-time optimization rules incremental builds out.
    cargo.env("CARGO_TARGET_DIR", target).env("CARGO_INCREMENTAL", "0");
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy();
        let outer = ["RUSTC_WORKSPACE_WRAPPER", "RUSTC_WRAPPER", "CARGO_BUILD_TARGET"];
        if name.ends_with("RUSTFLAGS")
            || name.starts_with("CARGO_PROFILE_")
            || outer.contains(&&*name)
        {
            cargo.env_remove(&*name);
        }
    }
    if cargo.status()?.success() {
        return Ok(());
    }
    println!(
        "cargo::error=the programs did not build; is their target there? rustup target add {TARGET}"
    );
    Err("the programs did not build".into())
}

/// Names come from the sources: the output directory still holds deleted programs.
fn names() -> Result<BTreeSet<String>, Box<dyn Error>> {
    let stem = |entry: fs::DirEntry| entry.path().file_stem()?.to_str().map(str::to_owned);
    let mut names = BTreeSet::new();
    for entry in fs::read_dir("guests/examples")? {
        names.extend(stem(entry?));
    }
    Ok(names)
}

/// What a component was made of, from its dep-info, where spaces in a path are escaped.
fn inputs_of(dep_info: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let text = fs::read_to_string(dep_info)?;
    let (_, inputs) = text.split_once(": ").ok_or("dep-info without a colon")?;
    let inputs = inputs.lines().next().unwrap_or_default().replace("\\ ", "\0");
    Ok(inputs.split_whitespace().map(|path| path.replace('\0', " ")).collect())
}
