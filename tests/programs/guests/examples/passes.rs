//! A link that only calls `next` changes nothing.

use programs::{Decision, Failure, Message, PreStep, next};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        next(batch)
    }
}

programs::export!(Program: PreStep);
