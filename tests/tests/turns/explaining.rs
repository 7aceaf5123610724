//! `plugin explain`: a turn, plugin by plugin, and its requests to the byte.

use std::fs;

use dsh_plugin_host::Manifest;
use dsh_session::Encoding;
use dsh_tests::Rig;
use dsh_wasm::Exit;
use program_tests as programs;
use serde_json::{Value, json};

use crate::desk::Desk;

/// Installs a program as a plugin that may change what was typed.
async fn installed(desk: &Desk, id: &str, program: &str) {
    let manifest = format!(
        "id = '{id}'\nversion = '1'\ncomponent = 'it.wasm'\n[declares]\n\
         imports = ['dsh:session/query']\nrewrite-user = true\n\
         sessions = {{ titles = 'all', texts = 'all' }}\n"
    );
    let wasm = Manifest::embed(&manifest, &fs::read(program).unwrap()).unwrap();
    fs::write(desk.path("project/it.wasm"), wasm).unwrap();
    let ran = desk.run(&["plugin", "add", "it.wasm", "--grant", "all"]).await;
    assert_eq!(ran.exit, Ok(Exit::Done), "{}{}", ran.out, ran.err);
}

async fn explained(desk: &Desk, args: &[&str]) -> Result<String, String> {
    let root = desk.path("sessions");
    let explain = ["plugin", "explain", "--root", root.to_str().unwrap()];
    let ran = desk.run(&[&explain, args].concat()).await;
    ran.exit.map(|_| ran.out)
}

async fn explained_json(desk: &Desk, args: &[&str]) -> Value {
    let out = explained(desk, &[&["--json"], args].concat()).await.unwrap();
    serde_json::from_str(&out).unwrap()
}

/// The ways in which the parts of every request add up to it.
fn check_sums(explained: &Value) {
    for request in explained["requests"].as_array().unwrap() {
        let sum = |parts: &str| -> u64 {
            let parts = request[parts].as_array().unwrap().iter();
            parts.map(|part| part["bytes"].as_u64().unwrap()).sum()
        };
        let (whole, header) = (&request["bytes"], request["headerBytes"].as_u64().unwrap());
        assert_eq!(whole.as_u64(), Some(header + sum("messages")), "{request}");
        assert_eq!(whole.as_u64(), Some(header + sum("shares")), "{request}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_byte_of_a_request_is_somebodys() {
    let desk = Desk::new(&[("project/AGENTS.md", "Be kind.")]);
    installed(&desk, "outer", programs::PASSES).await;
    installed(&desk, "inner", programs::REWRITES).await;
    let (session, mut messages) = desk.messages(&["hello"]).await;
    // The request is what stands before its reply.
    messages.pop().unwrap();

    let told = explained_json(&desk, &[&session]).await;
    check_sums(&told);
    let [request] = told["requests"].as_array().unwrap().as_slice() else { panic!("{told}") };
    let sizes: Vec<usize> = messages.iter().map(|message| message.to_string().len()).collect();
    let parts = request["messages"].as_array().unwrap();
    let bytes: Vec<Value> = parts.iter().map(|part| part["bytes"].clone()).collect();
    assert_eq!(json!(bytes), json!(sizes));
    let root = desk.path("sessions");
    let shown = ["show", "--request", "--json", "--root", root.to_str().unwrap(), &session];
    let shown: Value = serde_json::from_str(&desk.run(&shown).await.out).unwrap();
    assert_eq!(request["headerBytes"], shown["header"].to_string().len());

    let prompt = messages.iter().find(|message| message["source"]["kind"] == "user").unwrap();
    let change = json!([{
        "plugins": ["inner"], "step": 1, "did": "changed", "message": prompt["id"],
        "typedBytes": 5, "textBytes": 7, "reason": null,
    }]);
    assert_eq!(told["changes"], change);
    let ran = |told: &Value| -> Vec<String> {
        let calls = told["calls"].as_array().unwrap().iter();
        let own = calls.filter(|call| call["plugin"] == "outer" || call["plugin"] == "inner");
        own.map(|call| call["plugin"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ran(&told), ["inner", "outer"]);
    assert_eq!(told["audit"][0]["what"], "changed", "{told}");

    let text = explained(&desk, &[&session, "1"]).await.unwrap();
    assert!(text.contains("inner changed") && text.contains("5 bytes of text to 7"), "{text}");
    assert!(text.contains("you, changed by inner: 1 message"), "{text}");
    assert!(text.contains("instruction files: 1 message"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_there_is_none_of_and_one_without_plugins_are_told_plainly() {
    let desk = Desk::new(&[]);
    let (session, _) = desk.messages(&["--safe", "hello"]).await;
    let missing = explained(&desk, &[&session, "7"]).await.unwrap_err();
    assert!(missing.contains("has no turn 7; its latest is turn 1"), "{missing}");
    assert!(explained(&desk, &["nobody", "1"]).await.unwrap_err().contains("no session"));
    let text = explained(&desk, &[&session]).await.unwrap();
    assert!(text.contains("which keeps the calls"), "{text}");
    assert!(text.contains("as the log says\n  nothing\n"), "{text}");
    assert!(text.contains("no audit file is there"), "{text}");
    let told = explained_json(&desk, &[&session]).await;
    assert_eq!((&told["calls"], &told["audit"]), (&Value::Null, &Value::Null), "{told}");
    check_sums(&told);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejection_names_its_plugin_and_made_no_request() {
    let desk = Desk::new(&[]);
    installed(&desk, "gate", programs::REJECTS).await;
    let root = desk.path("sessions");
    let ran = desk.run(&["run", "--json", "--root", root.to_str().unwrap(), "hello"]).await;
    assert_eq!(ran.exit, Ok(Exit::TurnBlocked), "{}", ran.err);
    let first: Value = serde_json::from_str(ran.out.lines().next().unwrap()).unwrap();
    let session = first["session"].as_str().unwrap();
    let told = explained_json(&desk, &[session]).await;
    assert_eq!((&told["requests"], &told["end"]["outcome"]), (&json!([]), &json!("blocked")));
    let change = &told["changes"][0];
    assert_eq!((&change["plugins"], &change["did"]), (&json!(["gate"]), &json!("rejected")));
    let text = explained(&desk, &[session]).await.unwrap();
    assert!(text.contains("gate let no step begin: not now"), "{text}");
    assert!(text.contains("no request was made"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_of_a_recorded_session_is_the_surface_before_its_reply() {
    let Some(rig) = Rig::recorded(Encoding::Raw).await else { return };
    let (desk, root) = (Desk::new(&[]), rig.root().to_str().unwrap());
    for session in ["plain-turns", "tools-basic", "compact-twice", "no-cwd-fork"] {
        let explain = ["plugin", "explain", "--json", "--root", root, session];
        let told: Value = serde_json::from_str(&desk.run(&explain).await.out).unwrap();
        check_sums(&told);
        let request = told["requests"].as_array().unwrap().last().unwrap();
        let parts = request["messages"].as_array().unwrap();
        let surface = desk.run(&["show", "--surface", "--json", "--root", root, session]).await.out;
        let before = surface.lines().take(parts.len()).map(|line| {
            let node: Value = serde_json::from_str(line).unwrap();
            (node["seq"].clone(), json!(node["message"].to_string().len()))
        });
        let parts = parts.iter().map(|part| (part["seq"].clone(), part["bytes"].clone()));
        assert!(parts.len() > 0 && parts.len() < surface.lines().count(), "{session}: {told}");
        assert_eq!(parts.collect::<Vec<_>>(), before.collect::<Vec<_>>(), "{session}");
    }
}
