//! A message is read as it is: id, source, facts and every block.

use programs::{Block, Decision, Failure, Message, PreStep, Source, seen};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let mut text = String::new();
        for message in batch {
            let source = match message.source() {
                Source::User => "user".to_owned(),
                Source::Plugin(id) => format!("plugin {id}"),
                Source::Checkpoint => "checkpoint".to_owned(),
                Source::Other(kind) => format!("other {kind}"),
            };
            let blocks = message.content().into_iter().map(|block| match block {
                Block::Text(text) => text,
                Block::Other(json) => json,
            });
            let blocks = blocks.collect::<Vec<_>>().join("+");
            assert_eq!(message.content().len(), message.texts().len());
            text += &format!("{} {source} {} {blocks};", message.id(), message.facts());
        }
        Ok(seen(text))
    }
}

programs::export!(Program: PreStep);
