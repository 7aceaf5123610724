//! A gate sees the whole call, and allows it, denies it, asks the person, fails or traps.

use programs::tool_gate::Verdict;
use programs::{Call, Failure, ToolGate, failure};

struct Program;

impl ToolGate for Program {
    fn check(call: Call) -> Result<Verdict, Failure> {
        match call.name().as_str() {
            "allow" => Ok(Verdict::Allow),
            "ask" => Ok(Verdict::Ask(Some("sure?".to_owned()))),
            "ask-plainly" => Ok(Verdict::Ask(None)),
            "fail" => Err(Failure { message: "out of tea".to_owned(), ..failure("OUT_OF_TEA") }),
            "trap" => panic!("one call too many"),
            name => Ok(Verdict::Deny(format!(
                "{} {} {} {} {name} {} {}",
                call.session(),
                call.turn(),
                call.step(),
                call.id(),
                call.arguments(),
                call.read_only()
            ))),
        }
    }
}

programs::export!(Program: ToolGate);
