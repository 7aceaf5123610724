//! A link that reads every text hands the batch on as it was.

use programs::{Decision, Failure, Message, PreStep, next};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let texts = batch.iter().flat_map(Message::texts).flatten();
        let lines: usize = texts.map(|text| text.lines().count()).sum();
        assert!(lines > 0, "a batch without text");
        next(batch)
    }
}

programs::export!(Program: PreStep);
