//! A rejection keeps its reason and details.

use programs::{Decision, Failure, Message, PreStep, Rejection};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let _ = batch;
        let (reason, details) = (Some("not now".to_owned()), Some("{}".to_owned()));
        Ok(Decision::Reject(Rejection { reason, details }))
    }
}

programs::export!(Program: PreStep);
