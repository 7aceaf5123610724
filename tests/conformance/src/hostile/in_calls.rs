//! What a plugin tries while it is called.

use dsh_plugin_host::{FAULTS_UNTIL_QUARANTINE, Limit, Scope};
use program_tests as programs;

use super::{Attempt, Case, Expect, passes, program};

/// All of them.
pub(super) fn cases() -> Vec<Case> {
    [limits(), deaths(), chains(), users(), forgeries(), reads()].into_iter().flatten().collect()
}

fn stopped(path: &str, limit: Limit) -> Attempt {
    program(path).expects(Expect::Limit(limit))
}

fn limits() -> Vec<Case> {
    let many_calls = |attempt: Attempt| attempt.limited(|limits| limits.host_calls = u64::MAX);
    let short = |attempt: Attempt| attempt.limited(|limits| limits.wall_ms = 50);
    let small = |attempt: Attempt| attempt.limited(|limits| limits.memory_bytes = 8 << 20);
    vec![
        Case::new("loops for ever", stopped(programs::LOOPS, Limit::Cpu), passes()),
        Case::new(
            "loops for ever between imports",
            many_calls(stopped(programs::LOOPS_BETWEEN_IMPORTS, Limit::Cpu)),
            program(programs::DROPS_HANDLES),
        ),
        Case::new(
            "loops for ever below other links",
            passes().before(programs::LOOPS).expects(Expect::Limit(Limit::Cpu)),
            passes().before(programs::PASSES),
        ),
        Case::new(
            "calls an import for ever",
            stopped(programs::CALLS_FOR_EVER, Limit::HostCalls),
            program(programs::READS_TITLES),
        ),
        Case::new(
            "eats memory",
            stopped(programs::EATS_MEMORY, Limit::Memory),
            program(programs::USES_MEMORY),
        ),
        Case::new(
            "uses more memory than its own manifest wants",
            small(stopped(programs::USES_MEMORY, Limit::Memory)),
            program(programs::USES_MEMORY),
        ),
        Case::new("recurses for ever", stopped(programs::RECURSES, Limit::Stack), passes()),
        Case::new(
            "hands over one huge result",
            stopped(programs::FLOODS_OUTPUT, Limit::Output),
            program(programs::ADDS_CONTEXT),
        ),
        Case::new(
            "hands over a huge result in small parts",
            stopped(programs::TRICKLES_OUTPUT, Limit::Output),
            program(programs::ADDS_CONTEXT),
        ),
        Case::new(
            "asks for more than its memory holds",
            stopped(programs::ASKS_FOR_TOO_MUCH, Limit::Memory),
            program(programs::READS_SURFACES),
        ),
        Case::new(
            "hoards handles",
            stopped(programs::HOARDS_HANDLES, Limit::Handles),
            program(programs::DROPS_HANDLES),
        ),
        Case::new(
            "waits for an import that never answers",
            short(stopped(programs::WAITS, Limit::Wall).hanging()),
            short(program(programs::WAITS)),
        ),
        Case::new(
            "has one call too many at one time",
            passes()
                .limited(|limits| limits.concurrent_calls = 0)
                .expects(Expect::Limit(Limit::ConcurrentCalls)),
            passes().limited(|limits| limits.concurrent_calls = 1),
        ),
        Case::new(
            "floods the log",
            program(programs::FLOODS_LOG),
            program(programs::TELLS_ITS_SETTINGS),
        ),
    ]
}

fn deaths() -> Vec<Case> {
    let dies = |path| program(path).expects(Expect::Trap);
    let often = FAULTS_UNTIL_QUARANTINE as usize + 1;
    vec![
        Case::new("panics", dies(programs::PANICS), passes()),
        Case::new(
            "panics after `next`",
            dies(programs::PANICS_AFTER_NEXT),
            program(programs::PANICS_WHEN_ASKED),
        ),
        Case::new("makes up a handle", dies(programs::MAKES_UP_A_HANDLE), passes()),
        Case::new(
            "uses a handle that it dropped",
            dies(programs::USES_A_DROPPED_HANDLE),
            program(programs::DROPS_HANDLES),
        ),
        Case::new(
            "faults again and again",
            program(programs::PANICS).called(often).expects(Expect::Quarantine),
            passes().called(often),
        ),
        Case::new(
            "fails again and again, which is no fault",
            program(programs::FAILS).called(often).expects(Expect::Fails("OUT_OF_TEA")),
            passes().called(often),
        ),
        Case::new(
            "reads past a surface's end",
            program(programs::READS_PAST_THE_END).expects(Expect::Refused("node 2")),
            program(programs::READS_SURFACES),
        ),
    ]
}

