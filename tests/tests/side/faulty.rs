//! A sidechat that faults: side sessions stay read-only, and no other session is stopped.

use std::sync::Arc;

use dsh_plugin_host::FAULTS_UNTIL_QUARANTINE;
use dsh_tests::model;
use dsh_wasm::{Harness, Options};

use crate::gate::calls;
use crate::stage::{Stage, id};

#[tokio::test(flavor = "multi_thread")]
async fn side_session_stays_read_only_and_others_go_on_when_the_plugin_is_in_quarantine() {
    let stage = Stage::set(&[]).await;
    let (child, _) = stage.side_on(&stage.parent, "").await;
    let (side, main) = (id(&child).clone(), id(&stage.parent).clone());
    for agent in [&child, &stage.parent] {
        agent.dispose().await.unwrap();
    }
    drop(child);
    let Stage { rig, parent, .. } = stage;
    drop(parent);
    let mut plugins = Options::standard().plugins;
    plugins.retain(|plugin| plugin.manifest.contains("id = \"sidechat\""));
    for plugin in &mut plugins {
        // Too few to look at a call.
        plugin.manifest = format!("{}\n[limits]\nhost-calls = 1\n", plugin.manifest).into();
    }
    let options = Options { plugins, compiled: None, log: Arc::new(()), ..Options::standard() };
    let starved = Harness::open(rig.root(), options).await.unwrap();
    let main = starved.resume(&main, model(&[])).await.unwrap();
    let side = starved.resume(&side, model(&[])).await.unwrap();
    for _ in 0..FAULTS_UNTIL_QUARANTINE {
        assert_eq!(calls(&main).await, ["done", "done"]);
        let [write, read] = calls(&side).await;
        assert!(write.starts_with("Error: this session changes nothing"), "{write}");
        assert_eq!(read, "done");
    }
    assert!(starved.plugins()[0].plugin.quarantine().is_some());
}
