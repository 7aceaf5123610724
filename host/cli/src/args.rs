//! What can be asked of `dsh-wasm`.

mod plugin;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use dsh_session::Encoding;
use dsh_tools::Rule;

pub(crate) use plugin::{Add, Granted, Upgrade};
pub(crate) use plugin::{Explain, Plugin};

/// Sandboxed plugins in an agent's loop, on the session logs of dsh.
#[derive(Debug, Parser)]
#[command(name = "dsh-wasm", version, after_help = EXIT_CODES)]
pub struct Cli {
    /// What to do; without it, a few lines on where to begin.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// What goes before the settings of files.
    #[command(flatten)]
    pub globals: Globals,
}

/// Options about settings, which every command takes.
#[derive(Args, Clone, Debug, Default)]
pub struct Globals {
    /// Sets a key of the settings for this call, such as `compaction.auto=false`; `config --keys` lists them
    #[arg(long, value_name = "KEY=VALUE", global = true)]
    pub set: Vec<String>,
    /// Your file of settings [default: `dsh-wasm/config.toml` in your config folder]
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Leaves the project's file of settings out.
    #[arg(long, global = true)]
    pub no_project: bool,
    /// The folder of installed plugins [default: `dsh-wasm/plugins` in your data folder]
    #[arg(long, value_name = "DIR", global = true)]
    pub plugins: Option<PathBuf>,
    /// Starts without plugins.
    #[arg(long, global = true)]
    pub safe: bool,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Makes sample sessions and runs a turn that mentions one of them, step by step.
    Demo(Demo),
    /// Runs one turn and prints the reply.
    Run(Box<Run>),
    /// Lists sessions, newest first.
    Sessions(Sessions),
    /// Shows one session.
    Show(Show),
    /// Puts a summary in the place of what a session's model has read so far.
    Compact(Compact),
    /// Opens a side session on a session's completed turns, and asks it a question.
    Side(Side),
    /// Takes a short note from a side session to the session that it was opened on.
    Merge(Merge),
    /// Lists the side sessions of a session: open, merged or withdrawn.
    Sides(OnSession),
    /// Runs a slash command of a plugin in a session.
    Command(Slash),
    /// Lists what could be mentioned in a session, best first.
    Mentions(Mentions),
    /// Shows, adds, grants, replaces and removes plugins.
    #[command(subcommand)]
    Plugin(Plugin),
    /// Shows each setting and where it comes from, and the instruction files that are used.
    Config(Config),
    /// Shows what a project's settings would reach outside with, and lets them where you say so.
    Trust(Trust),
    /// Finds what is wrong, and says what to do about it.
    Doctor(Doctor),
}

impl Command {
    /// Where its sessions are, if it is about sessions.
    pub(crate) fn common_mut(&mut self) -> Option<&mut Common> {
        match self {
            Self::Run(args) => Some(&mut args.common),
            Self::Sessions(args) => Some(&mut args.common),
            Self::Show(args) => Some(&mut args.common),
            Self::Plugin(Plugin::Explain(args)) => Some(&mut args.common),
            Self::Compact(args) => Some(&mut args.common),
            Self::Mentions(args) => Some(&mut args.common),
            // It looks at settings itself, and tells what is wrong with them.
            Self::Doctor(_) => None,
            Self::Side(Side { on, .. })
            | Self::Merge(Merge { on, .. })
            | Self::Command(Slash { on, .. })
            | Self::Sides(on) => Some(&mut on.common),
            Self::Demo(_) | Self::Plugin(_) | Self::Config(_) | Self::Trust(_) => None,
        }
    }
}

/// Where sessions are kept, and for whom the answer is.
#[derive(Args, Debug)]
pub struct Common {
    /// The folder that holds the sessions, such as `~/.dsh/sessions` [default: a data folder of its own]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Answers as JSON, for programs.
    #[arg(long)]
    pub json: bool,
}

/// Options of `demo`.
#[derive(Args, Debug)]
pub struct Demo {
    /// Leaves the sample sessions in this folder, which must be new or empty.
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// How the logs are written.
    #[arg(long, value_enum, default_value = "zstd")]
    pub encoding: LogEncoding,
}

