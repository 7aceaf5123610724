//! Builds packages of this workspace as components, from a build script.
//!
//! The components land in `target/guests`, which all builds share: the first
//! one compiles them, later ones look whether they are fresh.

#![expect(clippy::disallowed_methods, reason = "cargo tells a build script everything so")]
#![expect(clippy::print_stdout, reason = "a build script tells cargo everything so")]

use std::env;
use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What plugins are compiled for; `.cargo/config.toml` has the linker that makes components of them.
const TARGET: &str = "wasm32-unknown-unknown";

/// Builds `package` and returns where its component is. Tells cargo to run the
/// build script again when one of its sources, or the workspace's settings,
/// have changed; `root` is the way from the calling package to the workspace.
///
/// # Errors
///
/// When the target is not installed or the package does not compile; cargo has
/// said why then.
pub fn component(root: &str, package: &str) -> Result<PathBuf, Box<dyn Error>> {
    let built = build(root, package, &[])?;
    keep(&built.join(package.replace('-', "_")))
}

/// Builds the examples of `package` named `names`, and returns where the component of each is, in their order; see
/// [`component`].
///
/// # Errors
///
/// As [`component`].
pub fn examples(
    root: &str,
    package: &str,
    names: impl IntoIterator<Item = impl AsRef<str>>,
) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let built = build(root, package, &["--examples"])?.join("examples");
    names.into_iter().map(|name| keep(&built.join(name.as_ref()))).collect()
}

/// A copy of our own of a component: the shared directory may be cleaned at any time.
fn keep(built: &Path) -> Result<PathBuf, Box<dyn Error>> {
    report_inputs(&built.with_extension("d"))?;
    let name = built.file_name().ok_or("a component without a name")?;
    let copy = PathBuf::from(env::var("OUT_DIR")?).join(name).with_extension("wasm");
    fs::copy(built.with_extension("wasm"), &copy)?;
    Ok(copy)
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

/// Builds without what the outer build was told for its own crates, and returns where the components are.
fn build(root: &str, package: &str, what: &[&str]) -> Result<PathBuf, Box<dyn Error>> {
    for settings in ["Cargo.toml", "Cargo.lock", ".cargo/config.toml"] {
        println!("cargo::rerun-if-changed={root}/{settings}");
    }
    require_target()?;
    let target_dir = target_dir()?;
    let mut cargo = Command::new(env::var("CARGO")?);
    // One package at a time: features that another one asks for do not get in.
    cargo
        .args(["build", "--profile", "guest", "--target", TARGET, "--package", package])
        .args(what);
    cargo.env("CARGO_TARGET_DIR", &target_dir);
    // The profile's link-time optimization rules it out.
    cargo.env("CARGO_INCREMENTAL", "0");
    for (name, _) in env::vars_os().filter(|(name, _)| is_of_outer_build(name)) {
        cargo.env_remove(name);
    }
    if cargo.status()?.success() {
        return Ok(target_dir.join(TARGET).join("guest"));
    }
    Err(format!("{package} could not be built for {TARGET}").into())
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
        let input = input.replace('\0', " ");
        println!("cargo::rerun-if-changed={input}");
        // Features and profiles are in no source file.
        if let Some(package) = input.strip_suffix("/src/lib.rs") {
            println!("cargo::rerun-if-changed={package}/Cargo.toml");
        }
    }
    Ok(())
}
