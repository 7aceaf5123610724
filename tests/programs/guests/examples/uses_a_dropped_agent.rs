//! An agent that was dropped is none, and so is one that nobody handed over.

use programs::agents::{self, Agent};
use programs::commands::{Command, Outcome};
use programs::{Commands, Failure, Invocation};

struct Program;

impl Commands for Program {
    fn available() -> Vec<Command> {
        Vec::new()
    }

    fn run(invocation: Invocation) -> Result<Outcome, Failure> {
        let agent = agents::current()?;
        let index = match invocation.arguments().as_str() {
            "dropped" => agent.handle(),
            "made up" => agent.handle() + 1000,
            _ => return Ok(Outcome::Text(agent.session())),
        };
        drop(agent);
        #[expect(unsafe_code, reason = "a guest that does not keep to its own language")]
        let forged = unsafe { Agent::from_handle(index) };
        Ok(Outcome::Text(forged.session()))
    }
}

programs::export!(Program: Commands);
