//! A message is injected once under a key, which is in its facts, and can be withdrawn once.

use programs::agents;
use programs::commands::{Command, Outcome};
use programs::{Block, Commands, Failure, Invocation};

struct Program;

impl Commands for Program {
    fn available() -> Vec<Command> {
        Vec::new()
    }

    fn run(_invocation: Invocation) -> Result<Outcome, Failure> {
        let agent = agents::current()?;
        let (text, facts) = ([Block::Text("note".to_owned())], r#"{"kind":"plugin","key":"mine"}"#);
        let first = agent.inject(&text, facts, "k")?;
        let second = agent.inject(&text, facts, "k")?;
        assert_eq!((first.existed(), second.existed()), (false, true));
        assert_eq!((first.message(), first.seq()), (second.message(), second.seq()));
        let reserved = agent.inject(&text, r#"{"kind":"user"}"#, "l").map(|_| ());
        let broken = agent.inject(&text, "[]", "l").map(|_| ());
        let gone = agent.withdraw(&first.message(), &text, facts);
        let again = agent.withdraw(&first.message(), &text, facts);
        let stranger = agent.withdraw("nobody's", &text, facts);
        let codes = [reserved, broken, gone, again, stranger].map(|done| match done {
            Ok(()) => "done".to_owned(),
            Err(failure) => failure.code,
        });
        Ok(Outcome::Text(codes.join(" ")))
    }
}

programs::export!(Program: Commands);
