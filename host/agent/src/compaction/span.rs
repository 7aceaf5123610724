//! Which part of a surface gives way: its older nodes, cut where no tool call is open.

use dsh_session::{Message, Surface, tool_pairing};

use super::CompactError;
use super::gauge::of_message;

/// The older nodes of a surface, from its first one on.
#[derive(Debug, PartialEq)]
pub(super) struct Span {
    /// Their events, in surface order; never empty.
    pub(super) seqs: Vec<u64>,
    /// What of them a request holds.
    pub(super) messages: Vec<Message>,
    /// Their tokens, estimated.
    pub(super) tokens: u64,
}

impl Span {
    /// All nodes but the newest ones, of which as many stay as `retain` tokens hold.
    ///
    /// However few that are, the last one stays, with the call that it answers, and so does everything from the node
    /// `verbatim` on. None where nothing else is left, or nothing but checkpoints: a summary of a summary alone only
    /// loses.
    ///
    /// # Errors
    /// When the surface holds a result without its call.
    pub(super) fn older(
        surface: &Surface,
        retain: u64,
        verbatim: Option<u64>,
    ) -> Result<Option<Self>, CompactError> {
        let nodes = surface.nodes();
        let cuts = tool_pairing(surface).ok_or(CompactError::Unpaired)?;
        let last = verbatim.and_then(|seq| nodes.iter().position(|node| node.seq == seq));
        let last = last.unwrap_or(nodes.len()).min(nodes.len().saturating_sub(1));
        let mut kept: u64 = 0;
        let mut cut = 0;
        for (place, (node, around)) in nodes.iter().zip(&cuts).enumerate().rev() {
            kept = kept.saturating_add(of_message(&node.message));
            if place > last || !around.before {
                continue;
            }
            if cut > 0 && kept > retain {
                break;
            }
            cut = place;
            if kept > retain {
                break;
            }
        }
        let older = nodes.get(..cut).unwrap_or_default();
        if older.iter().all(|node| node.message.source().is_checkpoint()) {
            return Ok(None);
        }
        let spoken = older.iter().filter(|node| node.is_spoken());
        Ok(Some(Self {
            seqs: older.iter().map(|node| node.seq).collect(),
            messages: spoken.map(|node| node.message.clone()).collect(),
            tokens: older.iter().map(|node| of_message(&node.message)).sum(),
        }))
    }

    /// Its first and its last event.
    pub(super) fn range(&self) -> Option<(u64, u64)> {
        Some((*self.seqs.first()?, *self.seqs.last()?))
    }

    /// Whether its nodes still stand together, and first.
    pub(super) fn stands_on(&self, surface: &Surface) -> bool {
        let nodes = surface.nodes().iter().map(|node| node.seq);
        surface.nodes().len() >= self.seqs.len() && nodes.zip(&self.seqs).all(|(a, b)| a == *b)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use dsh_session::{Block, Draft, Json, Replay, SessionId, SurfaceOp};

    /// A log that grows at random, always the same for the same seed.
    struct Grown {
        replay: Replay,
        random: u64,
    }

    impl Grown {
        fn new(seed: u64) -> Self {
            let random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            Self { replay: Replay::new(SessionId::new("s")), random }
        }

        /// A number below `bound` (xorshift).
        fn below(&mut self, bound: u64) -> u64 {
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            self.random % bound
        }

        fn append(&mut self, kind: &str, data: &str, sources: Option<Vec<u64>>) {
            let draft = Draft::node(kind, Json::parse(data).unwrap(), sources);
            self.replay.event(&draft.at(self.replay.next_seq(), 0)).unwrap();
        }

        fn user(&mut self) {
            let text = "x".repeat(usize::try_from(self.below(200)).unwrap());
            let data = format!(
                r#"{{"id":"m{}","role":"user","source":{{"kind":"user"}},"content":[{{"type":"text","text":"{text}"}}]}}"#,
                self.replay.next_seq()
            );
            self.append("user/message", &data, None);
        }

        /// A reply with so many calls, of which the first `answered` have their results, in any order, with context
        /// between them now and then.
        fn reply(&mut self, calls: u64, answered: u64) {
            let seq = self.replay.next_seq();
            let block = |call| {
                format!(
                    r#"{{"type":"tool-call","id":"{seq}-{call}","name":"n","arguments":"{{}}"}}"#
                )
            };
            let content = (0..calls).map(block).collect::<Vec<_>>().join(",");
            let data = format!(
                r#"{{"turn":1,"step":1,"message":{{"id":"m{seq}","role":"assistant","source":{{"kind":"model","provider":"p","model":"m"}},"content":[{content}]}}}}"#
            );
            self.append("assistant/message", &data, Some(Vec::new()));
            for call in (0..answered).rev() {
                let at = self.replay.next_seq();
                let data = format!(
                    r#"{{"turn":1,"step":1,"message":{{"id":"m{at}","role":"user","source":{{"kind":"tool","callId":"{seq}-{call}"}},"content":[{{"type":"tool-result","toolCallId":"{seq}-{call}","content":[]}}]}}}}"#
                );
                self.append("tool/result", &data, None);
                if self.below(5) == 0 {
                    self.user();
                }
            }
        }

        fn turns(&mut self) {
            for _ in 0..self.below(12) {
                self.user();
                for _ in 0..self.below(3) {
                    let calls = self.below(4);
                    self.reply(calls, calls);
                }
            }
        }

        fn replace(&mut self, span: &Span) {
            let (start, end) = span.range().unwrap();
            let data = format!(
                r#"{{"id":"m{}","role":"user","source":{{"kind":"plugin","plugin":"compact"}},"content":[]}}"#,
                self.replay.next_seq()
            );
            let draft = Draft {
                surface_op: Some(SurfaceOp::Replace { start, end }),
                ..Draft::node("user/message", Json::parse(&data).unwrap(), Some(span.seqs.clone()))
            };
            self.replay.event(&draft.at(self.replay.next_seq(), 0)).unwrap();
        }
    }

    /// The calls and the results of some messages, by the ids of the calls.
    fn tools<'a>(
        messages: impl Iterator<Item = &'a Message>,
    ) -> (HashSet<String>, HashSet<String>) {
        let (mut calls, mut results) = (HashSet::new(), HashSet::new());
        for block in messages.flat_map(Message::blocks) {
            match block {
                Block::ToolCall(call) => _ = calls.insert(call.id.to_string()),
                Block::ToolResult(result) => _ = results.insert(result.call.to_string()),
                _ => {}
            }
        }
        (calls, results)
    }

