//! A trap, a limit and a failure further down come back from `next` with their codes.

use programs::{Decision, Failure, Message, PreStep, log, next};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        match next(batch) {
            Ok(decision) => Ok(decision),
            Err(first) => {
                log::info(&first.code);
                Err(first)
            }
        }
    }
}

programs::export!(Program: PreStep);
