//! A panic is a trap, and its text reaches the log and the error.

use programs::{Decision, Failure, Message, PreStep};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        panic!("{} messages were one too many", batch.len())
    }
}

programs::export!(Program: PreStep);
