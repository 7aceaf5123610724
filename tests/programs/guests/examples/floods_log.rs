//! The log of a call is bounded, and the call goes on.

use programs::{Decision, Failure, Message, PreStep, log};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        for _ in 0..100 {
            log::info(&"x".repeat(1000));
        }
        Ok(Decision::Enter(batch))
    }
}

programs::export!(Program: PreStep);
