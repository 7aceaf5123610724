//! Builds the standard plugins.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let session_reference = component_build::component("..", "session-reference")?;
    println!("cargo::rustc-env=SESSION_REFERENCE={}", session_reference.display());
    let sidechat = component_build::component("..", "sidechat")?;
    println!("cargo::rustc-env=SIDECHAT={}", sidechat.display());
    Ok(())
}
