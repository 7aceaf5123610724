//! To undo an edit of a link further down takes the grant `rewrite-user`.

use programs::{Decision, Failure, Message, PreStep, copy, next};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let kept = batch.iter().map(copy).collect::<Result<Vec<_>, _>>()?;
        next(batch)?;
        Ok(Decision::Enter(kept))
    }
}

programs::export!(Program: PreStep);
