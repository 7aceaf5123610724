//! Adding to a new session's system prompt takes a grant of its own.

use programs::agents::{self, Birth};
use programs::commands::{Command, Outcome};
use programs::{Commands, Failure, Invocation};

struct Program;

impl Commands for Program {
    fn available() -> Vec<Command> {
        Vec::new()
    }

    fn run(_invocation: Invocation) -> Result<Outcome, Failure> {
        let birth = Birth::new(agents::current()?.completed_turns(None)?);
        birth.append_system("Be brief.")?;
        birth.append_system("Be kind.")?;
        Ok(Outcome::Text(Birth::create(birth)?.session()))
    }
}

programs::export!(Program: Commands);
