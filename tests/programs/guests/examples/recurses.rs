//! Endless recursion ends at the stack's limit and nowhere else.

use programs::{Decision, Failure, Message, PreStep};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        fn deeper(n: u64) -> u64 {
            std::hint::black_box(if n == u64::MAX { n } else { deeper(n + 1) + 1 })
        }
        std::hint::black_box(deeper(batch.len() as u64));
        Ok(Decision::Enter(batch))
    }
}

programs::export!(Program: PreStep);
