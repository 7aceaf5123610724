//! The command `dsh-wasm`: plugins, models, sessions and the loop put together.
//!
//! [`Harness`] is the whole: it opens a root of sessions, loads the plugins, and gives agents whose steps pass the
//! chain. Everything else here shows to people what happens in it. Whole-turn tests use it without a terminal.

mod adapter;
mod args;
mod aside;
mod command;
mod compact;
mod config;
mod demo;
mod doctor;
mod exit;
mod find;
mod harness;
mod home;
mod installed;
mod list;
mod live;
mod mentions;
mod model;
mod note;
mod outcome;
mod plugins;
mod record;
mod roster;
mod run;
mod servers;
mod settings;
mod show;
mod slash;
mod snapshot;
mod surroundings;
mod system;
mod telemetry;
mod tooling;
mod trust;
mod visible;
mod warnings;

use std::io::Write;

pub use adapter::{InstructionFiles, Reader, Sandbox, Stored};
pub use args::{Cli, Command};
pub use exit::Exit;
pub use find::{mention, uri};
pub use harness::{Composed, Harness, Loaded, Options};
pub use show::Conversation;
pub use slash::{Attended, Ran};
pub use surroundings::{Person, Surroundings};
pub use telemetry::Telemetry;
pub use tooling::Tooling;
pub use visible::Lines;

/// Does what `cli` asks, with nothing around it: no settings, no trust, and nobody to ask.
///
/// # Errors
/// See [`execute_in`].
pub async fn execute(cli: Cli, out: &mut dyn Write, err: &mut dyn Write) -> anyhow::Result<Exit> {
    execute_in(cli, &Surroundings::default(), out, err).await
}

/// Does what `cli` asks; the answer goes to `out`, notices go to `err`.
///
/// # Errors
/// When it could not be done; the error says what, where and what to do.
pub async fn execute_in(
    cli: Cli,
    around: &Surroundings,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let Cli { mut command, globals } = cli;
    if let Some(common) = command.as_mut().and_then(Command::common_mut)
        && common.root.is_none()
    {
        common.root = settings::own(&globals, around)?.root;
    }
    match command {
        None => {
            out.write_all(WELCOME.as_bytes())?;
            Ok(Exit::Done)
        }
        Some(Command::Demo(args)) => demo::demo(&args, out).await,
        Some(Command::Run(args)) => run::run(*args, &globals, around, out, err).await,
        Some(Command::Compact(args)) => compact::compact(&args, &globals, around, out, err).await,
        Some(Command::Sessions(args)) => list::sessions(&args, out, err).await,
        Some(Command::Show(args)) => show::show(&args, out).await,
        Some(
            asked
            @ (Command::Side(_) | Command::Merge(_) | Command::Sides(_) | Command::Command(_)),
        ) => match command::Asked::of(asked) {
            Some(asked) => command::command(asked, &globals, around, out, err).await,
            None => Ok(Exit::Failed),
        },
        Some(Command::Mentions(args)) => mentions::mentions(&args, &globals, around, out).await,
        Some(Command::Plugin(args)) => plugins::plugin(args, &globals, around, out).await,
        Some(Command::Config(args)) => config::config(&args, &globals, around, out),
        Some(Command::Trust(args)) => trust::trust(&args, &globals, around, out),
        Some(Command::Doctor(args)) => doctor::doctor(&args, &globals, around, out).await,
    }
}

const WELCOME: &str = "\
dsh-wasm runs agents whose plugins are sandboxed WebAssembly components.
  dsh-wasm demo                a turn with a mention, step by step, offline
  dsh-wasm run \"PROMPT\"        talk; --session continues, --root opens a folder of dsh's
  dsh-wasm side SESSION \"QUESTION\"
                               asks beside a session; merge takes a short note back
  dsh-wasm sessions            what there is to show, continue and mention
  dsh-wasm --help              everything else
";
