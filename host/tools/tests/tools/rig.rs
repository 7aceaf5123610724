//! A folder with a toolbox on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dsh_agent::{Call, Cancel, Tool, ToolError, ToolOutput, Verdict};
use dsh_session::{Json, SessionId};
use dsh_tools::{Rules, ShellOptions, Toolbox, Workspace};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct Rig {
    /// The working directory is `work` in it, so that there is an outside to protect.
    pub(crate) dir: TempDir,
    pub(crate) toolbox: Toolbox,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::with(Rules::default())
    }

    pub(crate) fn with(rules: Rules) -> Self {
        Self::reaching(rules, &[])
    }

    /// A working directory, and other folders beside it that may be reached.
    pub(crate) fn reaching(rules: Rules, others: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("work")).unwrap();
        let others: Vec<PathBuf> = others.iter().map(|other| dir.path().join(other)).collect();
        others.iter().for_each(|other| fs::create_dir(other).unwrap());
        let workspace = Workspace::new(&dir.path().join("work"), &others).unwrap();
        let toolbox = Toolbox::new(workspace, Arc::new(rules), ShellOptions::default()).unwrap();
        Self { dir, toolbox }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("work").join(name)
    }

    /// Puts a file there, and the folders that it needs.
    pub(crate) fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    fn tool(&self, name: &str) -> Arc<dyn Tool> {
        self.toolbox.tools().into_iter().find(|tool| tool.spec().name == name).unwrap()
    }

    pub(crate) fn call(&self, name: &str, arguments: &Value) -> Call {
        Call {
            session: SessionId::new("s"),
            turn: 1,
            step: 1,
            id: "call".into(),
            name: name.into(),
            arguments: Json::of(arguments).unwrap(),
            read_only: self.tool(name).read_only(),
        }
    }

    pub(crate) async fn output(
        &self,
        name: &str,
        arguments: Value,
    ) -> Result<ToolOutput, ToolError> {
        self.tool(name).run(self.call(name, &arguments), Cancel::never()).await
    }

    /// What the model reads of a call that works.
    pub(crate) async fn says(&self, name: &str, arguments: Value) -> String {
        text(&self.output(name, arguments).await.unwrap())
    }

    /// The code of a call that fails, and what the model reads.
    pub(crate) async fn fails(&self, name: &str, arguments: Value) -> (String, String) {
        let error = self.output(name, arguments).await.unwrap_err();
        (error.code, error.message)
    }

    pub(crate) async fn read(&self, name: &str) -> String {
        self.says("read", json!({ "file_path": name })).await
    }

    pub(crate) async fn verdict(&self, name: &str, arguments: Value) -> Verdict {
        self.toolbox.gate().check(&self.call(name, &arguments)).await.unwrap()
    }
}

pub(crate) fn text(output: &ToolOutput) -> String {
    let texts = output
        .content
        .iter()
        .map(|block| block.read::<Value>().unwrap()["text"].as_str().unwrap().to_owned());
    texts.collect::<Vec<_>>().join("\n")
}

/// A directory, as tests compare them.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
