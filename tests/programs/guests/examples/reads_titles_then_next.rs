//! Time inside `next` is not on the clock of the link that called it.

use programs::{Decision, Failure, Message, PreStep, next, query};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let _ = query::read_titles(&["a".to_owned()]);
        next(batch)
    }
}

programs::export!(Program: PreStep);
