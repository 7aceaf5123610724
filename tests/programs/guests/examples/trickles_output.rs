//! Output is counted over the whole call.

use programs::{Block, Decision, Failure, Message, PreStep};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        for _ in 0..9 {
            let block = Block::Text("x".repeat(1 << 20));
            Message::context(&[block], r#"{"kind":"plugin"}"#)?;
        }
        Ok(Decision::Enter(batch))
    }
}

programs::export!(Program: PreStep);
