//! The command line, run in this process.

use std::path::Path;

use clap::Parser as _;
use dsh_wasm::{Cli, Exit};

/// What a command printed, and how it ended.
pub struct Ran {
    /// How it ended, or the whole chain of why it failed.
    pub exit: Result<Exit, String>,
    /// Its standard output.
    pub out: String,
    /// Its standard error.
    pub err: String,
}

/// Runs the command line on the root; `args` begin with the command.
///
/// # Panics
/// If there is no command, or what it prints is no text.
pub async fn dsh_wasm(root: &Path, args: &[&str]) -> Ran {
    let (command, args) = args.split_first().expect("a command");
    let root = root.to_str().expect("a path that is text");
    execute(&[&[command, "--root", root], args].concat()).await
}

/// Runs the command line; `args` are all that stands behind the program's name.
///
/// # Panics
/// If what it prints is no text.
pub async fn execute(args: &[&str]) -> Ran {
    let words = ["dsh-wasm"].iter().chain(args);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let exit = dsh_wasm::execute(Cli::parse_from(words), &mut out, &mut err).await;
    Ran {
        exit: exit.map_err(|err| format!("{err:#}")),
        out: String::from_utf8(out).expect("text"),
        err: String::from_utf8(err).expect("text"),
    }
}
