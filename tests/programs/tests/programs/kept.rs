//! Components that were built once, against each version of the contract that is linked, and run on.
//!
//! Nothing builds them again: when the contract is extended, it is these that have to run still.

use std::path::Path;

use dsh_plugin_host::{Chain, Grants, Settings};
use program_tests::{everything, host, manifest};

use crate::decision::{UNTOUCHED, entered};

#[tokio::test]
async fn a_component_of_every_version_runs_on() {
    let host = host();
    let mut ran = 0;
    for version in host.versions() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("kept").join(version);
        let wasm = std::fs::read(path.join("passes.wasm")).expect("a component was kept");
        let interfaces = host.interfaces(&manifest("kept"), &wasm).await.expect("a component");
        assert_eq!(interfaces.contract(), [version].into(), "it is of the version that it is for");
        let grants = Grants::new(everything());
        let plugin = host.load(manifest("kept"), &wasm, Settings::default(), &grants).await;
        let plugin = plugin.unwrap_or_else(|err| panic!("{err}"));
        assert_eq!(entered(&Chain::new([plugin])).await, UNTOUCHED);
        ran += 1;
    }
    assert!(ran > 0, "a version is linked");
}
