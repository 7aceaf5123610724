//! A call that is dropped while an import waits is gone, with its store and with the read.

use programs::{Decision, Failure, Message, PreStep, query};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let _ = query::read_titles(&["a".to_owned()]);
        Ok(Decision::Enter(batch))
    }
}

programs::export!(Program: PreStep);
