//! A command asks its agent once for each key, and its plugin's gate is called meanwhile.

use programs::agents;
use programs::commands::{Command, Outcome};
use programs::tool_gate::Verdict;
use programs::{Block, Call, Commands, Failure, Invocation, ToolGate};

struct Program;

impl Commands for Program {
    fn available() -> Vec<Command> {
        Vec::new()
    }

    fn run(invocation: Invocation) -> Result<Outcome, Failure> {
        let agent = agents::current()?;
        let question = Block::Text("well?".to_owned());
        let forged = r#"{"kind":"plugin","key":"another"}"#;
        let answer = agent.ask(&[question], forged, &invocation.arguments())?;
        let (text, seq, existed) = (answer.text(), answer.last_seq(), answer.existed());
        Ok(Outcome::Text(format!("{text} {seq} {existed}")))
    }
}

impl ToolGate for Program {
    fn check(_call: Call) -> Result<Verdict, Failure> {
        Ok(Verdict::Allow)
    }
}

programs::export!(Program: Commands, ToolGate);
