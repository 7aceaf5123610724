//! No grant lets a user message enter twice.

use programs::{Decision, Failure, Message, PreStep, copy, next_messages};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let mut messages = next_messages(batch)?;
        let copies = messages.iter().map(copy).collect::<Result<Vec<_>, _>>()?;
        messages.extend(copies);
        Ok(Decision::Enter(messages))
    }
}

programs::export!(Program: PreStep);
