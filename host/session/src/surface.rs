//! The surface: what a session's model would see now, folded from its log (contracts §2).

use std::sync::Arc;

use crate::chain::{Chain, RangeError};
use crate::fit::{SurfaceError, check_rewrite, check_sources};
use crate::vocabulary::adds_user_message;
use crate::{Event, Json, Message, Raw, SurfaceOp};

/// Which event made a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeRole {
    /// `user/message`: a prompt, or context that a plugin added.
    User,
    /// `assistant/message`: a reply of the model.
    Assistant,
    /// `tool/result`.
    Tool,
}

/// One node of a surface.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The event that it is.
    pub seq: u64,
    /// What kind of event.
    pub role: NodeRole,
    /// Its message; an empty one of the assistant is a node and yet no part of a request.
    pub message: Message,
    /// UTF-8 bytes of the message's text blocks joined by newlines.
    pub text_bytes: usize,
    /// The data of a tool's result without its message, which no rewrite may change.
    pub(crate) rest: Option<Json>,
}

/// One observation of a surface. It never changes; clones share it.
#[derive(Clone, Debug, PartialEq)]
pub struct Surface {
    nodes: Arc<[Arc<Node>]>,
    captured_through: Option<u64>,
    generation: u64,
}

impl Surface {
    /// Its nodes in order, which after a replacement is not that of their events.
    pub fn nodes(&self) -> &[Arc<Node>] {
        &self.nodes
    }

    /// The newest event that it takes account of, whatever its type; none of an empty log.
    pub fn captured_through(&self) -> Option<u64> {
        self.captured_through
    }

    /// How many replacements made it.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The messages of the next request.
    pub fn messages(&self) -> Vec<Message> {
        let spoken = self.nodes.iter().filter(|node| node.is_spoken());
        spoken.map(|node| node.message.clone()).collect()
    }
}

impl Node {
    /// The node that an event with this message and data is; none where its type is no surface type.
    pub(crate) fn of(event: &Event, message: Message, data: Raw<'_>) -> Option<Self> {
        let role = role(&event.kind)?;
        let rest = match role {
            NodeRole::Tool => data.object()?.without(&["message"]),
            NodeRole::User | NodeRole::Assistant => None,
        };
        let text_bytes = message.text_bytes();
        Some(Self { seq: event.seq, role, message, text_bytes, rest })
    }

    /// Whether a request holds its message: an assistant's empty one only carries usage.
    pub fn is_spoken(&self) -> bool {
        self.role != NodeRole::Assistant || !self.message.is_empty()
    }
}

/// A replacement as it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// The event that made it.
    pub seq: u64,
    /// The first and the last node that it replaced.
    pub range: (u64, u64),
    /// Every node that it replaced, in surface order.
    pub shadowed: Vec<u64>,
}

/// Whether what an event says it was made from has been looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sources {
    /// They are earlier events, each named once. Whether those that it replaces are among them is another question.
    Sound,
    Unchecked,
}

/// A surface that grows event by event.
#[derive(Debug, Default)]
pub(crate) struct SurfaceFold {
    nodes: Chain<Arc<Node>>,
    next: u64,
    generation: u64,
    /// The last observation, until the next node.
    observed: Option<Arc<[Arc<Node>]>>,
}

impl SurfaceFold {
    /// The place of the next event.
    pub(crate) fn next_seq(&self) -> u64 {
        self.next
    }

    /// The node that event `seq` is, while it is one.
    pub(crate) fn node(&self, seq: u64) -> Option<&Node> {
        self.nodes.get(seq).map(|node| &**node)
    }

    /// Takes the next event, with the node that it is where its type is a surface type.
    ///
    /// # Errors
    /// When the event does not fit; the surface is then as it was.
    pub(crate) fn push(
        &mut self,
        event: &Event,
        node: Option<&Arc<Node>>,
        sources: Sources,
    ) -> Result<Option<Replacement>, SurfaceError> {
        if event.seq != self.next {
            return Err(SurfaceError::Place { expected: self.next, found: Some(event.seq) });
        }
        let Some(node) = node else {
            if event.surface_op.is_some() {
                return Err(SurfaceError::OpOnLogEvent);
            }
            if event.sources.is_some() {
                return Err(SurfaceError::SourcesOnLogEvent);
            }
            self.next += 1;
            return Ok(None);
        };
        let replacement = match event.surface_op.ok_or(SurfaceError::OpMissing)? {
            SurfaceOp::Append => {
                if sources == Sources::Unchecked {
                    check_sources(event, &[])?;
                }
                self.nodes.push(event.seq, node.clone());
                None
            }
            SurfaceOp::Replace { start, end } => {
                let shadowed = self.nodes.range(start, end).map_err(|error| match error {
                    RangeError::NoStart => SurfaceError::NoStart(start),
                    RangeError::NoEnd => SurfaceError::NoEnd(end),
                    RangeError::Reversed => SurfaceError::Reversed { start, end },
                })?;
                check_sources(event, &shadowed)?;
                self.check_rewrite(node, &shadowed)?;
                self.nodes.replace(&shadowed, event.seq, node.clone());
                self.generation += 1;
                Some(Replacement { seq: event.seq, range: (start, end), shadowed })
            }
        };
        self.next += 1;
        self.observed = None;
        Ok(replacement)
    }

    /// Passes over `count` events that are no nodes.
    pub(crate) fn skip(&mut self, count: u64) {
        self.next += count;
    }

    /// The surface as it is now.
    pub(crate) fn observe(&mut self) -> Surface {
        let nodes = self.observed.get_or_insert_with(|| self.nodes.iter().cloned().collect());
        Surface {
            nodes: nodes.clone(),
            captured_through: self.next.checked_sub(1),
            generation: self.generation,
        }
    }

