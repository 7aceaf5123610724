//! Whether an event fits the surface that it stands on (contracts §2).

use std::borrow::Cow;

use thiserror::Error;

use crate::equal::same;
use crate::{Event, Json, MAX_SAFE_INTEGER, Node, NodeRole, Object, Raw};

/// Why an event does not fit the surface that it stands on.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SurfaceError {
    /// Places have gaps.
    #[error("its place is not {expected}, which was due")]
    Place {
        /// The next place.
        expected: u64,
        /// The event's; none where it names none.
        found: Option<u64>,
    },
    /// A type that is no node says how it changes the surface.
    #[error("it changes the surface, and its type cannot")]
    OpOnLogEvent,
    /// A type that is no node names what it was made from.
    #[error("it names source events, and its type has none")]
    SourcesOnLogEvent,
    /// A node does not say how it changes the surface.
    #[error("it does not say how it changes the surface")]
    OpMissing,
    /// It says so in a way that nobody writes.
    #[error("its surface operation is neither `append` nor a replacement")]
    Op,
    /// A replacement that is not exactly a start and an end.
    #[error("its replacement is not exactly `op`, `start` and `end`")]
    Replace,
    /// No node stands where a replacement starts.
    #[error("it replaces nodes from {0} on, which is no node of the surface")]
    NoStart(u64),
    /// No node stands where a replacement ends.
    #[error("it replaces nodes up to {0}, which is no node of the surface")]
    NoEnd(u64),
    /// A replacement's end stands before its start.
    #[error("it replaces nodes from {start} to {end}, and {end} stands first")]
    Reversed {
        /// The first node's event.
        start: u64,
        /// The last node's event.
        end: u64,
    },
    /// Its sources are no list.
    #[error("its source events are no list")]
    SourcesNoList,
    /// One of its sources is no place in a log.
    #[error("one of its source events is no place in a log")]
    SourcesNoSeq,
    /// Only a reply may have been made from nothing.
    #[error("its list of source events is empty")]
    SourcesEmpty,
    /// A source is named twice.
    #[error("it names source event {0} twice")]
    SourcesRepeat(u64),
    /// A source is itself or comes later.
    #[error("it names source event {0}, which does not come before it")]
    SourcesNotEarlier(u64),
    /// A node would vanish without a trace.
    #[error("it replaces node {0} without naming it as a source")]
    SourcesMiss(u64),
    /// A tool's result may replace one other alone.
    #[error("it is a tool's result and replaces other than one tool's result")]
    RewriteTarget,
    /// A rewrite changes more than the result's content.
    #[error("it rewrites a tool's result and changes more than its content")]
    RewriteChanged,
}

/// Checks the events that a node was made from, in time linear in their number.
pub(crate) fn check_sources(event: &Event, shadowed: &[u64]) -> Result<(), SurfaceError> {
    let sources = event.sources.as_deref().unwrap_or_default();
    if event.sources.is_some() && sources.is_empty() && &*event.kind != "assistant/message" {
        return Err(SurfaceError::SourcesEmpty);
    }
    let in_order = sources.is_sorted_by(|one, next| one < next)
        && sources.last().is_none_or(|last| *last < event.seq);
    let sorted = if in_order { Cow::Borrowed(sources) } else { sort(sources, event.seq)?.into() };
    match shadowed.iter().find(|seq| sorted.binary_search(seq).is_err()) {
        Some(missing) => Err(SurfaceError::SourcesMiss(*missing)),
        None => Ok(()),
    }
}

/// Places before `seq`, each once, in order.
fn sort(sources: &[u64], seq: u64) -> Result<Vec<u64>, SurfaceError> {
    if sources.iter().any(|seq| *seq > MAX_SAFE_INTEGER) {
        return Err(SurfaceError::SourcesNoSeq);
    }
    let mut sorted = sources.to_vec();
    sorted.sort_unstable();
    let repeated = sorted.windows(2).find_map(|pair| match pair {
        [one, other] if one == other => Some(*one),
        _ => None,
    });
    if let Some(seq) = repeated {
        return Err(SurfaceError::SourcesRepeat(seq));
    }
    match sources.iter().find(|source| **source >= seq) {
        Some(later) => Err(SurfaceError::SourcesNotEarlier(*later)),
        None => Ok(sorted),
    }
}

/// Checks that a tool's result rewrites one other result, and only what the tool gave.
pub(crate) fn check_rewrite(target: Option<&Node>, node: &Node) -> Result<(), SurfaceError> {
    let target = target.filter(|target| target.role == NodeRole::Tool);
    match same_but_content(target.ok_or(SurfaceError::RewriteTarget)?, node) {
        Some(true) => Ok(()),
        _ => Err(SurfaceError::RewriteChanged),
    }
}

/// Whether two tools' results differ in nothing but what the tool gave.
fn same_but_content(one: &Node, other: &Node) -> Option<bool> {
    let rest = match (&one.rest, &other.rest) {
        (None, None) => true,
        (Some(one), Some(other)) => same(Raw::from(one), Raw::from(other)),
        _ => false,
    };
    let (one, other) = (one.message.json().object().ok()?, other.message.json().object().ok()?);
    let envelope = |message: &Object<'_>| message.without(&["content"]);
    let block = |message: &Object<'_>| -> Option<Json> {
        message.items("content")?.next()?.object()?.without(&["content"])
    };
    let same =
        |one: Option<Json>, other: Option<Json>| Some(same(Raw::from(&one?), Raw::from(&other?)));
    Some(rest && same(envelope(&one), envelope(&other))? && same(block(&one), block(&other))?)
}
