//! A failure keeps its code, message and details.

use programs::{Decision, Failure, Message, PreStep};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let _ = batch;
        let details = Some(r#"{"max": 3}"#.to_owned());
        Err(Failure { code: "OUT_OF_TEA".to_owned(), message: "no tea".to_owned(), details })
    }
}

programs::export!(Program: PreStep);
