//! One turn of a log: what plugins did in it, and the request of each of its steps.

use dsh_agent::{Inbox, Shown, Splice, TurnEnd};
use dsh_session::{Event, Fold, Json, Message, SurfaceOp};
use serde::Serialize;

use super::part::{Part, Request};
use crate::show;

/// Folds a whole log, and keeps the turn that is wanted.
#[derive(Default)]
pub(super) struct Turns {
    /// The number of the one that is wanted; without it, the latest.
    wanted: Option<u64>,
    /// The number of the latest turn in the log, if it has any.
    pub(super) latest: Option<u64>,
    /// The one that is wanted, as far as it was read.
    pub(super) turn: Option<Turn>,
    /// Whether the events that come now are of the turn that is wanted.
    within: bool,
    /// The surface so far, which a fold that passes over chunks can keep by itself: the log was checked.
    nodes: Vec<(u64, Message)>,
    header: Option<Json>,
    inbox: Inbox,
    /// What was claimed from the inbox and has not joined history, as it was typed.
    claimed: Vec<Message>,
    /// The step whose request was not taken yet.
    open: Option<u64>,
    /// The latest step of the turn.
    step: u64,
}

/// What a log says of one turn.
pub(super) struct Turn {
    pub(super) number: u64,
    /// When it began and ended, in milliseconds since the Unix epoch; one that goes on has no end.
    pub(super) began: i64,
    pub(super) ended: Option<(i64, TurnEnd)>,
    pub(super) changes: Vec<Change>,
    pub(super) requests: Vec<Request>,
    /// The first event of the turn: messages of earlier ones were there before.
    first: u64,
}

/// One thing that plugins did to what the model got.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Change {
    /// Who did it; empty where the log does not say.
    pub(super) plugins: Vec<String>,
    /// In which step, or before which where none began.
    pub(super) step: u64,
    pub(super) did: Did,
    /// The message, where it was done to one.
    pub(super) message: Option<String>,
    /// UTF-8 bytes of the message's text as it was typed.
    pub(super) typed_bytes: Option<usize>,
    /// UTF-8 bytes of the message's text as it was logged.
    pub(super) text_bytes: Option<usize>,
    /// Why, where a reason was given.
    pub(super) reason: Option<String>,
}

/// What a plugin can do to a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Did {
    Added,
    Changed,
    LeftOut,
    Rejected,
    Failed,
}

impl Turns {
    /// Keeps the turn of this number, or the latest.
    pub(super) fn new(wanted: Option<u64>) -> Self {
        Self { wanted, ..Self::default() }
    }

    /// Ends what the log leaves open: a turn that goes on has sent a request, too.
    pub(super) fn finish(&mut self) {
        self.request();
    }

    fn node(&mut self, event: &Event, op: SurfaceOp) {
        if &*event.kind == "assistant/message" {
            // Whatever the reply answers was on the surface before it.
            self.request();
        }
        let Some(message) = message(event) else { return };
        self.joined(&message);
        let place = |seq| self.nodes.iter().position(|(node, _)| *node == seq);
        let node = (event.seq, message);
        match op {
            SurfaceOp::Append => self.nodes.push(node),
            SurfaceOp::Replace { start, end } => {
                if let (Some(start), Some(end)) = (place(start), place(end)) {
                    self.nodes.splice(start..=end, [node]);
                }
            }
        }
    }

    fn joined(&mut self, message: &Message) {
        let place = self.claimed.iter().position(|claimed| claimed.id() == message.id());
        let typed = place.map(|place| self.claimed.swap_remove(place));
        let plugins = show::rewriters(message);
        let (did, plugins) = if !plugins.is_empty() {
            (Did::Changed, plugins)
        } else if let Some(plugin) = Part::plugin(message) {
            (Did::Added, vec![plugin.to_owned()])
        } else {
            return;
        };
        let typed_bytes = (did == Did::Changed).then_some(typed).flatten();
        self.changed(Change {
            message: Some(message.id().to_owned()),
            typed_bytes: typed_bytes.map(|typed| typed.text_bytes()),
            text_bytes: Some(message.text_bytes()),
            ..Change::new(did, plugins, self.step)
        });
    }

