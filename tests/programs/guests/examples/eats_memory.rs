//! A guest cannot have more memory than its limit.

use programs::{Decision, Failure, Message, PreStep};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let mut hoard = Vec::new();
        while hoard.len() < 200 {
            hoard.push(std::hint::black_box(vec![1u8; 1 << 20]));
        }
        Ok(Decision::Enter(batch))
    }
}

programs::export!(Program: PreStep);
