//! An import never refills the CPU time.

use programs::{Decision, Failure, Message, PreStep, query};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let _ = batch;
        loop {
            for n in 0..100_000u64 {
                std::hint::black_box(n);
            }
            let _ = query::list_sessions();
        }
    }
}

programs::export!(Program: PreStep);
