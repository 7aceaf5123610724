//! What a replay has found out about an event, so that another need not look again.

use std::sync::Arc;

use crate::{Event, Json, Kind, Node};

/// What a fold asks of an event that can be in a log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// The node that it is.
    pub(crate) node: Option<Arc<Node>>,
    /// The tool call whose start it logs.
    pub(crate) call: Option<Arc<str>>,
}

/// Set on events that a replay has taken from a log. An event that is changed afterwards is checked like a new one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checked(Option<Arc<Findings>>);

#[derive(Debug)]
struct Findings {
    seq: u64,
    kind: Kind,
    data: Json,
    ignorable: bool,
    facts: Facts,
}

impl Checked {
    /// What was found out about `event`: it can be in a log, in its current shape.
    pub(crate) fn new(event: &Event, facts: Facts) -> Self {
        let Event { seq, kind, data, ignorable, .. } = event;
        let (seq, ignorable) = (*seq, *ignorable);
        let (kind, data) = (kind.clone(), data.clone());
        Self(Some(Arc::new(Findings { seq, kind, data, ignorable, facts })))
    }

    /// What is known of `event`; none where it is not known whether it can be in a log.
    pub(crate) fn facts(&self, event: &Event) -> Option<&Facts> {
        let found = self.0.as_ref()?;
        let same = found.seq == event.seq
            && found.kind == event.kind
            && found.ignorable == event.ignorable
            && found.data.is_the_same_text(&event.data);
        same.then_some(&found.facts)
    }
}

/// Events are the same whether they have been checked or not.
impl PartialEq for Checked {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::{Event, EventError, Json, Replay, SessionId};

    /// An event that was read, changed since, and taken again.
    fn taken_again(change: impl FnOnce(&mut Event)) -> Result<(), EventError> {
        let replay = || Replay::new(SessionId::new("s"));
        let row = r#"{"type":"of/tomorrow","seq":0,"time":1,"data":{},"ignorable":true}"#;
        let (mut event, _) = replay().row(row).unwrap();
        assert!(event.checked.facts(&event).is_some());
        change(&mut event);
        replay().event(&event).map(|_| ())
    }

    #[test]
    fn an_event_that_was_changed_is_checked_anew() {
        assert_eq!(taken_again(|_| ()), Ok(()));
        let unknown = Err(EventError::Unknown("of/tomorrow".into()));
        assert_eq!(taken_again(|event| event.ignorable = false), unknown);
        let message = taken_again(|event| event.kind = "user/message".into());
        assert!(matches!(message, Err(EventError::Message(_))), "{message:?}");
        let header = taken_again(|event| {
            event.kind = "request/header".into();
            event.data = Json::parse("{}").unwrap();
        });
        assert!(matches!(header, Err(EventError::RequestHeader(_))), "{header:?}");
    }
}
