//! What can be asked about plugins.

use clap::{Args, Subcommand};

use super::Common;

/// What can be asked about plugins.
#[derive(Debug, Subcommand)]
#[command(after_help = PATH)]
pub enum Plugin {
    /// Lists the plugins in the order of the chain.
    List {
        /// Answers as JSON, for programs.
        #[arg(long)]
        json: bool,
    },
    /// Installs a plugin from a component, a folder that you work on, or an OCI registry.
    ///
    /// It gets nothing but what --grant says. Where it cannot run without more, it stays disabled.
    Add(Add),
    /// Shows what a plugin wants and is, without running it: one that is there, or a PATH or REFERENCE.
    Inspect(Named),
    /// Says whether a plugin fits this host, and what is missing if not: one that is there, or a PATH or REFERENCE.
    Check(Named),
    /// Grants a plugin what it wants.
    #[command(after_help = GRANTS)]
    Grant(Granted),
    /// Takes back what a plugin was granted.
    #[command(after_help = GRANTS)]
    Revoke(Granted),
    /// Lets a plugin run.
    Enable {
        /// Its id.
        id: String,
    },
    /// Keeps a plugin from running; what it was granted and set to stays.
    Disable {
        /// Its id.
        id: String,
    },
    /// Lets a plugin out of quarantine.
    Release {
        /// Its id.
        id: String,
    },
    /// Removes a plugin, what it was granted and what it was set to.
    Remove {
        /// Its id.
        id: String,
    },
    /// Takes up what changed in the folders that are worked on; programs that run take it up by themselves.
    Reload,
    /// Puts the plugins in order, the first outermost.
    Order {
        /// The ids of all of them, each once.
        #[arg(required = true)]
        ids: Vec<String>,
    },
    /// Replaces a plugin by another version, from where it came or from another place.
    ///
    /// What it was granted and set to stays. Where the new version wants more, it asks.
    Upgrade(Upgrade),
    /// Goes back to the version before.
    Rollback {
        /// Its id.
        id: String,
    },
    /// Shows what plugins logged, and what was told about them.
    Log {
        /// The id of one [default: all of them]
        id: Option<String>,
        /// At most so many lines, the latest.
        #[arg(long, default_value_t = 50)]
        lines: usize,
    },
    /// Shows what was decided about plugins: loads, grants, denials, quarantines, changed and dropped messages.
    Audit {
        /// At most so many lines, the latest.
        #[arg(long, default_value_t = 50)]
        lines: usize,
    },
    /// Explains a turn: which plugins ran, what each changed, and which bytes of its requests came from whom.
    Explain(Explain),
}

/// Options of `plugin explain`.
#[derive(Args, Debug)]
pub struct Explain {
    /// Where, and for whom.
    #[command(flatten)]
    pub common: Common,
    /// The session's id, the beginning of it, or its `dsh-session:` URI.
    pub session: String,
    /// The number of the turn, from 1 [default: the latest]
    pub turn: Option<u64>,
}

/// Options of `plugin add`.
#[derive(Args, Debug)]
pub struct Add {
    /// A component that carries its manifest, a folder with a plugin.toml, or a reference such as ghcr.io/owner/name:1.0
    #[arg(value_name = "PATH|REFERENCE")]
    pub source: String,
    /// Grants this; can be given more than once. `all` grants what it declares.
    #[arg(long, value_name = "WHAT")]
    pub grant: Vec<String>,
}

/// A plugin, wherever it is.
#[derive(Args, Debug)]
pub struct Named {
    /// The id of a plugin that is there, or where another is.
    #[arg(value_name = "ID|PATH|REFERENCE")]
    pub plugin: String,
}

/// Options of `plugin grant` and `plugin revoke`.
#[derive(Args, Debug)]
pub struct Granted {
    /// Its id.
    pub id: String,
    /// What; `all` is everything that it declares.
    #[arg(required = true)]
    pub what: Vec<String>,
}

/// Options of `plugin upgrade`.
#[derive(Args, Debug)]
pub struct Upgrade {
    /// Its id.
    pub id: String,
    /// Where the new version is [default: where the one that is there came from]
    #[arg(value_name = "PATH|REFERENCE")]
    pub source: Option<String>,
    /// Grants what the new version wants more, without asking.
    #[arg(long, conflicts_with = "as_granted")]
    pub yes: bool,
    /// Grants nothing more, without asking.
    #[arg(long)]
    pub as_granted: bool,
}

const PATH: &str = "\
From nothing to a plugin that runs:
  dsh-wasm plugin inspect PATH     what it is and wants; nothing of it runs
  dsh-wasm plugin add PATH         installs it, with nothing granted
  dsh-wasm plugin grant ID WHAT    gives it what you want it to have
  dsh-wasm plugin enable ID        lets it run";

const GRANTS: &str = "\
What can be granted:
  dsh:session/query       reading sessions, as far as the scopes below reach
  dsh:agent/agents        asking and making agents, from its commands
  titles=SCOPE            whose titles: none, self, lineage, same-cwd or all
  texts=SCOPE             whose texts
  kind=NAME               messages of a kind of its own
  rewrite-user            changing what you typed (marked wherever it shows)
  append-system           adding to the system prompt of sessions that it creates
  wasi-empty              a WASI with nothing in it
  cpu-ms=N                the most of a limit: memory-bytes, table-elements, cpu-ms, wall-ms, host-calls,
                          output-bytes, log-bytes, handles, concurrent-calls
  all                     everything that it declares";
