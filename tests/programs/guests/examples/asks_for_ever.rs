//! A command does not act on agents without end.

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
        let times: u32 = invocation.arguments().parse().unwrap_or(u32::MAX);
        for time in 0..times {
            let (text, facts) = (Block::Text("again".to_owned()), r#"{"kind":"plugin"}"#);
            agent.inject(&[text], facts, &time.to_string())?;
        }
        Ok(Outcome::Text(String::new()))
    }
}

programs::export!(Program: Commands);
