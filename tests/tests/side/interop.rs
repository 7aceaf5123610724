//! The real client opens parent and child after a fork and a merge, and continues both.
//!
//! `DSH_INTEROP` names a copy of the tool that runs the published packages, made ready with `npm install`.

use std::path::Path;
use std::process::{Command, Output};

use dsh_agent::TurnEnd;
use dsh_session::Encoding;
use dsh_tests::{Rig, interop, turn};
use serde_json::{Value, json};

use crate::stage::{Stage, options};

fn run(tool: &Path, script: &str, root: &Path) -> (Output, String) {
    let ran = Command::new("node").current_dir(tool).arg(script).arg(root).output().unwrap();
    let said = [&*ran.stdout, &*ran.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    (ran, said)
}

/// A side question with its merge, a withdrawn note, a note that waits, and a side session of the side session.
async fn play(settings: &Value, encoding: Encoding) -> Stage {
    let replies = ["because", "note 1", "also", "note 2", "on it"];
    let replies = replies.map(|text| json!({ "text": text }));
    let mut options = options(settings);
    options.encoding = Some(encoding);
    let stage = Stage::on(Rig::with(options).await, &replies).await;
    let child = stage.side("why?").await;
    assert!(stage.told(&child, "/merge").await.contains("was added"));
    assert!(stage.told(&child, "/merge --undo").await.contains("withdrawn"));
    assert_eq!(turn(&child, "and?").await, TurnEnd::Completed);
    assert!(stage.told(&child, "/merge").await.contains("was added"));
    assert_eq!(turn(&stage.parent, "on").await, TurnEnd::Completed);
    let (grandchild, _) = stage.side_on(&child, "").await;
    for agent in [&stage.parent, &child, &grandchild] {
        agent.dispose().await.unwrap();
    }
    stage
}

#[tokio::test(flavor = "multi_thread")]
async fn side_sessions_and_their_parents_go_on_in_the_real_client() {
    let Some(tool) = interop() else { return };
    for encoding in [Encoding::Zstd, Encoding::Raw] {
        let stage = play(&json!({}), encoding).await;
        for script in ["check.mjs", "resume-all.mjs"] {
            let (ran, said) = run(&tool, script, stage.rig.root());
            assert!(ran.status.success(), "{script}: {said}");
            let rows = String::from_utf8_lossy(&ran.stdout).lines().count();
            assert_eq!(rows, 3, "{script}: {said}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn side_sessions_in_the_older_form_are_refused_by_the_real_client() {
    let Some(tool) = interop() else { return };
    let stage = play(&json!({ "contextEvent": "context/message" }), Encoding::Raw).await;
    let (ran, said) = run(&tool, "check.mjs", stage.rig.root());
    assert!(!ran.status.success() && said.contains("context/message"), "{said}");
}
