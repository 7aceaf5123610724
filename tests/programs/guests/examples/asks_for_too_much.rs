//! Texts that cannot fit the memory of the guest are refused before the host copies them.

use programs::{Decision, Failure, Message, PreStep, query};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let surfaces = query::read_surfaces(&["big".to_owned()]);
        for surface in surfaces.into_iter().flatten() {
            surface.texts(&[0; 65]);
        }
        Ok(Decision::Enter(batch))
    }
}

programs::export!(Program: PreStep);