/// Options of `run`.
#[derive(Args, Debug)]
pub struct Run {
    /// Where, and for whom.
    #[command(flatten)]
    pub common: Common,
    /// The session to continue: its id, the beginning of it, or its `dsh-session:` URI [default: a new one]
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// The working directory of a new session [default: the current one]
    #[arg(long, value_name = "DIR", conflicts_with = "session")]
    pub cwd: Option<PathBuf>,
    /// Who answers.
    #[command(flatten)]
    pub answering: Answering,
    /// How the log of a new session is written [default: as the others in the folder are]
    #[arg(long, value_enum, conflicts_with = "session")]
    pub encoding: Option<LogEncoding>,
    /// What to say; `-` reads it from standard input.
    pub prompt: String,
}

/// What the model may do, beside what the settings say.
#[derive(Args, Clone, Debug, Default)]
pub struct Tooled {
    /// The built-in tools that the model has, such as `read,list,search`, or `none` [default: all of them]
    #[arg(long, value_name = "LIST")]
    pub tools: Option<String>,
    /// Runs calls that fit this rule without asking, such as `write(src/**)` or `shell(git status *)`
    #[arg(long, value_name = "RULE")]
    pub allow: Vec<Rule>,
    /// Asks about calls that fit this rule, even if they are allowed
    #[arg(long, value_name = "RULE")]
    pub ask: Vec<Rule>,
    /// Denies calls that fit this rule, even if they are allowed
    #[arg(long, value_name = "RULE")]
    pub deny: Vec<Rule>,
    /// Lets tools reach this folder too
    #[arg(long, value_name = "DIR")]
    pub add_dir: Vec<PathBuf>,
}

/// Who answers and what they may do, where it is not as the settings say.
#[derive(Args, Clone, Debug, Default)]
pub struct Answering {
    /// The model, in the service's own word, or SERVICE/MODEL; offline `echo`, or `script:FILE` for replies from a file [default: as the settings say, else `echo`]
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// A service that is known by name: deepseek, openai, openrouter, ollama, vllm, llamacpp, lmstudio
    #[arg(long, value_name = "SERVICE")]
    pub provider: Option<String>,
    /// The URL of a service that speaks the chat completions of OpenAI
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// The variable that holds the service's key [default: the service's own, such as DEEPSEEK_API_KEY]
    #[arg(long, value_name = "NAME")]
    pub key_env: Option<String>,
    /// What the model may do.
    #[command(flatten)]
    pub tooled: Tooled,
}

impl Answering {
    /// The keys that were set so.
    pub(crate) fn flags(&self) -> Vec<(&'static str, &'static str, String)> {
        let flags = [
            ("--model", "model.name", &self.model),
            ("--provider", "model.provider", &self.provider),
            ("--base-url", "model.base-url", &self.base_url),
            ("--key-env", "model.key-env", &self.key_env),
        ];
        let said =
            flags.into_iter().filter_map(|(flag, key, said)| Some((flag, key, said.clone()?)));
        said.collect()
    }
}

/// Options of `sessions`.
#[derive(Args, Debug)]
pub struct Sessions {
    /// Where, and for whom.
    #[command(flatten)]
    pub common: Common,
    /// Only those whose id, directory or title holds this, whatever its case.
    pub query: Option<String>,
}

/// Options of `show`.
#[derive(Args, Debug)]
pub struct Show {
    /// Where, and for whom.
    #[command(flatten)]
    pub common: Common,
    /// Its id, the beginning of it, or its `dsh-session:` URI.
    pub session: String,
    /// Which view of it.
    #[command(flatten)]
    pub view: View,
    /// Shows snapshots whole, not as one line.
    #[arg(long)]
    pub full: bool,
}

/// Which view of a session; without one of these, the conversation.
#[derive(Args, Clone, Copy, Debug)]
#[group(multiple = false)]
pub struct View {
    /// The nodes that the model would see next, with their events.
    #[arg(long)]
    pub surface: bool,
    /// Every event of the log.
    #[arg(long)]
    pub log: bool,
    /// The request that the model would get next, whole.
    #[arg(long)]
    pub request: bool,
}

/// Options of `compact`.
#[derive(Args, Debug)]
pub struct Compact {
    /// Where, and for whom.
    #[command(flatten)]
    pub common: Common,
    /// Its id, the beginning of it, or its `dsh-session:` URI.
    pub session: String,
    /// What the summary shall take special care of.
    pub focus: Option<String>,
    /// Who writes the summary.
    #[command(flatten)]
    pub answering: Answering,
}

