//! A side session changes nothing, with its plugin and without it.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use dsh_agent::{Agent, TurnEnd};
use dsh_plugin_folder::Folder;
use dsh_plugin_host::{Log, LogEntry};
use dsh_tests::{Rig, model, turn};
use dsh_wasm::{Exit, Harness, Options, Ran};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::stage::{Stage, Waits, id, options, recompose};

/// What a call of `write` in this session came to, beside one of `read`, which may run.
async fn writes(agent: &Agent) -> String {
    let [write, read] = calls(agent).await;
    assert_eq!(read, "done");
    write
}

/// What calls of `write` and of `read` in this session came to.
pub(crate) async fn calls(agent: &Agent) -> [String; 2] {
    let lets = Arc::new(Semaphore::new(9));
    let model = model(&[
        json!({ "calls": [{ "name": "write" }, { "name": "read" }] }),
        json!({ "text": "ok" }),
    ]);
    recompose(agent, |parts| {
        parts.tools = vec![Waits::tool("write", false, &lets), Waits::tool("read", true, &lets)];
        parts.model = model.clone();
    });
    assert_eq!(turn(agent, "write it").await, TurnEnd::Completed);
    let request = model.requests().pop().unwrap();
    let results: Vec<String> = request
        .messages
        .iter()
        .rev()
        .take(2)
        .map(|message| {
            let [dsh_session::Block::ToolResult(result)] = message.blocks() else {
                panic!("no result")
            };
            result.content.iter().filter_map(dsh_session::Block::text).collect()
        })
        .collect();
    [results[1].clone(), results[0].clone()]
}

#[tokio::test(flavor = "multi_thread")]
async fn side_session_denies_tools_that_change_things_until_it_is_promoted() {
    let stage = Stage::set(&[]).await;
    let (child, _) = stage.side_on(&stage.parent, "").await;
    let denied = writes(&child).await;
    assert!(denied.starts_with("Error: this is a side session") && denied.contains("/promote"));
    assert_eq!(writes(&stage.parent).await, "done");
    let ran = stage.command(&child, "/promote").await.unwrap();
    let Ran::Question(question) = ran else { panic!("no question") };
    assert!(writes(&child).await.starts_with("Error"), "asking lifts nothing");
    let yes = format!("/{} {}", question.name, question.arguments);
    stage.told(&child, &yes).await;
    assert_eq!(stage.notes(&child, "promotion").len(), 1);
    assert_eq!(writes(&child).await, "done");
    // Nobody inherits what was allowed.
    let (grandchild, _) = stage.side_on(&child, "").await;
    assert!(writes(&grandchild).await.starts_with("Error"));
}

#[tokio::test(flavor = "multi_thread")]
async fn side_session_lets_tools_run_that_the_settings_except() {
    let stage = Stage::with(&json!({ "exceptions": ["write"] }), &[]).await;
    let (child, _) = stage.side_on(&stage.parent, "").await;
    assert_eq!(writes(&child).await, "done");
}

/// Keeps what is logged.
#[derive(Default)]
struct Kept(Mutex<Vec<String>>);

impl Log for Kept {
    fn write(&self, entry: &LogEntry<'_>) {
        self.0.lock().unwrap().push(format!("{}: {}", entry.plugin, entry.text));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn side_session_stays_read_only_without_its_plugin_and_the_person_is_told() {
    let stage = Stage::set(&[]).await;
    let (child, _) = stage.side_on(&stage.parent, "").await;
    let child_id = id(&child).clone();
    child.dispose().await.unwrap();
    drop(child);
    let kept = Arc::new(Kept::default());
    let options =
        Options { plugins: Vec::new(), log: kept.clone(), compiled: None, ..Options::standard() };
    let bare = Harness::open(stage.rig.root(), options).await.unwrap();
    let child = bare.resume(&child_id, model(&[])).await.unwrap();
    let denied = writes(&child).await;
    assert!(denied.contains("changes nothing") && denied.contains("\"sidechat\""), "{denied}");
    let told = kept.0.lock().unwrap().clone();
    assert_eq!(told, ["sidechat: did not look at a call of \"write\", so it was denied"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn side_session_whose_plugin_fails_denies() {
    let rig = Rig::with(options(&json!({}))).await;
    let parent = rig.harness.create(None, model(&[json!({ "text": "ok" })])).await.unwrap();
    assert_eq!(turn(&parent, "hello").await, TurnEnd::Completed);
    let ran = rig.harness.command(id(&parent), "/side", None).await.unwrap();
    let Ran::Opened { agent: child, .. } = ran else { panic!("no session") };
    let child_id = id(&child).clone();
    child.dispose().await.unwrap();
    drop(child);
    let mut plugins = Options::standard().plugins;
    plugins.retain(|plugin| plugin.manifest.contains("id = \"sidechat\""));
    for plugin in &mut plugins {
        plugin.manifest =
            format!("{}\n[limits]\ncpu-ms = 1\nhost-calls = 1\n", plugin.manifest).into();
    }
    let options = Options { plugins, compiled: None, log: Arc::new(()), ..Options::standard() };
    let starved = Harness::open(rig.root(), options).await.unwrap();
    let child = starved.resume(&child_id, model(&[])).await.unwrap();
    let [write, _] = calls(&child).await;
    assert!(write.starts_with("Error: "), "{write}");
}

/// Does something with the plugins in `folder`, as a person would.
async fn plugin(folder: &Path, args: &[&str]) {
    let folder = folder.to_str().unwrap();
    let words = ["--no-project", "--plugins", folder, "plugin"];
    let ran = dsh_tests::execute(&[&words, args].concat()).await;
    assert_eq!(ran.exit, Ok(Exit::Done), "{args:?}: {}", ran.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_that_comes_or_goes_counts_from_the_next_turn_of_an_agent_that_lives() {
    let rig = Rig::empty().await;
    let (source, folder) = (rig.beside().join("source"), rig.beside().join("plugins"));
    fs::create_dir(&source).unwrap();
    fs::copy(program_tests::JUDGES, source.join("it.wasm")).unwrap();
    let manifest = "id = 'judge'\nversion = '1'\ncomponent = 'it.wasm'\n";
    fs::write(source.join("plugin.toml"), manifest).unwrap();
    plugin(&folder, &["add", source.to_str().unwrap()]).await;
    plugin(&folder, &["disable", "judge"]).await;
    let options = Options { folder: Some(Folder::new(folder.clone())), ..Options::standard() };
    let harness = Harness::open(rig.root(), options).await.unwrap();
    let agent = harness.create(None, model(&[])).await.unwrap();
    assert_eq!(calls(&agent).await, ["done", "done"]);
    for (how, there) in [("enable", true), ("disable", false)] {
        plugin(&folder, &[how, "judge"]).await;
        while harness.generation().plugin("judge").is_some() != there {
            tokio::task::yield_now().await;
        }
        let [write, _] = calls(&agent).await;
        assert_eq!(write.starts_with("Error"), there, "{how}: {write}");
    }
}
