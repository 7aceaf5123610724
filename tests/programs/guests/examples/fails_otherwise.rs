//! After `next` failed, the first failure stands and not the own one of the link.

use programs::{Decision, Failure, Message, PreStep, failure, next};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        next(batch).map_err(|first| failure(&format!("after-{}", first.code)))
    }
}

programs::export!(Program: PreStep);
