//! A plugin finds the notes that it left, and waiting ones have no place yet.

use programs::{Decision, Failure, Message, PreStep, query, seen};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let _ = batch;
        let notes = query::own_notes("a")?.into_iter();
        let notes = notes.map(|note| format!("{:?} {} {}", note.seq, note.message, note.facts));
        Ok(seen(notes.collect::<Vec<_>>().join(", ")))
    }
}

programs::export!(Program: PreStep);
