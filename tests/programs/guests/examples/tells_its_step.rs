//! The step of a call is the one that the loop stands at.

use programs::{Decision, Failure, Message, PreStep, Step, seen};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let _ = batch;
        let step = Step::current().expect("a step in a call of `pre-step`");
        let place = (step.session(), step.cwd(), step.turn(), step.index());
        Ok(seen(format!("{place:?}")))
    }
}

programs::export!(Program: PreStep);
