//! Strangers' plugins, from the command line down to the log: added, granted, broken, replaced and removed.

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use dsh_plugin_folder::Folder;
use dsh_plugin_host::Manifest;
use dsh_wasm::{Exit, Harness, Options};
use program_tests as programs;
use serde_json::Value;

use crate::desk::{Desk, Ran};

const WANTS: &str = "imports = ['dsh:session/query']\nrewrite-user = true\n\
     sessions = { titles = 'all', texts = 'all' }\n";

fn manifest(version: &str, declares: &str) -> String {
    format!("id = 'stranger'\nversion = '{version}'\ncomponent = 'it.wasm'\n[declares]\n{declares}")
}

/// Puts a component that carries its manifest where `path` says.
fn carried(desk: &Desk, path: &str, program: &str, version: &str, declares: &str) {
    let wasm = Manifest::embed(&manifest(version, declares), &fs::read(program).unwrap()).unwrap();
    fs::write(desk.path(path), wasm).unwrap();
}

async fn plugin(desk: &Desk, args: &[&str]) -> Ran {
    desk.run(&[&["plugin"], args].concat()).await
}

/// Does what must succeed, and gives what it printed.
async fn done(desk: &Desk, args: &[&str]) -> String {
    let ran = plugin(desk, args).await;
    assert_eq!(ran.exit, Ok(Exit::Done), "{args:?}: {}{}", ran.out, ran.err);
    ran.out
}

async fn refused(desk: &Desk, args: &[&str]) -> String {
    plugin(desk, args).await.exit.expect_err("it is refused")
}

async fn turn(desk: &Desk) -> Ran {
    let root = desk.path("sessions");
    desk.run(&["run", "--root", root.to_str().unwrap(), "hello"]).await
}

/// What the model read of a prompt that said `hello`.
async fn heard(desk: &Desk) -> Vec<String> {
    let (_, messages) = desk.messages(&["hello"]).await;
    let texts = messages.iter().filter(|message| message["role"] == "user");
    texts.map(|message| message["content"][0]["text"].as_str().unwrap().to_owned()).collect()
}

/// How the stranger's plugin stands, as `plugin list` says.
async fn listed(desk: &Desk) -> Option<Value> {
    listed_as(desk, "stranger").await
}

