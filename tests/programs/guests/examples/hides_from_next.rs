//! To hide a user message from the rest of the chain takes the grant `rewrite-user`.

use programs::{Decision, Failure, Message, PreStep, next_messages};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let mut messages = next_messages(Vec::new())?;
        messages.extend(batch);
        Ok(Decision::Enter(messages))
    }
}

programs::export!(Program: PreStep);
