//! What an agent needs to know of the log that it goes on with.

use dsh_session::{Event, Fold};

use crate::compaction::Gauge;
use crate::header::Headers;
use crate::inbox::SPLICED;
use crate::{Inbox, Splice};

/// A log's inbox, turns and request headers, folded while the session is opened.
///
/// A new session starts with the default one; where it was seeded, fold the seed.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    turn: u64,
    headers: Headers,
    gauge: Gauge,
    /// The inbox as if the seed's were this session's own.
    whole: Inbox,
    /// What made the inbox since it was last empty, with the places of the events.
    ///
    /// Which of it is the seed's is only known at the end. A splice of the session itself counts on an inbox without
    /// the seed's messages, so where the whole one is empty, its own one is.
    splices: Vec<(u64, Splice)>,
    /// The end of the last step: what lies before it was sent.
    asked_through: u64,
}

impl Progress {
    /// The place before which everything may have been sent to a model.
    pub(crate) fn asked_through(&self) -> u64 {
        self.asked_through
    }

    /// The last turn, the headers, how much there is, and what waits: a seed's pending work is not inherited
    /// (contracts §5.4).
    pub(crate) fn finish(self, seed_length: u64) -> (u64, Headers, Gauge, Inbox) {
        let mut inbox = Inbox::default();
        for (_, splice) in self.splices.iter().filter(|(seq, _)| *seq >= seed_length) {
            inbox.apply(splice);
        }
        (self.turn, self.headers, self.gauge, inbox)
    }
}

impl Fold for Progress {
    fn event(&mut self, event: &Event) {
        self.gauge.event(event);
        match &*event.kind {
            SPLICED => {
                if let Some(splice) = Splice::parse(&event.data) {
                    self.whole.apply(&splice);
                    self.splices.push((event.seq, splice));
                }
                if self.whole.is_empty() {
                    self.splices.clear();
                }
            }
            "turn/start" => {
                let turn = event.data.object().ok().and_then(|data| data.read("turn"));
                self.turn = turn.unwrap_or(self.turn + 1);
            }
            "step/end" => self.asked_through = event.seq,
            _ => self.headers.found(event),
        }
    }

    fn wants_chunks(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Target;
    use dsh_session::{Draft, Json};

    const INSERT: &str = r#"{"target":"next-turn","start":0,"inserted":[{"content":[],"source":{"kind":"user"},"role":"user","id":"ID"}]}"#;
    const CLAIM: &str = r#"{"target":"next-turn","start":0,"removedCount":1,"inserted":[]}"#;

    /// The ids that wait after these splices, with the first `seed_length` of them inherited.
    fn waiting(splices: &[&str], seed_length: u64) -> Vec<String> {
        let mut progress = Progress::default();
        for (seq, data) in (0..).zip(splices) {
            progress.event(&Draft::new(SPLICED, Json::parse(data).unwrap()).at(seq, 0));
        }
        let (_, _, _, inbox) = progress.finish(seed_length);
        let waiting = inbox.waiting(Target::NextTurn).iter();
        waiting.map(|message| message.id().to_owned()).collect()
    }

    #[test]
    fn what_was_not_claimed_waits() {
        let [a, b] = ["a", "b"].map(|id| INSERT.replace("ID", id));
        assert_eq!(waiting(&[&a, &b, CLAIM], 0), ["a"]);
        assert_eq!(waiting(&[&a, CLAIM, &b], 0), ["b"]);
    }

    #[test]
    fn a_fork_does_not_inherit_what_waits() {
        let [a, b] = ["a", "b"].map(|id| INSERT.replace("ID", id));
        assert_eq!(waiting(&[&a], 1), Vec::<String>::new());
        assert_eq!(waiting(&[&a, &b, CLAIM], 1), Vec::<String>::new());
        assert_eq!(waiting(&[&a, &b], 1), ["b"]);
    }

    #[test]
    fn turns_go_on_where_the_log_left_off() {
        let mut progress = Progress::default();
        progress.event(&Draft::new("turn/start", Json::parse(r#"{"turn":7}"#).unwrap()).at(0, 0));
        assert_eq!(progress.finish(0).0, 7);
    }
}
