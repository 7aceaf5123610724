//! A gate that allows everything has no say against one that does not.

use programs::tool_gate::Verdict;
use programs::{Call, Failure, ToolGate};

struct Program;

impl ToolGate for Program {
    fn check(_call: Call) -> Result<Verdict, Failure> {
        Ok(Verdict::Allow)
    }
}

programs::export!(Program: ToolGate);
