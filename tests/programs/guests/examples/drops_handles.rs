//! A handle that is dropped makes room for another.

use programs::{Decision, Failure, Message, PreStep, copy};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        for _ in 0..9000 {
            batch.first().map(copy).transpose()?;
        }
        Ok(Decision::Enter(batch))
    }
}

programs::export!(Program: PreStep);
