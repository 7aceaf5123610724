//! A plugin that exits ends its own call and nothing else.

use programs::{Decision, Failure, Message, PreStep};

mod wasi {
    wit_bindgen::generate!({
        inline: r#"
            package test:guest;
            world guest { import wasi:cli/exit@0.2.6; }
            package wasi:cli@0.2.6 {
                interface exit { exit: func(status: result); }
            }
        "#,
        generate_all,
    });
}

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        wasi::wasi::cli::exit::exit(Ok(()));
        Ok(Decision::Enter(batch))
    }
}

programs::export!(Program: PreStep);
