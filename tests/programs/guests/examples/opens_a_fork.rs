//! A session is born of a seed and of contexts that name their plugin, and a command opens it.

use programs::agents::{self, Birth};
use programs::commands::{Command, Opening, Outcome};
use programs::{Block, Commands, Failure, Invocation};

struct Program;

impl Commands for Program {
    fn available() -> Vec<Command> {
        Vec::new()
    }

    fn run(invocation: Invocation) -> Result<Outcome, Failure> {
        let seed = agents::current()?.completed_turns(None)?;
        let length = seed.length();
        let birth = Birth::new(seed);
        let forged = r#"{"kind":"plugin","plugin":"somebody-else"}"#;
        for text in ["first", "second"] {
            birth.add_context(&[Block::Text(text.to_owned())], forged)?;
        }
        let reserved = birth.add_context(&[], r#"{"kind":"user"}"#);
        assert_eq!(reserved.map_err(|failure| failure.code), Err("not-granted".to_owned()));
        let child = Birth::create(birth)?;
        Ok(Outcome::Opened(Opening {
            session: child.session(),
            send: Some(invocation.arguments()),
            notice: Some(format!("{length} events")),
        }))
    }
}

programs::export!(Program: Commands);
