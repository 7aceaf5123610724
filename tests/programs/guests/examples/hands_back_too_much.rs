//! What a command hands to an agent counts as its output.

use programs::agents;
use programs::commands::{Command, Outcome};
use programs::{Block, Commands, Failure, Invocation};

struct Program;

impl Commands for Program {
    fn available() -> Vec<Command> {
        Vec::new()
    }

    fn run(invocation: Invocation) -> Result<Outcome, Failure> {
        let agent = agents::current()?;
        let bytes: usize = invocation.arguments().parse().unwrap_or_default();
        let text = Block::Text("x".repeat(bytes));
        for time in ["first", "second", "third"] {
            agent.inject(std::slice::from_ref(&text), r#"{"kind":"plugin"}"#, time)?;
        }
        Ok(Outcome::Text(String::new()))
    }
}

programs::export!(Program: Commands);
