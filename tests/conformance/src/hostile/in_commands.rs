//! What a plugin tries in its commands and as a gate.

use dsh_plugin_host::Limit;
use program_tests as programs;

use super::{Attempt, Case, Expect, program};

/// All of them.
pub(super) fn cases() -> Vec<Case> {
    [commands(), agents(), gates()].into_iter().flatten().collect()
}

fn commanded(path: &str, arguments: &'static str) -> Attempt {
    program(path).commanded(arguments)
}

fn commands() -> Vec<Case> {
    vec![
        Case::new(
            "opens a session whose agent it never held",
            commanded(programs::OPENS_A_STRANGER, "s").expects(Expect::Refused("has not held")),
            commanded(programs::OPENS_A_FORK, "why?"),
        ),
        Case::new(
            "sends as the person's own what they have not typed",
            commanded(programs::SPEAKS_FOR_THE_PERSON, "why?")
                .expects(Expect::Refused("have not typed")),
            commanded(programs::OPENS_A_FORK, "why?"),
        ),
        Case::new(
            "names a command that nobody can type",
            commanded(programs::OFFERS_WHAT_NOBODY_CAN_TYPE, "")
                .expects(Expect::Refused("cannot be a command's name")),
            commanded(programs::INJECTS, ""),
        ),
        Case::new(
            "keeps the processor in a command",
            commanded(programs::LOOPS_IN_A_COMMAND, "").expects(Expect::Limit(Limit::Cpu)),
            commanded(programs::INJECTS, ""),
        ),
        Case::new(
            "hands an agent more than it may hand over",
            commanded(programs::HANDS_BACK_TOO_MUCH, "4000000")
                .expects(Expect::Limit(Limit::Output)),
            commanded(programs::HANDS_BACK_TOO_MUCH, "100000"),
        ),
        Case::new(
            "acts on agents without end",
            commanded(programs::ASKS_FOR_EVER, "for ever").expects(Expect::Limit(Limit::Acts)),
            commanded(programs::ASKS_FOR_EVER, "16"),
        ),
    ]
}

fn agents() -> Vec<Case> {
    let dropped = |arguments| commanded(programs::USES_A_DROPPED_AGENT, arguments);
    vec![
        Case::new(
            "imports agents that it was not granted",
            commanded(programs::INJECTS, "").denied().expects(Expect::NotLoaded("not granted")),
            commanded(programs::INJECTS, ""),
        ),
        Case::new(
            "imports agents that it does not declare",
            commanded(programs::INJECTS, "")
                .undeclared()
                .expects(Expect::NotLoaded("does not declare")),
            commanded(programs::INJECTS, ""),
        ),
        Case::new(
            "creates one session twice",
            commanded(programs::CREATES_TWICE, "twice").expects(Expect::Trap),
            commanded(programs::CREATES_TWICE, "once"),
        ),
        Case::new(
            "uses an agent that it dropped",
            dropped("dropped").expects(Expect::Trap),
            dropped("held"),
        ),
        Case::new("makes up an agent", dropped("made up").expects(Expect::Trap), dropped("held")),
        Case::new(
            "changes a system prompt without the grant",
            commanded(programs::APPENDS_SYSTEM, "")
                .without_append_system()
                .expects(Expect::Fails("not-granted")),
            commanded(programs::APPENDS_SYSTEM, ""),
        ),
        Case::new(
            "looks for an agent in a step",
            program(programs::ACTS_OUTSIDE_A_COMMAND).expects(Expect::Says("no-agent")),
            commanded(programs::ACTS_OUTSIDE_A_COMMAND, ""),
        ),
    ]
}

fn gates() -> Vec<Case> {
    let judges = |tool| program(programs::JUDGES).asked_about(tool);
    let denied = |tool| judges(tool).expects(Expect::Denies);
    vec![
        Case::new("traps as a gate, which denies", denied("trap"), judges("allow")),
        Case::new("fails as a gate, which denies", denied("fail"), judges("allow")),
        Case::new(
            "allows what another gate denies",
            program(programs::ALLOWS)
                .before(programs::JUDGES)
                .asked_about("edit")
                .expects(Expect::Denies),
            program(programs::ALLOWS).before(programs::JUDGES).asked_about("allow"),
        ),
        Case::new(
            "is in quarantine as a gate, which denies",
            denied("trap").called(5),
            judges("allow").called(5),
        ),
    ]
}
