//! A plugin reads the settings that the operator gave it.

use programs::{Decision, Failure, Message, PreStep, seen, settings};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let _ = batch;
        let settings: std::collections::BTreeMap<String, u32> =
            settings().expect("an object of numbers");
        Ok(seen(format!("{settings:?}")))
    }
}

programs::export!(Program: PreStep);
