//! Servers that do not behave hurt nobody else.

use std::path::Path;
use std::time::Duration;

use dsh_mcp::{Limits, Server};
use serde_json::json;

use crate::Check;
use crate::rig::Rig;

pub(crate) const ALL: &[Check] = &[
    ("those_that_do_not_start_stand_in_nobodys_way", || {
        Box::pin(those_that_do_not_start_stand_in_nobodys_way())
    }),
    ("a_long_list_is_cut", || Box::pin(a_long_list_is_cut())),
    ("a_list_without_an_end_is_cut", || Box::pin(a_list_without_an_end_is_cut())),
    ("tools_that_cannot_be_are_left_out", || Box::pin(tools_that_cannot_be_are_left_out())),
    ("garbage_between_messages_is_passed_over", || {
        Box::pin(garbage_between_messages_is_passed_over())
    }),
    ("one_that_dies_is_started_again", || Box::pin(one_that_dies_is_started_again())),
    ("one_that_always_dies_is_given_up", || Box::pin(one_that_always_dies_is_given_up())),
    ("one_that_floods_is_stopped", || Box::pin(one_that_floods_is_stopped())),
    ("a_call_that_takes_too_long_is_cancelled", || {
        Box::pin(a_call_that_takes_too_long_is_cancelled())
    }),
    ("a_dropped_call_is_cancelled", || Box::pin(a_dropped_call_is_cancelled())),
    ("dropped_servers_are_gone", || Box::pin(dropped_servers_are_gone())),
];

fn hasty(server: Server) -> Server {
    let limits = Limits { start: Duration::from_secs(2), ..server.limits };
    // Only those that are meant to fail get less time.
    if matches!(server.name.as_str(), "hangs") { Server { limits, ..server } } else { server }
}

async fn those_that_do_not_start_stand_in_nobodys_way() {
    let rig = Rig::with(&["hangs", "dies", "endless-line", "plain"], hasty).await;
    assert_eq!(rig.names().len(), 4, "{:?}", rig.names());
    assert_eq!(rig.call("plain__echo", json!({})).await.unwrap(), "echo {}");
    let notices = rig.notices();
    let said = |part: &str| {
        assert!(notices.iter().any(|notice| notice.contains(part)), "{part}: {notices:#?}")
    };
    said(
        "hangs: it gives no tools: it did not say within 2 seconds which tools it has; its standard error ends in: waiting for the database",
    );
    said("its standard error ends in: no token is set");
    said("endless-line: it gives no tools: its handshake failed");
    said("it said more than it may, and was stopped");
    let states: Vec<(&str, bool)> =
        rig.servers.states().iter().map(|(name, state)| (name.as_str(), state.is_ok())).collect();
    assert_eq!(
        states,
        [("hangs", false), ("dies", false), ("endless-line", false), ("plain", true)]
    );
}

async fn a_long_list_is_cut() {
    let rig = Rig::of("many").await;
    assert_eq!(rig.names().len(), 128);
    assert_eq!(rig.notices(), ["many: it has more than 128 tools; only the first 128 are used"]);
    assert_eq!(rig.call("many__t127", json!({})).await.unwrap(), "t127 {}");
}

async fn a_list_without_an_end_is_cut() {
    let rig = Rig::of("endless").await;
    assert_eq!(rig.names().len(), 100);
    let rig = Rig::of("empty-pages").await;
    assert_eq!(rig.names().len(), 0);
}

