//! `shell`: output, exits, limits, and that nothing is left running.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::rig::{Rig, text};

async fn shell(rig: &Rig, command: &str) -> String {
    rig.says("shell", json!({ "command": command })).await
}

/// Waits until the process with the id in `file` is gone; the id is there before this is called.
async fn gone(file: &Path) {
    let id = std::fs::read_to_string(file).unwrap();
    let alive = || Path::new("/proc").join(id.trim()).exists() && !zombie(id.trim());
    let looked = async {
        while alive() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), looked).await.expect("the process ends");
}

fn zombie(id: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'))
}

#[tokio::test]
async fn both_outputs_come_in_their_order() {
    let rig = Rig::new();
    let said = shell(&rig, "echo one; echo two >&2; printf 'three é'").await;
    assert_eq!(said, "one\ntwo\nthree é");
    assert_eq!(shell(&rig, "true").await, "[no output]");
    assert_eq!(shell(&rig, "echo no; exit 3").await, "no\n[exit code: 3]");
    assert_eq!(shell(&rig, "kill -9 $$").await, "[killed by signal 9]");
    assert_eq!(shell(&rig, r"printf 'a\0b\377'").await, "a\u{fffd}b\u{fffd}");
}

#[tokio::test]
async fn it_runs_in_the_working_directory_or_one_below() {
    let rig = Rig::new();
    rig.put("below/x", "");
    let work = rig.path("").canonicalize().unwrap();
    assert_eq!(shell(&rig, "pwd").await, work.display().to_string());
    let below = rig.says("shell", json!({ "command": "pwd", "workdir": "below" })).await;
    assert_eq!(below, work.join("below").display().to_string());
    assert_eq!(
        rig.fails("shell", json!({ "command": "pwd", "workdir": ".." })).await.0,
        "FS_OUTSIDE"
    );
}

#[tokio::test]
async fn there_is_no_input_and_no_terminal() {
    let rig = Rig::new();
    assert_eq!(shell(&rig, "cat; (: < /dev/tty) 2>/dev/null || echo none").await, "none");
}

#[tokio::test]
async fn a_flood_keeps_its_ends() {
    let rig = Rig::new();
    let output = rig
        .output("shell", json!({ "command": "echo first; yes | head -c 20000000; echo last" }))
        .await
        .unwrap();
    let said = text(&output);
    assert!(said.len() < 70 << 10, "{}", said.len());
    assert!(said.starts_with("first\ny\n") && said.ends_with("y\nlast"));
    assert!(said.contains("bytes left out here]"));
    let meta: Value = output.meta.unwrap().read().unwrap();
    assert_eq!(meta["omittedBytes"], 20_000_000 + 11 - (64 << 10));
    assert_eq!(meta["exitCode"], 0);
}

#[tokio::test]
async fn what_takes_too_long_is_stopped_with_all_that_it_started() {
    let rig = Rig::new();
    let command = "sleep 1000 & echo $! > child; echo begun; wait";
    let (code, said) =
        rig.fails("shell", json!({ "command": command, "timeout_seconds": 1 })).await;
    assert_eq!(
        (code.as_str(), said.as_str()),
        ("TIMEOUT", "the command was stopped after 1 seconds\nbegun")
    );
    gone(&rig.path("child")).await;
}

#[tokio::test]
async fn a_command_that_ignores_being_asked_is_killed() {
    let rig = Rig::new();
    let command = "trap '' TERM; echo $$ > shell; while :; do sleep 0.1; done";
    assert_eq!(
        rig.fails("shell", json!({ "command": command, "timeout_seconds": 1 })).await.0,
        "TIMEOUT"
    );
    gone(&rig.path("shell")).await;
}

#[tokio::test]
async fn what_is_left_in_the_background_ends_with_the_command() {
    let rig = Rig::new();
    assert_eq!(shell(&rig, "sleep 1000 & echo $! > child; echo done").await, "done");
    gone(&rig.path("child")).await;
}

#[tokio::test]
async fn a_dropped_call_kills_what_it_started() {
    let rig = Rig::new();
    let child = rig.path("child");
    let call = rig
        .output("shell", json!({ "command": "sleep 1000 & echo $! > part; mv part child; wait" }));
    let started = async {
        while !child.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        _ = call => panic!("it does not end by itself"),
        started = tokio::time::timeout(Duration::from_secs(30), started) => started.expect("it starts"),
    }
    gone(&child).await;
}

#[tokio::test]
async fn wrong_times_are_refused() {
    let rig = Rig::new();
    for seconds in [0, 3601] {
        let arguments = json!({ "command": "true", "timeout_seconds": seconds });
        assert_eq!(rig.fails("shell", arguments).await.0, "INVALID_ARGS");
    }
}