/// How a plugin stands, as `plugin list` says.
async fn listed_as(desk: &Desk, id: &str) -> Option<Value> {
    let lines = done(desk, &["list", "--json"]).await;
    let mut lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.find(|line| line["id"] == id)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_is_added_granted_broken_replaced_and_removed() {
    let desk = Desk::new(&[]);
    carried(&desk, "project/it.wasm", programs::REWRITES, "1", WANTS);
    let said = done(&desk, &["inspect", "it.wasm"]).await;
    assert!(said.contains("rewrite-user") && said.contains("dsh:agent/pre-step@"), "{said}");
    assert!(said.contains("contract    0.1.0 (linked here: 0.1.0)"), "{said}");
    assert_eq!(done(&desk, &["check", "it.wasm"]).await, "stranger fits\n");

    let said = done(&desk, &["add", "it.wasm"]).await;
    assert!(said.contains("not granted") && said.contains("titles=all"), "{said}");
    assert!(refused(&desk, &["add", "it.wasm"]).await.contains("plugin upgrade stranger"));
    fs::remove_file(desk.path("project/it.wasm")).unwrap();
    let said = refused(&desk, &["grant", "stranger", "append-system"]).await;
    assert!(said.contains("does not declare") && said.contains("rewrite-user"), "{said}");
    done(&desk, &["grant", "stranger", "all"]).await;
    done(&desk, &["enable", "stranger"]).await;
    assert_eq!(heard(&desk).await, ["changed"]);
    done(&desk, &["disable", "stranger"]).await;
    assert_eq!(heard(&desk).await, ["hello"]);
    done(&desk, &["enable", "stranger"]).await;

    carried(&desk, "project/it.wasm", programs::PANICS, "2", WANTS);
    done(&desk, &["upgrade", "stranger", "it.wasm"]).await;
    for _ in 0..4 {
        assert_eq!(turn(&desk).await.exit, Ok(Exit::TurnFailed));
    }
    let fares = listed(&desk).await.unwrap();
    assert!(fares["state"].as_str().unwrap().contains("quarantine"), "{fares}");
    // The fourth was not even called.
    assert_eq!(fares["faults"], 3, "{fares}");
    assert!(fares["lastError"].as_str().unwrap().starts_with("stranger: "), "{fares}");
    // It stands around the stranger, and only passed on what came of it.
    let outer = listed_as(&desk, "session-reference").await.unwrap();
    assert!(outer["calls"].as_u64().unwrap() >= 4, "{outer}");
    assert_eq!((&outer["faults"], &outer["lastError"]), (&0.into(), &Value::Null), "{outer}");
    assert!(done(&desk, &["log", "stranger"]).await.contains("quarantine"));
    let doctor = desk.run(&["doctor"]).await;
    assert_eq!(doctor.exit, Ok(Exit::Failed), "{}", doctor.out);
    assert!(doctor.out.contains("plugin-quarantined"), "{}", doctor.out);
    assert!(doctor.out.contains("`dsh-wasm plugin release stranger`"), "{}", doctor.out);
    let said = done(&desk, &["enable", "stranger"]).await;
    assert!(said.contains("is in quarantine") && !said.contains("runs"), "{said}");
    assert!(said.contains("dsh-wasm plugin release stranger"), "{said}");
    assert_eq!(done(&desk, &["release", "stranger"]).await, "stranger is called again\n");
    let said = done(&desk, &["release", "stranger"]).await;
    assert!(said.contains("is not in quarantine"), "{said}");
    assert_eq!(listed(&desk).await.unwrap()["state"], "runs");

    done(&desk, &["rollback", "stranger"]).await;
    assert_eq!(heard(&desk).await, ["changed"]);
    let fares = listed(&desk).await.unwrap();
    assert_eq!((&fares["version"], fares["calls"].as_u64()), (&"1".into(), Some(5)), "{fares}");
    let audit = done(&desk, &["audit"]).await;
    let deeds = [
        "added",
        "granted",
        "loaded",
        "changed",
        "upgraded",
        "quarantined",
        "released",
        "rolled-back",
    ];
    for deed in deeds {
        assert!(audit.contains(&format!(" {deed} ")), "{deed}:\n{audit}");
    }

    done(&desk, &["remove", "stranger"]).await;
    assert_eq!(listed(&desk).await, None);
    assert!(refused(&desk, &["remove", "stranger"]).await.contains("there is none"));
    assert_eq!(heard(&desk).await, ["hello"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_version_asks_only_when_it_wants_more() {
    let mut desk = Desk::new(&[]);
    carried(&desk, "project/it.wasm", programs::PASSES, "1", "");
    done(&desk, &["add", "it.wasm"]).await;
    done(&desk, &["grant", "stranger", "cpu-ms=77"]).await;
    carried(&desk, "project/it.wasm", programs::PASSES, "2", "");
    done(&desk, &["upgrade", "stranger"]).await;
    assert_eq!(listed(&desk).await.unwrap()["limits"]["cpu-ms"], 77);

    carried(&desk, "project/it.wasm", programs::PASSES, "3", "rewrite-user = true\n");
    assert!(refused(&desk, &["upgrade", "stranger"]).await.contains("--as-granted"));
    desk.answer = Some(false);
    refused(&desk, &["upgrade", "stranger"]).await;
    assert_eq!(listed(&desk).await.unwrap()["version"], "2");
    desk.answer = Some(true);
    done(&desk, &["upgrade", "stranger"]).await;
    assert_eq!(desk.asked.load(Ordering::Relaxed), 2);
    let fares = listed(&desk).await.unwrap();
    assert_eq!((&fares["version"], &fares["grants"]["rewrite-user"]), (&"3".into(), &true.into()));
    // Back to what never wanted it, it does not keep it.
    done(&desk, &["rollback", "stranger"]).await;
    assert_eq!(listed(&desk).await.unwrap()["grants"]["rewrite-user"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_worked_on_keeps_its_grants_until_it_wants_more() {
    let desk = Desk::new(&[("project/plugin/plugin.toml", &manifest("1", WANTS))]);
    let put = |program: &str| fs::copy(program, desk.path("project/plugin/it.wasm")).unwrap();
    put(programs::PASSES);
    done(&desk, &["add", "plugin", "--grant", "all"]).await;
    assert_eq!(heard(&desk).await, ["hello"]);
    put(programs::REWRITES);
    assert_eq!(heard(&desk).await, ["changed"]);
    fs::write(desk.path("project/plugin/it.wasm"), "half").unwrap();
    assert!(refused(&desk, &["reload"]).await.contains("stays as it is"));
    assert_eq!(heard(&desk).await, ["changed"]);
    put(programs::PASSES);
    let wider = format!("{WANTS}append-system = true\n");
    desk.write("project/plugin/plugin.toml", &manifest("2", &wider));
    let said = refused(&desk, &["reload"]).await;
    assert!(said.contains("append-system") && said.contains("plugin upgrade stranger"), "{said}");
    assert_eq!(heard(&desk).await, ["changed"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_does_not_load_is_told_with_the_way_out() {
    let desk = Desk::new(&[]);
    carried(&desk, "project/it.wasm", programs::PASSES, "1", "");
    done(&desk, &["add", "it.wasm"]).await;
    let mut held = fs::read_dir(desk.path("data/plugins/components")).unwrap();
    let changed = held.find(|held| {
        let path = held.as_ref().unwrap().path();
        fs::read(path).unwrap().starts_with(b"\0asm")
    });
    fs::write(changed.unwrap().unwrap().path(), b"\0asm another").unwrap();
    let said = turn(&desk).await;
    assert_eq!(said.exit, Ok(Exit::Failed));
    assert!(said.err.contains("was pinned"), "{}", said.err);
    let root = desk.path("sessions");
    let safe = desk.run(&["run", "--safe", "--root", root.to_str().unwrap(), "hello"]).await;
    assert_eq!(safe.exit, Ok(Exit::Done), "{}", safe.err);
    desk.write("data/plugins/plugins.toml", "[[plugin]]\nid = 'stranger'\ngrant = 1\n");
    let said = refused(&desk, &["list"]).await;
    assert!(said.contains("plugins.toml") && said.contains("line 3"), "{said}");
}

/// Waits until a running harness has made of its folder what `done` wants.
async fn until(harness: &Harness, done: impl Fn(&Harness) -> bool) {
    while !done(harness) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_runs_takes_up_what_changes() {
    let desk = Desk::new(&[("project/plugin/plugin.toml", &manifest("1", WANTS))]);
    let place = desk.path("project/plugin/it.wasm");
    let put = |program: &str| {
        // As editors and linkers do: beside it, and then in its place.
        let beside = place.with_extension("new");
        fs::copy(program, &beside).unwrap();
        fs::rename(beside, &place).unwrap();
    };
    put(programs::PASSES);
    done(&desk, &["add", "plugin", "--grant", "all"]).await;
    let options =
        Options { folder: Some(Folder::new(desk.path("data/plugins"))), ..Options::standard() };
    let harness = Harness::open(Path::new(""), options).await.unwrap();
    let digest = |harness: &Harness| {
        harness.generation().plugin("stranger").map(|plugin| plugin.digest().to_owned())
    };
    let of = |program: &str| {
        let wasm = fs::read(program).unwrap();
        Some(dsh_plugin_folder::Digest::of(&wasm).as_str().to_owned())
    };
    let pinned = harness.generation();
    assert_eq!(digest(&harness), of(programs::PASSES));
    put(programs::REWRITES);
    until(&harness, |harness| digest(harness) == of(programs::REWRITES)).await;
    // Half of one, then the whole: what is there is what is whole.
    let wasm = fs::read(programs::ADDS_CONTEXT).unwrap();
    fs::write(&place, &wasm[..wasm.len() / 2]).unwrap();
    fs::write(&place, &wasm).unwrap();
    until(&harness, |harness| digest(harness) == of(programs::ADDS_CONTEXT)).await;
    // A link that is swapped.
    std::os::unix::fs::symlink(programs::PASSES, place.with_extension("link")).unwrap();
    fs::rename(place.with_extension("link"), &place).unwrap();
    until(&harness, |harness| digest(harness) == of(programs::PASSES)).await;
    // Its source goes; what was added stays, until it is removed.
    fs::remove_file(&place).unwrap();
    done(&desk, &["disable", "stranger"]).await;
    until(&harness, |harness| digest(harness).is_none()).await;
    done(&desk, &["remove", "stranger"]).await;
    assert!(harness.mentions().is_some());
    done(&desk, &["disable", "session-reference"]).await;
    until(&harness, |harness| harness.mentions().is_none()).await;
    assert_eq!(pinned.plugin("stranger").unwrap().digest(), of(programs::PASSES).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_added_in_the_place_of_what_is_part_of_the_program() {
    let desk = Desk::new(&[]);
    for id in ["session-reference", "sidechat"] {
        let manifest = manifest("9", "").replace("stranger", id);
        let wasm = Manifest::embed(&manifest, &fs::read(programs::PASSES).unwrap()).unwrap();
        fs::write(desk.path("project/it.wasm"), wasm).unwrap();
        let said = refused(&desk, &["add", "it.wasm"]).await;
        assert!(said.contains(id) && said.contains("another `id`"), "{said}");
    }
    assert!(!done(&desk, &["list"]).await.contains(" 9\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_was_damaged_is_told_of_left_out_and_put_right() {
    let desk = Desk::new(&[]);
    carried(&desk, "project/it.wasm", programs::REWRITES, "1", WANTS);
    done(&desk, &["add", "it.wasm"]).await;
    done(&desk, &["grant", "stranger", "all"]).await;
    done(&desk, &["enable", "stranger"]).await;
    let held = fs::read_dir(desk.path("data/plugins/components")).unwrap();
    for file in held.map(|entry| entry.unwrap().path()) {
        fs::write(file, "torn").unwrap();
    }
    let fares = listed(&desk).await.unwrap();
    let state = fares["state"].as_str().unwrap();
    assert!(state.starts_with("cannot be read: ") && state.contains("components"), "{fares}");
    assert_eq!(listed_as(&desk, "session-reference").await.unwrap()["state"], "runs");
    let said = done(&desk, &["list"]).await;
    assert!(said.contains("stranger\n  state       cannot be read: "), "{said}");
    assert!(refused(&desk, &["inspect", "stranger"]).await.contains("components"));
    let Ran { exit, err, .. } = turn(&desk).await;
    assert_eq!(exit, Ok(Exit::Failed));
    assert!(err.contains("`dsh-wasm plugin disable stranger` leaves it out"), "{err}");
    done(&desk, &["disable", "stranger"]).await;
    assert_eq!(heard(&desk).await, ["hello"]);
    let fares = listed(&desk).await.unwrap();
    assert!(
        fares["state"].as_str().unwrap().starts_with("disabled, and cannot be read"),
        "{fares}"
    );
    // The way back: what is there once more, or nothing.
    done(&desk, &["remove", "stranger"]).await;
    done(&desk, &["add", "it.wasm"]).await;
    done(&desk, &["grant", "stranger", "all"]).await;
    done(&desk, &["enable", "stranger"]).await;
    assert_eq!(heard(&desk).await, ["changed"]);
}
