//! The handles that a guest holds at one time are limited.

use programs::{Decision, Failure, Message, PreStep, copy};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let mut hoard = Vec::new();
        while let Some(message) = batch.first() {
            hoard.push(copy(message)?);
        }
        Ok(Decision::Enter(batch))
    }
}

programs::export!(Program: PreStep);
