//! A node at or past the length of a surface is no node.

use programs::{Decision, Failure, Message, PreStep, query};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let surfaces = query::read_surfaces(&["a".to_owned()]);
        for surface in surfaces.into_iter().flatten() {
            surface.texts(&[surface.length()]);
        }
        Ok(Decision::Enter(batch))
    }
}

programs::export!(Program: PreStep);
