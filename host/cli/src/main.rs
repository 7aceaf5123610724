//! The binary: reads the arguments, runs what they ask for, and says what went wrong.

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser as _;
use dsh_wasm::{Cli, Exit, Lines, Surroundings, Telemetry};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(err) => return failed(&err.into()),
    };
    let (mut out, mut err) = (io::stdout(), io::stderr());
    let around = Surroundings::of_process();
    let telemetry = match Telemetry::begin(&cli, &around, runtime.handle(), &mut err) {
        Ok(telemetry) => telemetry,
        Err(err) => return failed(&err),
    };
    let done = runtime.block_on(dsh_wasm::execute_in(cli, &around, &mut out, &mut err));
    telemetry.end();
    // A read that was given up may still hang in the store; nobody waits for it.
    runtime.shutdown_background();
    match done {
        Ok(exit) => exit.into(),
        Err(err) => failed(&err),
    }
}

/// Whoever reads our output may stop early, such as `head`; that is not a failure.
fn failed(err: &anyhow::Error) -> ExitCode {
    let broken_pipe = |err: &io::Error| err.kind() == io::ErrorKind::BrokenPipe;
    if err.chain().filter_map(|cause| cause.downcast_ref()).any(broken_pipe) {
        return Exit::Done.into();
    }
    // Where standard error is closed too, the exit code is all that can be said.
    let said = format!("{err:#}");
    let _ = writeln!(io::stderr(), "dsh-wasm: {}", Lines(&said));
    Exit::Failed.into()
}
