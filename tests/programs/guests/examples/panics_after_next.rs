//! A link that dies after `next` returned.

use programs::{Decision, Failure, Message, PreStep, next};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let decision = next(batch)?;
        panic!(
            "had {}",
            if matches!(decision, Decision::Enter(_)) { "entered" } else { "rejected" }
        )
    }
}

programs::export!(Program: PreStep);
