//! A handle that the guest makes up is none.

use programs::{Decision, Failure, Message, PreStep};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let _ = batch;
        #[expect(unsafe_code, reason = "a guest that does not keep to its own language")]
        let forged = unsafe { Message::from_handle(4321) };
        Ok(Decision::Enter(vec![forged]))
    }
}

programs::export!(Program: PreStep);
