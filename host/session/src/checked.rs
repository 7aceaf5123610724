//! What a replay has found out about an event, so that another need not look again.

use std::sync::Arc;

use crate::{Event, Json, Kind, Node};

/// Set on events that a replay has taken from a log. An event that is changed afterwards is checked like a new one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checked(Option<Arc<Findings>>);

#[derive(Debug)]
struct Findings {
    seq: u64,
    kind: Kind,
    data: Json,
    node: Option<Arc<Node>>,
}

impl Checked {
    /// What was found out about `event`: it can be in a log, in its current shape, and is this node.
    pub(crate) fn new(event: &Event, node: Option<Arc<Node>>) -> Self {
        let Event { seq, kind, data, .. } = event;
        Self(Some(Arc::new(Findings { seq: *seq, kind: kind.clone(), data: data.clone(), node })))
    }

    /// The node that `event` is, if it is one; none where it is not known whether the event can be in a log.
    pub(crate) fn node(&self, event: &Event) -> Option<Option<&Arc<Node>>> {
        let found = self.0.as_ref()?;
        let same = found.seq == event.seq
            && found.kind == event.kind
            && found.data.is_the_same_text(&event.data);
        same.then_some(found.node.as_ref())
    }
}

/// Events are the same whether they have been checked or not.
impl PartialEq for Checked {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