fn chains() -> Vec<Case> {
    vec![
        Case::new(
            "calls `next` twice",
            program(programs::CALLS_NEXT_TWICE).expects(Expect::Fails("next-called-twice")),
            passes(),
        ),
        Case::new(
            "never calls `next`, which it may",
            program(programs::STOPS).before(programs::REJECTS),
            passes().before(programs::REJECTS),
        ),
        Case::new(
            "decides after `next` failed",
            program(programs::DECIDES_AFTER_FAILURE)
                .before(programs::FAILS)
                .expects(Expect::Fails("OUT_OF_TEA")),
            program(programs::DECIDES_AFTER_FAILURE).before(programs::PASSES),
        ),
        Case::new(
            "hides the failure of `next` behind its own",
            program(programs::FAILS_OTHERWISE)
                .before(programs::FAILS)
                .expects(Expect::Fails("OUT_OF_TEA")),
            passes().before(programs::PASSES),
        ),
        Case::new(
            "fails with details that are no JSON",
            program(programs::FAILS_WITH_BROKEN_DETAILS).expects(Expect::Refused("`details`")),
            program(programs::REJECTS),
        ),
    ]
}

fn users() -> Vec<Case> {
    let twice = Expect::Refused("is there twice");
    let left_out = Expect::Refused("is left out");
    vec![
        Case::new(
            "brings a user message twice",
            program(programs::DUPLICATES).expects(twice),
            passes(),
        ),
        Case::new(
            "brings a user message twice before `next`",
            program(programs::DUPLICATES_FOR_NEXT).before(programs::PASSES).expects(twice),
            passes().before(programs::PASSES),
        ),
        Case::new(
            "leaves a user message out without the grant",
            program(programs::LEAVES_OUT).ungranted().expects(left_out),
            program(programs::LEAVES_OUT),
        ),
        Case::new(
            "hides a user message from `next` without the grant",
            program(programs::HIDES_FROM_NEXT).ungranted().expects(left_out),
            program(programs::HIDES_FROM_NEXT),
        ),
        Case::new(
            "undoes what was done to a user message without the grant",
            program(programs::PUTS_BACK)
                .ungranted()
                .before(programs::REWRITES)
                .expects(Expect::Refused("is not as `next` returned it")),
            program(programs::PUTS_BACK).before(programs::REWRITES),
        ),
        Case::new(
            "changes a user's text without the grant",
            program(programs::REWRITES).ungranted().expects(Expect::Fails("not-granted")),
            program(programs::REWRITES),
        ),
    ]
}

fn reads() -> Vec<Case> {
    let blind = |path| program(path).scoped(Scope::None);
    vec![
        Case::new(
            "lists sessions outside its scope",
            blind(programs::LISTS_SESSIONS).expects(Expect::Says("")),
            program(programs::LISTS_SESSIONS).expects(Expect::Says("b a")),
        ),
        Case::new(
            "reads titles outside its scope",
            blind(programs::READS_TITLES)
                .expects(Expect::Says("not-found not-found not-found not-found")),
            program(programs::READS_TITLES).expects(Expect::Says("Title not-found none Title")),
        ),
        Case::new(
            "reads texts outside its scope",
            blind(programs::READS_SURFACES).expects(Expect::Fails("not-found")),
            program(programs::READS_SURFACES),
        ),
        Case::new(
            "reads notes outside its scope",
            blind(programs::READS_OWN_NOTES).expects(Expect::Fails("not-found")),
            program(programs::READS_OWN_NOTES),
        ),
        Case::new(
            "is cancelled in a read",
            program(programs::WAITS).hanging().expects(Expect::GivenUp),
            program(programs::WAITS),
        ),
    ]
}

/// Each of these programs tries all it can and asserts that it was told no; a trap would be an assertion that failed.
fn forgeries() -> Vec<Case> {
    vec![
        Case::new(
            "speaks for the user, the model or a tool",
            program(programs::RESERVED_KINDS),
            program(programs::GRANTED_KIND),
        ),
        Case::new(
            "speaks under a kind that it was not granted",
            program(programs::GRANTED_KIND).ungranted().expects(Expect::Fails("not-granted")),
            program(programs::GRANTED_KIND),
        ),
        Case::new(
            "gives context a source that is no JSON",
            program(programs::INVALID_FACTS),
            program(programs::ADDS_CONTEXT),
        ),
        Case::new(
            "gives context the name of another plugin, which the host writes over",
            program(programs::ADDS_CONTEXT).ungranted(),
            program(programs::ADDS_CONTEXT),
        ),
        Case::new(
            "edits what is no text of the user's",
            program(programs::EDITS_WHAT_IT_CANNOT),
            program(programs::REWRITES),
        ),
    ]
}
