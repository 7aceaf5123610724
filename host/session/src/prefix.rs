//! Prefixes of a log: what a fork may inherit (contracts §7.2, §7.3).

use thiserror::Error;

use crate::{Event, Events, NodeRole, Surface};

/// Why a log cannot be forked where it was asked.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ForkError {
    /// The boundary is no event of the log.
    #[error("event {0} is not in the log")]
    Boundary(u64),
    /// The boundary lies in a turn that has not ended there.
    #[error("the turn has not ended there")]
    OpenTurn,
    /// No turn has ended where it was asked, or at all.
    #[error("no turn has ended there")]
    NoTurn,
}

/// How many leading events a fork inherits that ends with event `boundary`, or with the last one.
///
/// # Errors
/// When the boundary lies outside of the log, or in an open turn.
pub fn fork_at(events: &Events, boundary: Option<u64>) -> Result<usize, ForkError> {
    let length = match boundary {
        None => events.len(),
        Some(seq) => usize::try_from(seq)
            .ok()
            .filter(|at| *at < events.len())
            .map(|at| at + 1)
            .ok_or(ForkError::Boundary(seq))?,
    };
    let before = events.single().take_while(|(at, _)| *at < length);
    match before.filter(|(_, event)| marks_turn(event)).last() {
        Some((_, event)) if &*event.kind == "turn/start" => Err(ForkError::OpenTurn),
        _ => Ok(length),
    }
}

/// How many leading events make up the completed turns: all through the last `turn/end`; zero where none has ended.
pub fn completed_turns(events: &Events) -> usize {
    let last = events.single().filter(|(_, event)| ends_turn(event)).last();
    last.map_or(0, |(at, _)| at + 1)
}

/// How many leading events a person's fork inherits who chose event `at`, or the end.
///
/// The turn of that event is inherited whole, and so is what follows it up to the next turn, such as a title.
///
/// # Errors
/// When that turn has not ended: the fork never holds less than the person chose.
pub fn fork_after_turn(events: &Events, at: Option<u64>) -> Result<usize, ForkError> {
    let at = at.and_then(|at| usize::try_from(at).ok()).filter(|at| *at < events.len());
    let mut ends = events.single().filter(|(_, event)| ends_turn(event)).map(|(at, _)| at + 1);
    let end = match at {
        Some(at) => ends.find(|end| *end > at),
        None => ends.last(),
    };
    let end = end.ok_or(ForkError::NoTurn)?;
    let mut after = events.single().skip_while(|(at, _)| *at < end);
    let next = after.find(|(_, event)| &*event.kind == "turn/start");
    Ok(next.map_or(events.len(), |(at, _)| at))
}

/// How many leading events a fork inherits that nobody chose a place for: the completed turns and what follows them up
/// to the next turn, never a part of a compaction; zero where no turn has ended.
///
/// A compaction that was under way when the session was opened anew is none: nobody goes on with it.
pub fn completed_prefix(events: &Events) -> usize {
    let turns = completed_turns(events);
    if turns == 0 {
        return 0;
    }
    let mut running = None;
    for (place, event) in events.single().skip_while(|(place, _)| *place < turns) {
        match &*event.kind {
            "turn/start" => return running.unwrap_or(place),
            "compaction/start" => running = running.or(Some(place)),
            "compaction/end" | "session/end-seed" => running = None,
            _ => {}
        }
    }
    running.unwrap_or(events.len())
}

/// Whether a surface may be cut before and after each of its nodes: where every tool call has its result.
///
/// Only their numbers count. None where a result stands without a call: such a surface was cut already.
pub fn tool_pairing(surface: &Surface) -> Option<Vec<Cut>> {
    let mut open: usize = 0;
    let cuts = surface.nodes().iter().map(|node| {
        let before = open == 0;
        match node.role {
            NodeRole::User => {}
            NodeRole::Assistant => open += node.message.calls().len(),
            NodeRole::Tool => open = open.checked_sub(1)?,
        }
        Some(Cut { before, after: open == 0 })
    });
    cuts.collect()
}

/// Where a surface may be cut around one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Right before it.
    pub before: bool,
    /// Right after it.
    pub after: bool,
}

/// Whether a turn starts or ends with it.
pub(crate) fn marks_turn(event: &Event) -> bool {
    &*event.kind == "turn/start" || ends_turn(event)
}

fn ends_turn(event: &Event) -> bool {
    &*event.kind == "turn/end"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Draft, Json};

    fn log(kinds: &[&str]) -> Events {
        let event =
            |(seq, kind): (u64, &&str)| Draft::new(kind, Json::parse("{}").unwrap()).at(seq, 0);
        (0..).zip(kinds).map(event).collect()
    }

    const TURNS: [&str; 6] =
        ["turn/start", "turn/end", "session/title", "turn/start", "step/start", "todo/write"];

    #[test]
    fn a_fork_ends_where_no_turn_is_open() {
        let log = log(&TURNS);
        assert_eq!(fork_at(&log, Some(2)), Ok(3));
        assert_eq!(fork_at(&log, Some(1)), Ok(2));
        assert_eq!(fork_at(&log, Some(0)), Err(ForkError::OpenTurn));
        assert_eq!(fork_at(&log, None), Err(ForkError::OpenTurn));
        assert_eq!(fork_at(&log, Some(6)), Err(ForkError::Boundary(6)));
        assert_eq!(fork_at(&Events::default(), None), Ok(0));
    }

    #[test]
    fn completed_turns_end_with_the_last_one() {
        assert_eq!(completed_turns(&log(&TURNS)), 2);
        assert_eq!(completed_turns(&log(&["turn/start"])), 0);
    }

    #[track_caller]
    fn prefix(kinds: &[&str], length: usize) {
        assert_eq!(completed_prefix(&log(kinds)), length, "{kinds:?}");
    }

    #[test]
    fn a_side_session_inherits_completed_turns_and_what_follows_them() {
        prefix(&[], 0);
        prefix(&["session/title", "turn/start", "step/start"], 0);
        prefix(&TURNS, 3);
        prefix(&["turn/start", "turn/end", "session/end-seed", "user/message"], 4);
    }

    #[test]
    fn a_side_session_inherits_no_part_of_a_compaction() {
        let turn = ["turn/start", "turn/end", "session/title"];
        let with = |rest: &[&'static str]| [&turn, rest].concat();
        let whole = ["compaction/start", "compaction/summary", "user/message", "compaction/end"];
        prefix(&with(&whole), 7);
        prefix(&with(&whole[..1]), 3);
        prefix(&with(&whole[..3]), 3);
        prefix(&with(&["compaction/start", "user/message", "turn/start"]), 3);
        prefix(&with(&["compaction/start", "session/end-seed", "user/message"]), 6);
    }

    #[test]
    fn a_person_forks_whole_turns() {
        let log = log(&TURNS);
        assert_eq!(fork_after_turn(&log, Some(0)), Ok(3));
        assert_eq!(fork_after_turn(&log, None), Ok(3));
        assert_eq!(fork_after_turn(&log, Some(99)), Ok(3));
        assert_eq!(fork_after_turn(&log, Some(3)), Err(ForkError::NoTurn));
    }
}
