//! A link that does not call `next` stops the chain there.

use programs::{Decision, Failure, Message, PreStep};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        Ok(Decision::Enter(batch))
    }
}

programs::export!(Program: PreStep);
