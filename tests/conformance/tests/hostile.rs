//! The hostile set, whole.

use dsh_conformance::hostile::{self, Tally};

#[tokio::test]
async fn every_hostile_plugin_is_stopped_and_every_twin_is_not() {
    let cases = hostile::cases().expect("the cases");
    let mut out = Vec::new();
    let tally = hostile::run(&cases, &mut out).await.expect("a report");
    let report = String::from_utf8(out).expect("text");
    assert_eq!(tally, Tally { passed: cases.len(), failed: 0 }, "\n{report}");
}
