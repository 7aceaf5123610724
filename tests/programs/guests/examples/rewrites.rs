//! To change a text of the user takes the grant `rewrite-user`.

use programs::{Decision, Edit, Failure, Message, PreStep, next_messages};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let mut entered = Vec::new();
        for message in next_messages(batch)? {
            let edits = [(0, "first"), (0, "changed")];
            let edits = edits.map(|(index, text)| Edit { index, text: text.to_owned() });
            let changed = message.with_texts(&edits)?;
            assert_eq!(changed.id(), message.id());
            assert_eq!(changed.texts().first().cloned().flatten().as_deref(), Some("changed"));
            entered.push(changed);
        }
        Ok(Decision::Enter(entered))
    }
}

programs::export!(Program: PreStep);
