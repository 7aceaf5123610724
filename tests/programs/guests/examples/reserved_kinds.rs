//! Context of kind `user`, `model` or `tool` is never granted.

use programs::{Decision, Failure, Message, PreStep, next};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        for kind in ["user", "model", "tool"] {
            let refused = Message::context(&[], &format!("{{\"kind\":\"{kind}\"}}")).err();
            assert_eq!(refused.map(|failure| failure.code).as_deref(), Some("not-granted"));
        }
        next(batch)
    }
}

programs::export!(Program: PreStep);
