//! Builds the test program whose exports the vectors of single building blocks are run against.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let building_blocks = component_build::component("../..", "building-blocks")?;
    println!("cargo::rustc-env=BUILDING_BLOCKS={}", building_blocks.display());
    Ok(())
}
