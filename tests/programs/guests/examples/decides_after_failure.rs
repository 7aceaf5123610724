//! After `next` failed, a decision is refused and the first failure stands.

use programs::{Decision, Failure, Message, PreStep, copy, next};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let kept = batch.iter().map(copy).collect::<Result<Vec<_>, _>>()?;
        match next(batch) {
            Ok(decision) => Ok(decision),
            Err(_) => Ok(Decision::Enter(kept)),
        }
    }
}

programs::export!(Program: PreStep);