    /// A tool's result may be rewritten (shortened, say), and only its content.
    fn check_rewrite(&self, node: &Node, shadowed: &[u64]) -> Result<(), SurfaceError> {
        if node.role != NodeRole::Tool {
            return Ok(());
        }
        match shadowed {
            [shadowed] => check_rewrite(self.node(*shadowed), node),
            _ => Err(SurfaceError::RewriteTarget),
        }
    }
}

fn role(kind: &str) -> Option<NodeRole> {
    match kind {
        kind if adds_user_message(kind) => Some(NodeRole::User),
        "assistant/message" => Some(NodeRole::Assistant),
        "tool/result" => Some(NodeRole::Tool),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Draft, EventError, Replay, SessionId};

    /// Folds nodes: of each what it replaces, where it replaces anything, and what it cites.
    struct Nodes(Replay);

    impl Nodes {
        fn appended(count: u64) -> Self {
            let mut nodes = Self(Replay::new(SessionId::new("s")));
            (0..count).for_each(|_| nodes.user(None, None).unwrap());
            nodes
        }

        fn user(
            &mut self,
            replaces: Option<(u64, u64)>,
            cites: Option<&[u64]>,
        ) -> Result<(), SurfaceError> {
            let data = format!(
                r#"{{"id":"m{}","role":"user","content":[],"source":{{"kind":"user"}}}}"#,
                self.0.next_seq()
            );
            self.take("user/message", &data, replaces, cites)
        }

        fn result(
            &mut self,
            turn: u64,
            content: &str,
            replaces: Option<(u64, u64)>,
        ) -> Result<(), SurfaceError> {
            let data = format!(
                r#"{{"turn":{turn},"message":{{"id":"r","role":"user","content":[{{"type":"tool-result","toolCallId":"c","content":[{content}]}}],"source":{{"kind":"tool","callId":"c"}}}}}}"#
            );
            let cites = replaces.map(|(start, end)| (start..=end).collect::<Vec<_>>());
            self.take("tool/result", &data, replaces, cites.as_deref())
        }

        fn take(
            &mut self,
            kind: &str,
            data: &str,
            replaces: Option<(u64, u64)>,
            cites: Option<&[u64]>,
        ) -> Result<(), SurfaceError> {
            let mut draft =
                Draft::node(kind, Json::parse(data).unwrap(), cites.map(<[u64]>::to_vec));
            if let Some((start, end)) = replaces {
                draft.surface_op = Some(SurfaceOp::Replace { start, end });
            }
            match self.0.event(&draft.at(self.0.next_seq(), 0)) {
                Ok(_) => Ok(()),
                Err(EventError::Surface(error)) => Err(error),
                Err(other) => panic!("{other}"),
            }
        }

        #[track_caller]
        fn are(&mut self, seqs: &[u64]) {
            let found: Vec<u64> = self.0.surface().nodes().iter().map(|node| node.seq).collect();
            assert_eq!(found, seqs);
        }
    }

    #[test]
    fn order_is_that_of_positions() {
        let mut nodes = Nodes::appended(3);
        nodes.user(Some((0, 1)), Some(&[0, 1])).unwrap();
        nodes.are(&[3, 2]);
        let reversed = nodes.user(Some((2, 3)), Some(&[2, 3]));
        assert_eq!(reversed, Err(SurfaceError::Reversed { start: 2, end: 3 }));
        nodes.user(Some((3, 2)), Some(&[3, 2, 0])).unwrap();
        nodes.are(&[4]);
        assert_eq!(nodes.0.surface().generation(), 2);
    }

    #[test]
    fn what_was_replaced_is_no_node() {
        let mut nodes = Nodes::appended(2);
        nodes.user(Some((0, 0)), Some(&[0])).unwrap();
        assert_eq!(nodes.user(Some((0, 1)), Some(&[0, 1])), Err(SurfaceError::NoStart(0)));
        assert_eq!(nodes.user(Some((2, 9)), Some(&[0, 1])), Err(SurfaceError::NoEnd(9)));
        nodes.are(&[2, 1]);
    }

    #[test]
    fn a_node_names_what_it_was_made_from() {
        let mut nodes = Nodes::appended(2);
        assert_eq!(nodes.user(Some((0, 1)), Some(&[0])), Err(SurfaceError::SourcesMiss(1)));
        assert_eq!(nodes.user(Some((0, 1)), None), Err(SurfaceError::SourcesMiss(0)));
        assert_eq!(nodes.user(None, Some(&[])), Err(SurfaceError::SourcesEmpty));
        assert_eq!(nodes.user(None, Some(&[1, 0, 1])), Err(SurfaceError::SourcesRepeat(1)));
        assert_eq!(nodes.user(None, Some(&[2])), Err(SurfaceError::SourcesNotEarlier(2)));
        nodes.are(&[0, 1]);
    }

    #[test]
    fn a_rewrite_changes_only_what_the_tool_gave() {
        let mut nodes = Nodes::appended(1);
        nodes.result(1, r#"{"type":"text","text":"long"}"#, None).unwrap();
        nodes.result(1, "", Some((1, 1))).unwrap();
        nodes.are(&[0, 2]);
        assert_eq!(nodes.result(2, "", Some((2, 2))), Err(SurfaceError::RewriteChanged));
        assert_eq!(nodes.result(1, "", Some((0, 0))), Err(SurfaceError::RewriteTarget));
        nodes.user(Some((2, 2)), Some(&[2])).unwrap();
        nodes.are(&[0, 3]);
    }
}
