//! Servers that were started, and what the tests ask of them.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dsh_agent::{Call, Cancel, Tool, ToolError};
use dsh_mcp::{Limits, Notice, Server, Servers, Transport};
use dsh_session::{Json, SessionId};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) struct Rig {
    pub(crate) dir: TempDir,
    pub(crate) servers: Servers,
    notices: Arc<Mutex<Vec<Notice>>>,
}

/// A server of this program's, that behaves in this manner and writes to this folder.
pub(crate) fn raw(manner: &str, folder: &Path) -> Server {
    let program = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    let words = vec![program, "serve".into(), manner.into(), folder.to_str().unwrap().into()];
    let transport = Transport::Process { words, env: Vec::new(), folder: folder.into() };
    let limits = Limits {
        call: Duration::from_secs(30),
        start: Duration::from_secs(30),
        ..Limits::default()
    };
    Server { name: manner.into(), transport, trusted: false, limits }
}

impl Rig {
    /// One server in this manner.
    pub(crate) async fn of(manner: &str) -> Self {
        Self::with(&[manner], |server| server).await
    }

    /// Servers in these manners, each changed so.
    pub(crate) async fn with(manners: &[&str], change: impl Fn(Server) -> Server) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let servers = manners.iter().map(|manner| change(raw(manner, dir.path()))).collect();
        Self { dir, ..Self::start(servers).await }
    }

    pub(crate) async fn start(servers: Vec<Server>) -> Self {
        let notices: Arc<Mutex<Vec<Notice>>> = Arc::default();
        let heard = Arc::clone(&notices);
        let servers =
            Servers::start(servers, Arc::new(move |notice| heard.lock().unwrap().push(notice)))
                .await;
        Self { dir: tempfile::tempdir().unwrap(), servers, notices }
    }

    pub(crate) fn notices(&self) -> Vec<String> {
        self.notices
            .lock()
            .unwrap()
            .iter()
            .map(|notice| format!("{}: {}", notice.server, notice.text))
            .collect()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.servers.tools().iter().map(|tool| tool.spec().name.clone()).collect()
    }

    pub(crate) fn tool(&self, name: &str) -> Arc<dyn Tool> {
        let found = self.servers.tools().into_iter().find(|tool| tool.spec().name == name);
        found.unwrap_or_else(|| panic!("no {name} among {:?}, {:?}", self.names(), self.notices()))
    }

    /// What the model reads.
    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Result<String, ToolError> {
        let tool = self.tool(name);
        let call = Call {
            session: SessionId::new("s"),
            turn: 1,
            step: 1,
            id: "call".into(),
            name: name.into(),
            arguments: Json::of(&arguments).unwrap(),
            read_only: tool.read_only(),
        };
        let output = tool.run(call, Cancel::never()).await?;
        Ok(output.content[0].read::<Value>().unwrap()["text"].as_str().unwrap().to_owned())
    }
}
