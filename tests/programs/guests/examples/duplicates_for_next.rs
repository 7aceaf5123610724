//! No grant lets a user message go twice to the rest of the chain.

use programs::{Decision, Failure, Message, PreStep, copy, next};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let mut given = batch.iter().map(copy).collect::<Result<Vec<_>, _>>()?;
        given.extend(batch);
        next(given)
    }
}

programs::export!(Program: PreStep);
