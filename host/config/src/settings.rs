//! The settings that hold, as those who use them want them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::held::{Held, unfit};
use crate::layers::server;
use crate::{ConfigError, Entry, Secret, Standing};

/// Everything that is set. A field that is none leaves the choice to whoever uses it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder of sessions.
    pub root: Option<PathBuf>,
    /// How new logs are written: `zstd` or `raw`.
    pub encoding: Option<String>,
    /// Who answers.
    pub model: Model,
    /// What the model may do.
    pub tools: Tools,
    /// MCP servers, by name.
    pub mcp: BTreeMap<String, Server>,
    /// Plugins.
    pub plugins: Plugins,
    /// Where spans go: the base URL of an OpenTelemetry collector.
    pub telemetry: Option<String>,
    /// Instruction files.
    pub instructions: Instructions,
    /// Summing up.
    pub compaction: Compaction,
    /// How context messages are logged: `user/message` or `context/message`.
    pub context_event: String,
    entries: Vec<(Entry, Standing)>,
}

/// The model and its service.
#[derive(Clone, Debug)]
pub struct Model {
    /// As `run --model` takes it.
    pub name: String,
    /// A service that is known by name.
    pub provider: Option<String>,
    /// Where the service is.
    pub base_url: Option<String>,
    /// Where its key comes from.
    pub key: Option<Key>,
    /// Further headers.
    pub headers: BTreeMap<String, Secret>,
    /// Tokens that it can read.
    pub context_window: Option<u64>,
    /// Most tokens of a reply.
    pub max_tokens: Option<u64>,
    /// In the service's own word.
    pub reasoning_effort: Option<String>,
    /// Seconds until an answer has to begin.
    pub first_byte_seconds: Option<u64>,
    /// Seconds of silence within an answer.
    pub idle_seconds: Option<u64>,
    /// How often a request is sent at most.
    pub attempts: Option<u64>,
}

/// Where a service's key comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Key {
    /// It is this.
    Given(Secret),
    /// It is in the variable of this name.
    Variable(String),
    /// A command prints it.
    Command {
        /// The program and its arguments.
        words: Vec<String>,
        /// The folder that it is started in; none is the current one.
        folder: Option<PathBuf>,
    },
}

/// Tools and what is asked before one runs.
#[derive(Clone, Debug)]
pub struct Tools {
    /// The built-in ones that the model has; none is every one.
    pub enabled: Option<Vec<String>>,
    /// Folders that they may reach beside the session's.
    pub paths: Vec<String>,
    /// How long a shell command may take, in seconds.
    pub shell_seconds: Option<u64>,
    /// Rules of calls that nobody is asked about.
    pub allow: Vec<String>,
    /// Rules of calls that somebody is asked about.
    pub ask: Vec<String>,
    /// Rules of calls that are denied.
    pub deny: Vec<String>,
}

/// An MCP server.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// How it is reached.
    pub transport: Transport,
    /// Whether it is believed when it says that a tool only reads.
    pub trusted: bool,
    /// Whether it is started.
    pub enabled: bool,
    /// How long a call may take, in seconds.
    pub seconds: Option<u64>,
}

/// How an MCP server is reached.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    /// It is started.
    Command {
        /// The program and its arguments.
        words: Vec<String>,
        /// The folder that it is started in; none is the current one.
        folder: Option<PathBuf>,
        /// Variables that it gets.
        env: BTreeMap<String, Secret>,
    },
    /// It is somewhere.
    Url {
        /// Where.
        url: String,
        /// Headers of each request.
        headers: BTreeMap<String, Secret>,
    },
}

/// Installed plugins.
#[derive(Clone, Debug)]
pub struct Plugins {
    /// Their folder.
    pub dir: Option<PathBuf>,
    /// Whether none is started.
    pub safe: bool,
}

/// Instruction files.
#[derive(Clone, Debug)]
pub struct Instructions {
    /// Whether they are given to the model.
    pub enabled: bool,
    /// Their names, the first of a folder that is there counts.
    pub files: Vec<String>,
    /// Most bytes of all together.
    pub max_bytes: u64,
    /// Most bytes of one.
    pub max_file_bytes: u64,
}

/// Summing up long conversations.
#[derive(Clone, Copy, Debug)]
pub struct Compaction {
    /// Whether it happens by itself.
    pub auto: bool,
    /// The part of the window that may be full.
    pub threshold: f64,
    /// The part of the window that stays word for word.
    pub retain: f64,
    /// Most tokens of a summary.
    pub max_tokens: u64,
}

impl Settings {
    /// What is set where, and whether it holds; the catalogue's order, lower layers first.
    pub fn entries(&self) -> impl Iterator<Item = (&Entry, Standing)> {
        self.entries.iter().map(|(entry, standing)| (entry, *standing))
    }

    pub(crate) fn of(mut entries: Vec<(Entry, Standing)>) -> Result<Self, ConfigError> {
        let place = |entry: &Entry| {
            let rows = crate::ROWS.iter().position(|row| row.is(&entry.key));
            (server(&entry.key).map(str::to_owned), rows)
        };
        entries.sort_by_key(|(entry, _)| {
            let (server, row) = place(entry);
            // Servers stay together, where the first row of servers stands.
            let first = crate::ROWS.iter().position(|row| row.name.starts_with("mcp."));
            (if server.is_some() { first } else { row }, server, row)
        });
        let held = Held(&entries);
        let settings = Self {
            root: held.path("root"),
            encoding: held.text("encoding"),
            model: held.model()?,
            tools: Tools {
                enabled: held.list("tools.enabled"),
                paths: held.list("tools.paths").unwrap_or_default(),
                shell_seconds: held.integer("tools.shell-seconds"),
                allow: held.rules("approval.allow"),
                ask: held.rules("approval.ask"),
                deny: held.rules("approval.deny"),
            },
            mcp: held.servers()?,
            plugins: Plugins {
                dir: held.path("plugins.dir"),
                safe: held.boolean("plugins.safe").unwrap_or(false),
            },
            telemetry: held.text("telemetry.endpoint"),
            instructions: Instructions {
                enabled: held.boolean("instructions.enabled").unwrap_or(true),
                files: held.list("instructions.files").unwrap_or_default(),
                max_bytes: held.integer("instructions.max-bytes").unwrap_or_default(),
                max_file_bytes: held.integer("instructions.max-file-bytes").unwrap_or_default(),
            },
            compaction: Compaction {
                auto: held.boolean("compaction.auto").unwrap_or(true),
                threshold: held.ratio("compaction.threshold").unwrap_or_default(),
                retain: held.ratio("compaction.retain").unwrap_or_default(),
                max_tokens: held.integer("compaction.max-tokens").unwrap_or_default(),
            },
            context_event: held.text("side.context-event").unwrap_or_default(),
            entries: Vec::new(),
        };
        let Compaction { threshold, retain, .. } = settings.compaction;
        if retain >= threshold {
            let last = held.entry("compaction.retain").or(held.entry("compaction.threshold"));
            return Err(unfit(
                last,
                format!(
                    "`compaction.retain` ({retain}) must be smaller than `compaction.threshold` ({threshold})"
                ),
            ));
        }
        Ok(Self { entries, ..settings })
    }
}
