//! Every golden vector passes.

use std::path::Path;

use dsh_conformance::family::Family;
use dsh_conformance::report;

#[tokio::test]
async fn every_vector_passes() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors");
    let mut said = Vec::new();
    let tally = report::run(&directory, &Family::ALL, &mut said).await.expect("vectors to run");
    assert!(tally.is_success(), "{}", String::from_utf8_lossy(&said));
}
