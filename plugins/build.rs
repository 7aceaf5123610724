//! Builds the standard plugins as components, in a target directory of their own.

#![expect(clippy::disallowed_methods, reason = "cargo tells a build script everything so")]

use std::env;
use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The plugins' packages.
const PLUGINS: [&str; 1] = ["session-reference"];

const TARGET: &str = "wasm32-unknown-unknown";

fn main() -> Result<(), Box<dyn Error>> {
    for manifest in ["../Cargo.toml", "../Cargo.lock", "../.cargo/config.toml", "build.rs"] {
        println!("cargo::rerun-if-changed={manifest}");
    }
    require_target()?;
    let target_dir = target_dir()?;
    build(&target_dir)?;
    for plugin in PLUGINS {
        let artifact = target_dir.join(TARGET).join("guest").join(plugin.replace('-', "_"));
        report_inputs(&artifact.with_extension("d"))?;
        let variable = plugin.replace('-', "_").to_uppercase();
        println!("cargo::rustc-env={variable}={}", artifact.with_extension("wasm").display());
    }
    Ok(())
}

/// A directory beside this build's own, shared by all its profiles. Not the
/// outer one: the cargo that runs this holds its lock.
fn target_dir() -> Result<PathBuf, Box<dyn Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    // <target>/<profile>/build/<package>/out
    let outer = out.ancestors().nth(4).ok_or("OUT_DIR is not where cargo puts it")?;
    Ok(outer.join("guests"))
}

/// Says what is missing in one line, before the compiler says it in hundreds.
fn require_target() -> Result<(), Box<dyn Error>> {
    let libdir = Command::new(env::var("RUSTC")?)
        .args(["--print", "target-libdir", "--target", TARGET])
        .output()?;
    let libdir = PathBuf::from(String::from_utf8(libdir.stdout)?.trim());
    if libdir.is_dir() {
        return Ok(());
    }
    println!(
        "cargo::error=the plugins need a Rust target that is not installed; run: rustup target add {TARGET}"
    );
    Err(format!("the Rust target {TARGET} is not installed").into())
}

/// Builds the plugins without what the outer build was told for its own crates.
fn build(target_dir: &Path) -> Result<(), Box<dyn Error>> {
    for plugin in PLUGINS {
        let mut cargo = Command::new(env::var("CARGO")?);
        cargo.args(["build", "--profile", "guest", "--target", TARGET, "--package", plugin]);
        cargo.env("CARGO_TARGET_DIR", target_dir);
        // The profile's link-time optimization rules it out.
        cargo.env("CARGO_INCREMENTAL", "0");
        for (name, _) in env::vars_os().filter(|(name, _)| is_of_outer_build(name)) {
            cargo.env_remove(name);
        }
        if !cargo.status()?.success() {
            return Err(format!("{plugin} could not be built for {TARGET}").into());
        }
    }
    Ok(())
}

/// Whether a variable changes how the outer build compiles: flags, wrappers such as clippy's, its target.
fn is_of_outer_build(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.ends_with("RUSTFLAGS")
        || name.starts_with("CARGO_PROFILE_")
        || matches!(&*name, "RUSTC_WORKSPACE_WRAPPER" | "RUSTC_WRAPPER" | "CARGO_BUILD_TARGET")
}

/// Tells cargo what a plugin was made of, from its dep-info.
fn report_inputs(dep_info: &Path) -> Result<(), Box<dyn Error>> {
    let inputs = fs::read_to_string(dep_info)?;
    let (_, inputs) = inputs.split_once(':').ok_or("dep-info without a colon")?;
    // Spaces in a path are escaped.
    for input in inputs.trim().replace("\\ ", "\0").split_whitespace() {
        println!("cargo::rerun-if-changed={}", input.replace('\0', " "));
    }
    Ok(())
}