    fn changed(&mut self, change: Change) {
        if let (true, Some(turn)) = (self.within, &mut self.turn) {
            turn.changes.push(change);
        }
    }

    /// Takes the request of the step that is open.
    fn request(&mut self) {
        let Some(step) = self.open.take() else { return };
        let missing = std::mem::take(&mut self.claimed);
        for message in missing.iter().filter(|message| message.source().is_user()) {
            self.changed(Change {
                message: Some(message.id().to_owned()),
                typed_bytes: Some(message.text_bytes()),
                ..Change::new(Did::LeftOut, Vec::new(), step)
            });
        }
        if let (true, Some(turn)) = (self.within, &mut self.turn) {
            // An empty reply is on the surface and in no request.
            let spoken = self
                .nodes
                .iter()
                .filter(|(_, message)| &*message.source().kind != "model" || !message.is_empty());
            let parts = spoken.map(|(seq, message)| Part::of(*seq, message, *seq < turn.first));
            turn.requests.push(Request::new(step, self.header.as_ref(), parts.collect()));
        }
    }

    fn bookkeeping(&mut self, event: &Event) {
        match &*event.kind {
            "request/header" => {
                self.header = event.data.object().ok().and_then(|data| data.read("header"));
            }
            "step/start" => {
                self.step = number(event, "step").unwrap_or(self.step + 1);
                self.open = Some(self.step);
            }
            "step/end" => self.request(),
            "agent/inbox/spliced" => {
                let Some(splice) = Splice::parse(&event.data) else { return };
                let gone = self.inbox.apply(&splice);
                self.claimed.extend(gone.into_iter().filter(|_| !splice.canceled));
            }
            _ => match Shown::of(event) {
                Some(Shown::TurnStarted(turn)) => self.began(turn, event),
                Some(Shown::Rejected { reason, plugin }) => {
                    let step = number(event, "step").unwrap_or(self.step + 1);
                    let plugins = plugin.into_iter().collect();
                    self.changed(Change { reason, ..Change::new(Did::Rejected, plugins, step) });
                }
                Some(Shown::TurnEnded(_, end)) => self.ended(event.time, end),
                _ => {}
            },
        }
    }

    fn began(&mut self, number: u64, event: &Event) {
        self.latest = Some(number);
        self.within = self.wanted.is_none_or(|wanted| wanted == number);
        (self.step, self.open) = (0, None);
        self.claimed.clear();
        if self.within {
            self.turn = Some(Turn {
                number,
                began: event.time,
                ended: None,
                changes: Vec::new(),
                requests: Vec::new(),
                first: event.seq,
            });
        }
    }

    fn ended(&mut self, time: i64, end: TurnEnd) {
        self.request();
        self.claimed.clear();
        if let TurnEnd::Error { error } = &end
            && let Some(plugin) = &error.plugin
        {
            let reason = Some(error.message.clone());
            let step = self.step + 1;
            self.changed(Change { reason, ..Change::new(Did::Failed, vec![plugin.clone()], step) });
        }
        if let (true, Some(turn)) = (self.within, &mut self.turn) {
            turn.ended = Some((time, end));
        }
        self.within = false;
    }
}

impl Fold for Turns {
    fn event(&mut self, event: &Event) {
        match event.surface_op {
            Some(op) => self.node(event, op),
            None => self.bookkeeping(event),
        }
    }

    fn wants_chunks(&self) -> bool {
        false
    }
}

impl Change {
    fn new(did: Did, plugins: Vec<String>, step: u64) -> Self {
        Self {
            plugins,
            step,
            did,
            message: None,
            typed_bytes: None,
            text_bytes: None,
            reason: None,
        }
    }
}

fn message(event: &Event) -> Option<Message> {
    if &*event.kind == "assistant/message" {
        return Message::parse(event.data.object().ok()?.read("message")?).ok();
    }
    match Shown::of(event)? {
        Shown::Message(message) | Shown::ToolResult(message) => Some(message),
        _ => None,
    }
}

fn number(event: &Event, key: &str) -> Option<u64> {
    event.data.object().ok()?.read(key)
}
