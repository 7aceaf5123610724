//! A command reaches the session that its own was forked from, and nothing else.

use programs::agents;
use programs::commands::{Command, Outcome};
use programs::{Commands, Failure, Invocation};

struct Program;

impl Commands for Program {
    fn available() -> Vec<Command> {
        Vec::new()
    }

    fn run(_invocation: Invocation) -> Result<Outcome, Failure> {
        let agent = agents::current()?;
        let parent = agent.parent()?.map(|parent| parent.session());
        let (named, said) = (agent.parent_session(), agent.said_through()?);
        Ok(Outcome::Text(format!("{parent:?} {named:?} {said:?}")))
    }
}

programs::export!(Program: Commands);
