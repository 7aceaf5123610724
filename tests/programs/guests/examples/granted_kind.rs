//! Another kind of context has to be declared and granted.

use programs::{Block, Decision, Failure, Message, PreStep, next_messages};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let mut messages = next_messages(batch)?;
        let facts = r#"{"kind":"note","about":["x"]}"#;
        messages.insert(0, Message::context(&[Block::Text("a note".to_owned())], facts)?);
        Ok(Decision::Enter(messages))
    }
}

programs::export!(Program: PreStep);
