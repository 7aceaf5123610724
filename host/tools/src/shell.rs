//! `shell`: one command of a shell.

use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dsh_agent::{Call, Cancel, Tool, ToolError, ToolOutput, ToolSpec};
use dsh_session::Json;
use serde::Deserialize;
use tokio::process::Command;

use crate::change::Files;
use crate::process::{Ended, run};
use crate::spec::{arguments, spec};

/// Longest time that a call may ask for, in seconds.
const LONGEST: u64 = 3600;

/// Most bytes of output that are kept.
const MOST: usize = 64 << 10;

const DESCRIPTION: &str = "Run a command and get what it writes to both outputs, with its exit code where it is not 0. \
Each call is a new shell in the working directory: directory changes and variables do not last. \
There is no terminal and no standard input. What the command leaves running is ended with it. \
Long output loses its middle.";

const PARAMETERS: &str = r#"{
  "type": "object",
  "properties": {
    "command": {"type": "string", "description": "The command line."},
    "workdir": {"type": "string", "description": "The folder to run it in. Default: the working directory."},
    "timeout_seconds": {"type": "integer", "minimum": 1, "maximum": 3600, "description": "When it is stopped. Default: DEFAULT."}
  },
  "required": ["command"],
  "additionalProperties": false
}"#;

/// Which shell, and what it gets.
#[derive(Clone, Debug)]
pub struct ShellOptions {
    /// A POSIX shell; it is called with `-c` and the command.
    pub program: PathBuf,
    /// How long a command may take that asks for no time of its own, in seconds; at most an hour.
    pub seconds: u64,
    /// Variables of our environment that commands do not get, such as those that hold a model's key.
    pub withheld: Vec<String>,
}

impl Default for ShellOptions {
    fn default() -> Self {
        Self { program: "/bin/sh".into(), seconds: 120, withheld: Vec::new() }
    }
}

/// Runs commands.
pub(crate) struct Shell {
    spec: ToolSpec,
    files: Arc<Files>,
    options: ShellOptions,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    pub(crate) command: String,
    pub(crate) workdir: Option<String>,
    timeout_seconds: Option<u64>,
}

impl Shell {
    pub(crate) fn new(
        files: Arc<Files>,
        mut options: ShellOptions,
    ) -> Result<Self, serde_json::Error> {
        options.seconds = options.seconds.clamp(1, LONGEST);
        let parameters = PARAMETERS.replace("DEFAULT", &options.seconds.to_string());
        let description = format!("{DESCRIPTION} The shell is {}.", options.program.display());
        Ok(Self { spec: spec("shell", &description, &parameters)?, files, options })
    }
}

#[async_trait]
impl Tool for Shell {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, call: Call, _: Cancel) -> Result<ToolOutput, ToolError> {
        let Arguments { command, workdir, timeout_seconds } = arguments(&call)?;
        let seconds = timeout_seconds.unwrap_or(self.options.seconds);
        if !(1..=LONGEST).contains(&seconds) {
            return Err(ToolError::arguments(&format!("`timeout_seconds` must be 1 to {LONGEST}")));
        }
        if command.contains('\0') {
            return Err(ToolError::arguments("`command` holds a NUL character"));
        }
        let folder = self.files.workspace.place(workdir.as_deref().unwrap_or("."))?;
        folder.is_folder()?;
        let mut shell = Command::new(&self.options.program);
        shell.arg("-c").arg(&command).current_dir(&folder.real);
        for name in &self.options.withheld {
            shell.env_remove(name);
        }
        let ended = run(shell, Duration::from_secs(seconds), MOST).await.map_err(|error| {
            let program = self.options.program.display();
            ToolError::new(
                "ShellError",
                "NOT_STARTED",
                &format!("{program} cannot be run: {error}"),
            )
        })?;
        let Ended { status, output } = ended;
        let omitted = output.omitted;
        let mut text = output.text();
        text.truncate(text.trim_end_matches('\n').len());
        let Some(status) = status else {
            let said = format!("the command was stopped after {seconds} seconds\n{text}");
            return Err(ToolError::new("ShellError", "TIMEOUT", said.trim_end()));
        };
        let meta = serde_json::json!({
            "command": command, "cwd": folder.shown, "exitCode": status.code(), "omittedBytes": omitted
        });
        let meta = Json::of(&meta).map_err(|error| ToolError::arguments(&error.to_string()))?;
        Ok(ToolOutput { meta: Some(meta), ..ToolOutput::text(&told(text, status))? })
    }
}

fn told(mut text: String, status: ExitStatus) -> String {
    let end = match (status.code(), status.signal()) {
        (Some(0), _) if text.is_empty() => "[no output]".to_owned(),
        (Some(0), _) => return text,
        (Some(code), _) => format!("[exit code: {code}]"),
        (None, signal) => format!("[killed by signal {}]", signal.unwrap_or_default()),
    };
    if !text.is_empty() {
        text.push('\n');
    }
    text + &end
}