async fn tools_that_cannot_be_are_left_out() {
    let rig = Rig::of("lies").await;
    assert_eq!(rig.names(), ["lies__long"]);
    assert!(rig.tool("lies__long").spec().description.len() <= 4096);
    assert_eq!(rig.tool("lies__long").spec().parameters.as_str(), r#"{"type":"object"}"#);
    assert_eq!(rig.notices().len(), 3, "{:#?}", rig.notices());
}

async fn garbage_between_messages_is_passed_over() {
    let rig = Rig::of("garbage").await;
    assert_eq!(rig.call("garbage__echo", json!({})).await.unwrap(), "echo {}");
}

async fn one_that_dies_is_started_again() {
    let rig = Rig::of("plain").await;
    let error = rig.call("plain__die", json!({})).await.unwrap_err();
    assert_eq!(error.code, "DIED");
    assert!(error.message.contains("what the call did is unknown"), "{error}");
    assert_eq!(deaths(rig.dir.path()), 1, "the call is not made again");
    assert_eq!(rig.call("plain__echo", json!({})).await.unwrap(), "echo {}");
    let notices = rig.notices();
    assert_eq!(
        notices,
        [
            "plain: it has ended and is started again (1 of 3); its standard error ends in: out of luck"
        ]
    );
}

async fn one_that_always_dies_is_given_up() {
    let rig = Rig::with(&["frail", "plain"], |server| server).await;
    for _ in 0..4 {
        assert_eq!(rig.call("frail__echo", json!({})).await.unwrap_err().code, "DIED");
    }
    let error = rig.call("frail__echo", json!({})).await.unwrap_err();
    assert_eq!(error.code, "UNAVAILABLE");
    assert!(error.message.contains("it died 4 times in a row and is not started again"), "{error}");
    assert_eq!(deaths(rig.dir.path()), 4);
    assert_eq!(rig.call("plain__echo", json!({})).await.unwrap(), "echo {}");
}

async fn one_that_floods_is_stopped() {
    let little = |server: Server| {
        let limits = Limits { said: 1 << 20, ..server.limits };
        Server { limits, ..server }
    };
    let rig = Rig::with(&["floods"], little).await;
    let error = rig.call("floods__echo", json!({})).await.unwrap_err();
    assert_eq!(error.code, "DIED");
    assert!(error.message.contains("it said more than it may"), "{error}");
}

async fn a_call_that_takes_too_long_is_cancelled() {
    let short = |server: Server| {
        let limits = Limits { call: Duration::from_millis(300), ..server.limits };
        Server { limits, ..server }
    };
    let rig = Rig::with(&["silent"], short).await;
    let error = rig.call("silent__echo", json!({})).await.unwrap_err();
    assert_eq!(error.code, "TIMEOUT");
    cancelled(rig.dir.path()).await;
}

async fn a_dropped_call_is_cancelled() {
    let rig = Rig::of("silent").await;
    let sent = received(rig.dir.path(), "tools/call");
    tokio::select! {
        answer = rig.call("silent__echo", json!({})) => panic!("{answer:?}"),
        () = sent => {}
    }
    cancelled(rig.dir.path()).await;
}

async fn dropped_servers_are_gone() {
    let rig = Rig::of("plain").await;
    // It ends when its input does, or is killed; either way its end of a pipe closes.
    let fifo = rig.dir.path().join("received");
    assert!(fifo.exists());
    let id = alive(rig.dir.path());
    assert_eq!(id.len(), 1);
    let dir = rig.dir;
    drop(rig.servers);
    let gone = async {
        while !alive(dir.path()).is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), gone).await.expect("the server ends");
}

fn deaths(folder: &Path) -> usize {
    std::fs::read_to_string(folder.join("deaths")).unwrap_or_default().len()
}

async fn cancelled(folder: &Path) {
    received(folder, "notifications/cancelled").await;
}

/// Waits until the server has received something that holds this.
async fn received(folder: &Path, part: &str) {
    let file = folder.join("received");
    let looked = async {
        while !std::fs::read_to_string(&file).unwrap_or_default().contains(part) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), looked)
        .await
        .unwrap_or_else(|_| panic!("{part} arrives"));
}

/// The processes that were started on this folder, and run.
fn alive(folder: &Path) -> Vec<String> {
    let listed =
        std::process::Command::new("ps").args(["-A", "-o", "pid=,stat=,args="]).output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let folder = folder.to_str().unwrap();
    let ours = |line: &&str| {
        line.contains(folder)
            && !line.split_whitespace().nth(1).is_some_and(|stat| stat.starts_with('Z'))
    };
    listed.lines().filter(ours).map(str::to_owned).collect()
}
