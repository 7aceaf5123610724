//! One result larger than the output limit is refused before the host copies it.

use programs::{Decision, Failure, Message, PreStep, seen};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let _ = batch;
        Ok(seen("x".repeat(9 << 20)))
    }
}

programs::export!(Program: PreStep);
