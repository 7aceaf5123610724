//! A context message of kind `plugin` names its plugin, whatever its facts say.

use programs::{Block, Decision, Failure, Message, PreStep, next_messages};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let mut messages = next_messages(batch)?;
        let facts = r#"{"plugin": "somebody-else", "kind": "plugin", "n": 1.0}"#;
        messages.push(Message::context(&[Block::Text("background".to_owned())], facts)?);
        Ok(Decision::Enter(messages))
    }
}

programs::export!(Program: PreStep);
