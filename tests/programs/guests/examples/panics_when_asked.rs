//! A plugin that dies of some prompts only.

use programs::{Decision, Failure, Message, PreStep, next};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let mut texts = batch.iter().flat_map(Message::texts).flatten();
        assert!(texts.all(|text| text != "panic"), "was asked to");
        next(batch)
    }
}

programs::export!(Program: PreStep);
