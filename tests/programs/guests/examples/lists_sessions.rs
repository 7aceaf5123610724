//! The host tells the store which plugin asks, and on behalf of which session.

use programs::{Decision, Failure, Message, PreStep, query, seen};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let _ = batch;
        let sessions = query::list_sessions()?.into_iter().map(|header| header.id);
        Ok(seen(sessions.collect::<Vec<_>>().join(" ")))
    }
}

programs::export!(Program: PreStep);
