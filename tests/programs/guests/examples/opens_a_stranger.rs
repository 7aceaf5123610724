//! A command opens no session whose agent it has not held.

use programs::commands::{Command, Opening, Outcome};
use programs::{Commands, Failure, Invocation};

struct Program;

impl Commands for Program {
    fn available() -> Vec<Command> {
        Vec::new()
    }

    fn run(invocation: Invocation) -> Result<Outcome, Failure> {
        let session = invocation.arguments();
        Ok(Outcome::Opened(Opening { session, send: None, notice: None }))
    }
}

programs::export!(Program: Commands);
