//! The tools that a turn has: the built-in ones, those of MCP servers, and what stands before them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use dsh_agent::{Approver, Tool, ToolGate};
use dsh_config::{Key, Settings};
use dsh_mcp::Servers;
use dsh_tools::{NAMES, Rule, Rules, ShellOptions, Toolbox, Workspace};
use tokio::sync::mpsc::UnboundedSender;

use crate::args::Tooled;
use crate::aside::{Aside, Asker};
use crate::servers;
use crate::surroundings::Surroundings;

/// The tools that agents get, and what decides about their calls.
#[derive(Clone, Default)]
pub struct Tooling {
    /// What models may call.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Decide about every call.
    pub gates: Vec<Arc<dyn ToolGate>>,
    /// Asks the person; none where nobody is there.
    pub approver: Option<Arc<dyn Approver>>,
}

impl Tooling {
    /// The tools for work in `cwd`, as the settings and the command line say; MCP servers are started.
    ///
    /// # Errors
    /// When a rule, a name or a folder that was said cannot be.
    pub(crate) async fn of(
        asked: &Tooled,
        settings: &Settings,
        around: &Surroundings,
        cwd: &Path,
        asides: UnboundedSender<Aside>,
    ) -> anyhow::Result<Self> {
        let enabled = enabled(asked, settings)?;
        let folders = asked.add_dir.iter().map(|said| around.cwd.join(said));
        let folders: Vec<PathBuf> =
            settings.tools.paths.iter().map(PathBuf::from).chain(folders).collect();
        let workspace = Workspace::new(cwd, &folders)
            .context("a folder cannot be given to tools; --tools none runs without them");
        let servers = servers::of(settings, around, cwd);
        if enabled.is_empty() && servers.is_empty() {
            return Ok(Self::default());
        }
        let toolbox =
            Toolbox::new(workspace?, Arc::new(rules(asked, settings)?), shell(settings, around))?;
        let mut tools = toolbox.tools();
        tools.retain(|tool| enabled.contains(&tool.spec().name));
        let told = asides.clone();
        // Where nobody shows anything any more, nobody is there to be told.
        let notices = Arc::new(move |notice: dsh_mcp::Notice| {
            let _ =
                told.send(Aside::Notice(format!("MCP server {}: {}", notice.server, notice.text)));
        });
        tools.extend(Servers::start(servers, notices).await.tools());
        let asker = |toolbox| Arc::new(Asker { toolbox, asides }) as Arc<dyn Approver>;
        let approver = around.person.is_some().then(|| asker(toolbox.clone()));
        Ok(Self { tools, gates: vec![toolbox.gate()], approver })
    }
}

/// The built-in tools that are on.
fn enabled(asked: &Tooled, settings: &Settings) -> anyhow::Result<Vec<String>> {
    let said = match asked.tools.as_deref() {
        Some("none") => Some(Vec::new()),
        Some(list) => Some(list.split(',').map(|name| name.trim().to_owned()).collect()),
        None => settings.tools.enabled.clone(),
    };
    let Some(said) = said else { return Ok(NAMES.map(str::to_owned).into()) };
    if let Some(wrong) = said.iter().find(|name| !NAMES.contains(&name.as_str())) {
        anyhow::bail!(
            "there is no tool {wrong:?}; there are {}, or `--tools none`",
            NAMES.join(", ")
        );
    }
    Ok(said)
}

/// What settings and command line say together.
fn rules(asked: &Tooled, settings: &Settings) -> anyhow::Result<Rules> {
    let all = |set: &[String], said: &[Rule]| -> anyhow::Result<Vec<Rule>> {
        let set = set.iter().map(|rule| rule.parse().map_err(anyhow::Error::from));
        set.chain(said.iter().cloned().map(Ok)).collect()
    };
    Ok(Rules {
        allow: all(&settings.tools.allow, &asked.allow).context("approval.allow")?,
        ask: all(&settings.tools.ask, &asked.ask).context("approval.ask")?,
        deny: all(&settings.tools.deny, &asked.deny).context("approval.deny")?,
    })
}

/// The shell that commands get: without the variables that hold keys.
fn shell(settings: &Settings, around: &Surroundings) -> ShellOptions {
    let usual = ShellOptions::default();
    let bash =
        ["/bin/bash", "/usr/bin/bash"].into_iter().map(PathBuf::from).find(|path| path.exists());
    let keys = around.variables.iter().map(|(name, _)| name.clone());
    let mut withheld: Vec<String> = keys.filter(|name| name.ends_with("_API_KEY")).collect();
    if let Some(Key::Variable(name)) = &settings.model.key {
        withheld.push(name.clone());
    }
    ShellOptions {
        program: bash.unwrap_or(usual.program),
        seconds: settings.tools.shell_seconds.unwrap_or(usual.seconds),
        withheld,
    }
}
