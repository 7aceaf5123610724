//! Only text blocks of user messages can be edited.

use programs::{Block, Decision, Edit, Failure, Message, PreStep, next};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let edit = |index| [Edit { index, text: "x".to_owned() }];
        let code = |made: Result<Message, Failure>| made.err().map(|failure| failure.code);
        let note = Message::context(&[Block::Text("a".to_owned())], r#"{"kind":"plugin"}"#)?;
        assert_eq!(code(note.with_texts(&edit(0))).as_deref(), Some("not-direct"));
        assert_eq!(code(note.with_texts(&[])).as_deref(), Some("not-direct"));
        for message in &batch {
            assert_eq!(code(message.with_texts(&edit(99))).as_deref(), Some("no-such-block"));
        }
        next(batch)
    }
}

programs::export!(Program: PreStep);
