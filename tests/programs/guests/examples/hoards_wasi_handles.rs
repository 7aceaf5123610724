//! Handles of an empty WASI have the same limit as all others, and those given back do not count.

use programs::{Decision, Failure, Message, PreStep};

mod wasi {
    wit_bindgen::generate!({
        inline: r#"
            package test:guest;
            world guest { import wasi:clocks/monotonic-clock@0.2.0; }
            package wasi:io@0.2.0 { interface poll { resource pollable; } }
            package wasi:clocks@0.2.0 {
                interface monotonic-clock {
                    use wasi:io/poll@0.2.0.{pollable};
                    type duration = u64;
                    subscribe-duration: func(when: duration) -> pollable;
                }
            }
        "#,
        generate_all,
    });
}

use wasi::wasi::clocks::monotonic_clock::subscribe_duration;

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let many = 5_000;
        let hoards = batch.iter().any(|message| message.id() == "hoard");
        let mut kept = Vec::new();
        for _ in 0..many {
            let handle = subscribe_duration(1);
            if hoards {
                kept.push(handle);
            }
        }
        Ok(Decision::Enter(batch))
    }
}

programs::export!(Program: PreStep);