/// A session that a command is given in.
#[derive(Args, Debug)]
pub struct OnSession {
    /// Where, and for whom.
    #[command(flatten)]
    pub common: Common,
    /// Who answers.
    #[command(flatten)]
    pub answering: Answering,
    /// Its id, the beginning of it, or its `dsh-session:` URI.
    pub session: String,
}

/// Options of `side`.
#[derive(Args, Debug)]
pub struct Side {
    /// Where.
    #[command(flatten)]
    pub on: OnSession,
    /// What to ask there, as your own prompt.
    pub question: Option<String>,
}

/// Options of `merge`.
#[derive(Args, Debug)]
pub struct Merge {
    /// Where.
    #[command(flatten)]
    pub on: OnSession,
    /// Proposes the note for you to edit, and adds nothing.
    #[arg(long, conflicts_with_all = ["undo", "fork"])]
    pub preview: bool,
    /// Withdraws its last note, as long as no model has read it.
    #[arg(long, conflicts_with_all = ["fork", "instruction"])]
    pub undo: bool,
    /// Opens a session from before its last note.
    #[arg(long, conflicts_with = "instruction")]
    pub fork: bool,
    /// The file that holds the note as you edited it; `-` for standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["preview", "undo", "fork"])]
    pub edited: Option<String>,
    /// What you want in the note.
    pub instruction: Option<String>,
}

/// Options of `command`.
#[derive(Args, Debug)]
pub struct Slash {
    /// Where.
    #[command(flatten)]
    pub on: OnSession,
    /// The command, such as `/side why?`.
    pub line: String,
    /// The file that holds a proposed text as you edited it; `-` for standard input.
    #[arg(long, value_name = "FILE")]
    pub edited: Option<String>,
    /// Says yes where it asks.
    #[arg(long)]
    pub yes: bool,
}

/// Options of `mentions`.
#[derive(Args, Debug)]
pub struct Mentions {
    /// Where, and for whom.
    #[command(flatten)]
    pub common: Common,
    /// The session that is being written to: its id, the beginning of it, or its `dsh-session:` URI.
    #[arg(long = "for", value_name = "SESSION")]
    pub target: String,
    /// Only those whose id, directory or title holds this, whatever its case.
    pub query: Option<String>,
}

/// Options of `config`.
#[derive(Args, Debug)]
pub struct Config {
    /// The folder that somebody works in [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Lists every key that there is instead.
    #[arg(long)]
    pub keys: bool,
    /// Answers as JSON, for programs.
    #[arg(long)]
    pub json: bool,
}

/// Options of `trust`.
#[derive(Args, Debug)]
pub struct Trust {
    /// A folder of the project [default: the current one]
    pub dir: Option<PathBuf>,
    /// Trusts exactly the values with this digest, without asking.
    #[arg(long, value_name = "DIGEST", conflicts_with = "revoke")]
    pub digest: Option<String>,
    /// Takes trust back.
    #[arg(long)]
    pub revoke: bool,
}

/// Options of `doctor`.
#[derive(Args, Debug)]
pub struct Doctor {
    /// Where, and for whom.
    #[command(flatten)]
    pub common: Common,
    /// The folder that somebody works in [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
}

/// How a log is written.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum LogEncoding {
    /// Compressed: `session.jsonl.zstd`.
    Zstd,
    /// Plain lines: `session.jsonl`.
    Raw,
}

impl From<LogEncoding> for Encoding {
    fn from(encoding: LogEncoding) -> Self {
        match encoding {
            LogEncoding::Zstd => Self::Zstd,
            LogEncoding::Raw => Self::Raw,
        }
    }
}

const EXIT_CODES: &str = "\
Exit codes:
  0    done; of a turn: completed
  1    it could not be done (the message says what, where and what to do)
  2    the command line is wrong
  3    the turn failed: a plugin refused the message, or the model failed
  4    the turn was blocked: a plugin let no step begin
  5    the turn ended at the model's token limit
  6    the turn completed, but a tool's call needed an answer that nobody could give
  130  interrupted: the turn was cancelled";
