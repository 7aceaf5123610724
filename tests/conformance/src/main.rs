//! `dsh-conformance`: the command.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use dsh_conformance::family::Family;
use dsh_conformance::{hostile, report};

/// Certifies plugins and hosts.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs golden vectors; succeeds where none fails.
    Vectors {
        /// The directory that has a file for each family.
        directory: PathBuf,
        /// A family to run; all where none is given.
        #[arg(long = "family", value_name = "NAME", value_parser = family)]
        families: Vec<Family>,
    },
    /// Runs hostile plugins, each with a twin that is allowed; succeeds where all end as they should.
    Hostile,
}

fn family(name: &str) -> Result<Family, String> {
    let known = || Family::ALL.map(Family::name).join(", ");
    let found = Family::ALL.into_iter().find(|family| family.name() == name);
    found.ok_or_else(|| format!("the families are {}", known()))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode> {
    let mut out = io::stdout().lock();
    let succeeded = match Arguments::parse().command {
        Command::Vectors { directory, families } => {
            let families = if families.is_empty() { Family::ALL.to_vec() } else { families };
            report::run(&directory, &families, &mut out).await?.is_success()
        }
        Command::Hostile => hostile::run(&hostile::cases()?, &mut out).await?.failed == 0,
    };
    out.flush()?;
    Ok(if succeeded { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
