//! A handle that was dropped is none.

use programs::{Decision, Failure, Message, PreStep, copy};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        for message in &batch {
            let index = copy(message)?.handle();
            #[expect(unsafe_code, reason = "a guest that does not keep to its own language")]
            let dropped = unsafe { Message::from_handle(index) };
            std::hint::black_box(dropped.id());
        }
        Ok(Decision::Enter(batch))
    }
}

programs::export!(Program: PreStep);
