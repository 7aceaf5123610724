//! Calls of imports are limited.

use programs::{Decision, Failure, Message, PreStep, Step};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let _ = batch;
        loop {
            std::hint::black_box(Step::current());
        }
    }
}

programs::export!(Program: PreStep);
