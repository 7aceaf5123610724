//! A command may wait as long as it likes, and may not keep the processor.

use programs::commands::{Command, Outcome};
use programs::{Commands, Failure, Invocation};

struct Program;

impl Commands for Program {
    fn available() -> Vec<Command> {
        Vec::new()
    }

    fn run(_invocation: Invocation) -> Result<Outcome, Failure> {
        loop {
            std::hint::black_box(0);
        }
    }
}

programs::export!(Program: Commands);
