//! A server written with the TypeScript SDK, where it is here: `DSH_MCP_SDK` names the folder it was installed in.

use std::path::Path;
use std::time::Duration;

use dsh_mcp::{Limits, Server, Transport};
use serde_json::json;

use crate::Check;
use crate::rig::Rig;

pub(crate) const ALL: &[Check] =
    &[("a_server_of_another_sdk_works", || Box::pin(a_server_of_another_sdk_works()))];

#[expect(clippy::disallowed_methods, reason = "a variable names the SDK")]
async fn a_server_of_another_sdk_works() {
    let Ok(sdk) = std::env::var("DSH_MCP_SDK") else {
        return println!("skipped: DSH_MCP_SDK is not set");
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers/sdk.mjs");
    let words = vec!["node".into(), script.to_str().unwrap().into(), sdk];
    let env = vec![("PATH".into(), std::env::var("PATH").unwrap())];
    let transport = Transport::Process { words, env, folder: "/".into() };
    let limits = Limits { start: Duration::from_secs(60), ..Limits::default() };
    let rig =
        Rig::start(vec![Server { name: "node".into(), transport, trusted: true, limits }]).await;
    assert_eq!(rig.names(), ["node__add", "node__fail"], "{:?}", rig.notices());
    assert!(rig.tool("node__add").read_only() && !rig.tool("node__fail").read_only());
    assert!(rig.tool("node__add").spec().parameters.as_str().contains(r#""a":{"#));
    assert_eq!(rig.call("node__add", json!({ "a": 2, "b": 3 })).await.unwrap(), "5 日本");
    assert_eq!(rig.call("node__fail", json!({})).await.unwrap_err().message, "it cannot be done");
    let wrong = rig.call("node__add", json!({ "a": "two", "b": 3 })).await.unwrap_err();
    assert!(wrong.message.contains("nvalid"), "{wrong}");
}
