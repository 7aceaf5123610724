//! A session that is about to exist can be created once.

use programs::agents::{self, Birth};
use programs::commands::{Command, Outcome};
use programs::{Commands, Failure, Invocation};

struct Program;

impl Commands for Program {
    fn available() -> Vec<Command> {
        Vec::new()
    }

    fn run(invocation: Invocation) -> Result<Outcome, Failure> {
        let birth = Birth::new(agents::current()?.completed_turns(None)?);
        let index = birth.handle();
        Birth::create(birth)?;
        if invocation.arguments() == "twice" {
            #[expect(unsafe_code, reason = "a guest that does not keep to its own language")]
            let again = unsafe { Birth::from_handle(index) };
            Birth::create(again)?;
        }
        Ok(Outcome::Text(String::new()))
    }
}

programs::export!(Program: Commands);
