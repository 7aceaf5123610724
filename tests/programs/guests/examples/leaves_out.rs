//! To leave a user message out takes the grant `rewrite-user`.

use programs::{Decision, Failure, Message, PreStep, next_messages};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let mut messages = next_messages(batch)?;
        messages.pop();
        Ok(Decision::Enter(messages))
    }
}

programs::export!(Program: PreStep);
