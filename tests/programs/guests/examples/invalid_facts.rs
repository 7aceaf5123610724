//! Facts and blocks that are not one JSON object are `invalid-json`, and the instance lives on.

use programs::{Block, Decision, Failure, Message, PreStep, next};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let code = |made: Result<Message, Failure>| made.err().map(|failure| failure.code);
        let invalid = Some("invalid-json".to_owned());
        for facts in [
            "",
            "[]",
            "{",
            "{}",
            "{\"kind\":1}",
            "{\"kind\":\"plugin\"}{}",
            "{\"kind\":\"plugin\",\"kind\":\"user\"}",
        ] {
            assert_eq!(code(Message::context(&[], facts)), invalid, "{facts}");
        }
        let block = Block::Other("\"text\"".to_owned());
        assert_eq!(code(Message::context(&[block], "{\"kind\":\"plugin\"}")), invalid);
        next(batch)
    }
}

programs::export!(Program: PreStep);
