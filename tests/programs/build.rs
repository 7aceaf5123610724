//! Builds every program under `guests/examples` as a component, and names each for the tests.

#![expect(clippy::disallowed_methods, reason = "cargo tells a build script everything so")]

use std::collections::BTreeSet;
use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    for input in ["build.rs", "guests/Cargo.toml", "guests/examples"] {
        println!("cargo::rerun-if-changed={input}");
    }
    let names = names()?;
    let components = component_build::examples("../..", "programs", &names)?;
    let (mut constants, mut calls) = (String::new(), String::new());
    for (name, path) in names.iter().zip(components) {
        let upper = name.to_uppercase();
        constants +=
            &format!("/// The component of `{name}`.\npub const {upper}: &str = {path:?};\n");
        calls += &format!("$mac!({name}); ");
    }
    let each = format!(
        "/// Applies `$mac` to the name of every program.\n#[macro_export]\n\
         macro_rules! for_each_program {{ ($mac:ident) => {{ {calls} }}; }}\n"
    );
    fs::write(PathBuf::from(env::var("OUT_DIR")?).join("programs.rs"), constants + &each)?;
    Ok(())
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
