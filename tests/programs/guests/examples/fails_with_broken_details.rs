//! Details that are not a JSON object break the contract.

use programs::{Decision, Failure, Message, PreStep};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let _ = batch;
        let details = Some("tea".to_owned());
        Err(Failure { code: "OUT_OF_TEA".to_owned(), message: "no tea".to_owned(), details })
    }
}

programs::export!(Program: PreStep);
