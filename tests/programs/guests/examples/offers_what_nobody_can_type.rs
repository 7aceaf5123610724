//! A command's name can be typed.

use programs::commands::{Command, Draft, Outcome};
use programs::{Commands, Failure, Invocation};

struct Program;

fn name() -> String {
    "do it".to_owned()
}

impl Commands for Program {
    fn available() -> Vec<Command> {
        vec![Command { name: name(), summary: String::new(), arguments: String::new() }]
    }

    fn run(_invocation: Invocation) -> Result<Outcome, Failure> {
        let (text, arguments) = (String::new(), String::new());
        Ok(Outcome::Draft(Draft { text, name: name(), arguments }))
    }
}

programs::export!(Program: Commands);
