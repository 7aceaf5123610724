//! Servers that behave: tools, names, hints, results.

use serde_json::{Value, json};

use crate::Check;
use crate::rig::{Rig, raw};

pub(crate) const ALL: &[Check] = &[
    ("tools_are_named_after_their_server", || Box::pin(tools_are_named_after_their_server())),
    ("a_hint_is_believed_where_the_server_is_trusted", || {
        Box::pin(a_hint_is_believed_where_the_server_is_trusted())
    }),
    ("a_call_reaches_the_server_and_its_result_the_model", || {
        Box::pin(a_call_reaches_the_server_and_its_result_the_model())
    }),
    ("a_server_gets_the_environment_it_was_given", || {
        Box::pin(a_server_gets_the_environment_it_was_given())
    }),
];

async fn tools_are_named_after_their_server() {
    let rig = Rig::with(&["plain", "plain"], |server| server).await;
    let names = rig.names();
    assert_eq!(names[..3], ["plain__echo", "plain__change", "plain__die"]);
    assert!(names[3].starts_with("plain__odd_name___"), "{names:?}");
    assert_eq!(names.len(), 8);
    let apart: std::collections::HashSet<&String> = names.iter().collect();
    assert_eq!(apart.len(), 8, "{names:?}");
    assert_eq!(rig.notices(), [""; 0]);
    let spec = rig.tool("plain__echo").spec().clone();
    assert_eq!(
        (spec.description.as_str(), spec.parameters.as_str()),
        ("Does echo.", r#"{"type":"object"}"#)
    );
}

async fn a_hint_is_believed_where_the_server_is_trusted() {
    let rig = Rig::of("plain").await;
    assert!(!rig.tool("plain__echo").read_only());
    let rig = Rig::with(&["plain"], |server| dsh_mcp::Server { trusted: true, ..server }).await;
    assert!(rig.tool("plain__echo").read_only());
    assert!(!rig.tool("plain__change").read_only());
}

async fn a_call_reaches_the_server_and_its_result_the_model() {
    let rig = Rig::of("plain").await;
    assert_eq!(
        rig.call("plain__echo", json!({ "a": "日本" })).await.unwrap(),
        r#"echo {"a":"日本"}"#
    );
    let odd = rig.names()[3].clone();
    assert_eq!(rig.call(&odd, json!({})).await.unwrap(), "odd name/é {}");
    let rig = Rig::of("fails").await;
    let error = rig.call("fails__echo", json!({})).await.unwrap_err();
    assert_eq!((error.code.as_str(), error.message.as_str()), ("TOOL_ERROR", "not today"));
    let rig = Rig::of("shouts").await;
    let text = rig.call("shouts__echo", json!({})).await.unwrap();
    assert!(text.len() < 70 << 10 && text.ends_with("more bytes left out]"), "{}", text.len());
}

async fn a_server_gets_the_environment_it_was_given() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = raw("plain", dir.path());
    let shell = "env > env; exec \"$0\" serve plain .".to_owned();
    let dsh_mcp::Transport::Process { words, env, .. } = &mut server.transport else {
        unreachable!()
    };
    *words = vec!["/bin/sh".into(), "-c".into(), shell, words[0].clone()];
    *env = vec![("TOKEN".into(), "t".into()), ("PATH".into(), "/usr/bin:/bin".into())];
    let rig = Rig::start(vec![server]).await;
    assert_eq!(rig.call("plain__echo", json!({})).await.unwrap(), "echo {}");
    let env = std::fs::read_to_string(dir.path().join("env")).unwrap();
    let names: Vec<&str> = env.lines().filter_map(|line| line.split('=').next()).collect();
    assert!(names.contains(&"TOKEN"), "{names:?}");
    // Those that the shell sets itself.
    assert!(
        names.iter().all(|name| ["TOKEN", "PATH", "PWD", "OLDPWD", "SHLVL", "_"].contains(name)),
        "{names:?}"
    );
    let received = std::fs::read_to_string(dir.path().join("received")).unwrap();
    let first: Value = serde_json::from_str(received.lines().next().unwrap()).unwrap();
    assert_eq!(first["params"]["capabilities"], json!({}), "nothing of ours is offered");
}
