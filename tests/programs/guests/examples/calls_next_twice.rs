//! A second call of `next` fails with `next-called-twice`, and the link can then only fail.

use programs::{Decision, Failure, Message, PreStep, copy, next};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let kept = batch.iter().map(copy).collect::<Result<Vec<_>, _>>()?;
        let decision = next(batch)?;
        let twice = next(kept).err();
        assert_eq!(twice.map(|failure| failure.code).as_deref(), Some("next-called-twice"));
        Ok(decision)
    }
}

programs::export!(Program: PreStep);