    #[test]
    fn a_call_and_its_result_are_never_parted() {
        let mut spans = 0;
        for seed in 0..120 {
            let mut log = Grown::new(seed);
            for _ in 0..4 {
                log.turns();
                let retain = log.below(400);
                let before = log.replay.surface();
                let Some(span) = Span::older(&before, retain, None).unwrap() else { continue };
                spans += 1;
                let (gone, kept) = before.nodes().split_at(span.seqs.len());
                let (calls, results) = tools(gone.iter().map(|node| &node.message));
                assert_eq!(calls, results, "seed {seed}: what gives way is whole");
                let (calls, results) = tools(kept.iter().map(|node| &node.message));
                assert_eq!(calls, results, "seed {seed}: what stays is whole");
                assert!(!kept.is_empty());
                log.replace(&span);
                assert_eq!(log.replay.surface().nodes().len(), kept.len() + 1);
            }
        }
        assert!(spans > 200, "the logs are long enough to tell: {spans} spans");
    }

    #[test]
    fn what_stays_fits_unless_it_is_one_exchange_with_its_tools() {
        for seed in 0..120 {
            let mut log = Grown::new(seed);
            log.turns();
            let retain = log.below(400);
            let surface = log.replay.surface();
            let Some(span) = Span::older(&surface, retain, None).unwrap() else { continue };
            let kept = &surface.nodes()[span.seqs.len()..];
            let cuts = &tool_pairing(&surface).unwrap()[span.seqs.len() + 1..];
            let tokens: u64 = kept.iter().map(|node| of_message(&node.message)).sum();
            let divisible = cuts.iter().any(|cut| cut.before);
            assert!(tokens <= retain || !divisible, "seed {seed}: {tokens} of {retain}");
        }
    }

    #[test]
    fn an_open_call_stays_with_all_after_it() {
        let mut log = Grown::new(1);
        log.user();
        log.user();
        log.reply(2, 1);
        let span = Span::older(&log.replay.surface(), 0, None).unwrap().unwrap();
        assert_eq!(span.seqs, [0, 1]);
    }

    #[test]
    fn what_shall_stay_word_for_word_stays() {
        let mut log = Grown::new(1);
        (0..5).for_each(|_| log.user());
        let span = Span::older(&log.replay.surface(), 0, Some(2)).unwrap().unwrap();
        assert_eq!(span.seqs, [0, 1]);
        assert_eq!(Span::older(&log.replay.surface(), 0, Some(0)).unwrap(), None);
    }

    #[test]
    fn a_result_without_a_call_is_cut_nowhere() {
        let mut log = Grown::new(1);
        log.reply(1, 1);
        log.user();
        let data = r#"{"turn":1,"step":1,"message":{"id":"r","role":"user","source":{"kind":"tool","callId":"c"},"content":[{"type":"tool-result","toolCallId":"c","content":[]}]}}"#;
        log.append("tool/result", data, None);
        let older = Span::older(&log.replay.surface(), 0, None);
        assert!(matches!(older, Err(CompactError::Unpaired)));
    }

    #[test]
    fn a_checkpoint_alone_is_not_summarized_again() {
        let mut log = Grown::new(1);
        (0..3).for_each(|_| log.user());
        let span = Span::older(&log.replay.surface(), 0, None).unwrap().unwrap();
        assert!(span.stands_on(&log.replay.surface()));
        log.replace(&span);
        assert!(!span.stands_on(&log.replay.surface()));
        assert_eq!(Span::older(&log.replay.surface(), 0, None).unwrap(), None);
    }
}
