//! Only a command runs on behalf of an agent.

use programs::commands::{Command, Outcome};
use programs::tool_gate::Verdict;
use programs::{
    Call, Commands, Decision, Failure, Invocation, Message, PreStep, ToolGate, agents, seen,
};

struct Program;

/// The code with which there is none.
fn code() -> String {
    match agents::current() {
        Ok(agent) => agent.session(),
        Err(failure) => failure.code,
    }
}

impl PreStep for Program {
    fn handle(_batch: Vec<Message>) -> Result<Decision, Failure> {
        Ok(seen(code()))
    }
}

impl ToolGate for Program {
    fn check(_call: Call) -> Result<Verdict, Failure> {
        Ok(Verdict::Deny(code()))
    }
}

impl Commands for Program {
    fn available() -> Vec<Command> {
        vec![Command { name: code(), summary: String::new(), arguments: String::new() }]
    }

    fn run(_invocation: Invocation) -> Result<Outcome, Failure> {
        Ok(Outcome::Text(code()))
    }
}

programs::export!(Program: PreStep, ToolGate, Commands);
