//! A command sees how it was given, and comes to a text, a draft or a question.

use programs::commands::{Command, Draft, Outcome, Question};
use programs::{Commands, Failure, Invocation, failure};

struct Program;

impl Commands for Program {
    fn available() -> Vec<Command> {
        let command = |name: &str| Command {
            name: name.to_owned(),
            summary: format!("What {name} does"),
            arguments: "[what]".to_owned(),
        };
        ["tell", "draft-it", "ask", "fail"].map(command).to_vec()
    }

    fn run(invocation: Invocation) -> Result<Outcome, Failure> {
        let text = format!(
            "{} {:?} {:?} {:?}",
            invocation.session(),
            invocation.cwd(),
            invocation.arguments(),
            invocation.edited()
        );
        let (name, arguments) = ("tell".to_owned(), "it".to_owned());
        match invocation.name().as_str() {
            "tell" => Ok(Outcome::Text(text)),
            "draft-it" => Ok(Outcome::Draft(Draft { text, name, arguments })),
            "ask" => Ok(Outcome::Question(Question { text, name, arguments })),
            _ => Err(failure("NO_SUCH_COMMAND")),
        }
    }
}

programs::export!(Program: Commands);
