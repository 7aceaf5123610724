//! What an interrupted turn still needs: the events that close it (contracts §1.8).

use std::collections::HashMap;
use std::sync::Arc;

use crate::checked::Facts;
use crate::{Draft, Event, Json, Message};

/// Where a log stands within a turn, event by event.
#[derive(Clone, Debug, Default)]
pub(crate) struct TurnFold {
    /// What the open turn's start says.
    turn: Option<Json>,
    /// What the open step's start says.
    step: Option<Json>,
    /// Calls without a result, in the order in which the model made them; one that got its result is none.
    calls: Vec<Option<PendingCall>>,
    index: HashMap<Arc<str>, usize>,
    last: Option<(u64, i64)>,
}

#[derive(Clone, Debug)]
struct PendingCall {
    id: Arc<str>,
    /// What the event says that holds the message with the call.
    said: Json,
    /// The event that logged its start.
    started: Option<u64>,
}

impl TurnFold {
    /// Takes the next event, with what is known of it.
    pub(crate) fn push(&mut self, event: &Event, facts: &Facts) {
        self.last = Some((event.seq, event.time));
        let message = || facts.node.as_ref().map(|node| &node.message);
        match &*event.kind {
            "turn/start" => {
                self.turn = Some(event.data.clone());
                self.leave_step();
            }
            "turn/end" => {
                self.turn = None;
                self.leave_step();
            }
            "step/start" => self.step = Some(event.data.clone()),
            "step/end" => self.leave_step(),
            "assistant/message" => {
                for call in message().map(Message::calls).unwrap_or_default() {
                    self.call(call, &event.data);
                }
            }
            "tool/call" => {
                if let Some(call) = facts.call.as_ref().and_then(|id| self.pending(id)) {
                    call.started = Some(event.seq);
                }
            }
            "tool/result" => {
                let id = message().and_then(Message::answers);
                if let Some(place) = id.and_then(|id| self.index.remove(id))
                    && let Some(call) = self.calls.get_mut(place)
                {
                    *call = None;
                }
            }
            _ => {}
        }
    }

    /// Passes over chunks, the last of which is the event at `seq`.
    pub(crate) fn skip(&mut self, seq: u64, time: i64) {
        self.last = Some((seq, time));
    }

    /// Whether a turn is open.
    pub(crate) fn is_open(&self) -> bool {
        self.turn.is_some()
    }

    /// The events that close the open turn, at the last event's time; none where no turn is open.
    pub(crate) fn closers(&self) -> Vec<Event> {
        let (Some(turn), Some((last, time))) = (&self.turn, self.last) else { return Vec::new() };
        let turn = member(turn, "turn");
        let mut closers: Vec<Event> = Vec::new();
        for call in self.calls.iter().flatten() {
            let seq = last + 1 + closers.len() as u64;
            let data = Json::from_trusted(result(&turn, call, seq));
            let sources = call.started.map(|started| vec![started]);
            closers.push(Draft::node("tool/result", data, sources).at(seq, time));
        }
        let turn = turn.as_str();
        let mut ends = Vec::new();
        if let Some(step) = &self.step {
            ends.push((
                "step/end",
                format!("{{\"turn\":{turn},\"step\":{}}}", member(step, "step").as_str()),
            ));
        }
        let reason = "{\"kind\":\"interrupted\"}";
        ends.push(("turn/end", format!("{{\"turn\":{turn},\"reason\":{reason}}}")));
        for (kind, data) in ends {
            let seq = last + 1 + closers.len() as u64;
            closers.push(Draft::new(kind, Json::from_trusted(data)).at(seq, time));
        }
        closers
    }

    fn leave_step(&mut self) {
        self.step = None;
        self.calls.clear();
        self.index.clear();
    }

    /// A call keeps the place of an earlier one of the same id, and takes nothing else from it.
    fn call(&mut self, id: &Arc<str>, said: &Json) {
        let call = PendingCall { id: id.clone(), said: said.clone(), started: None };
        match self.index.get(id).and_then(|place| self.calls.get_mut(*place)) {
            Some(earlier) => *earlier = Some(call),
            None => {
                self.index.insert(id.clone(), self.calls.len());
                self.calls.push(Some(call));
            }
        }
    }

    fn pending(&mut self, id: &str) -> Option<&mut PendingCall> {
        self.calls.get_mut(*self.index.get(id)?)?.as_mut()
    }
}

/// The member `name` as it is logged; `null` where there is none.
fn member(data: &Json, name: &str) -> Json {
    let data = data.object().ok();
    data.and_then(|data| data.get(name).map(Json::from))
        .unwrap_or_else(|| Json::from_trusted("null"))
}

/// The model reads these sentences; every harness that repairs a log must write the same, or the same log would make
/// different requests.
const OUTCOME_UNKNOWN: &str = "The tool call was interrupted after it was recorded, but no result was durably recorded. \
Its outcome is unknown. Decide whether to retry from the tool semantics: retry only if the operation is read-only or \
idempotent; if it may have side effects, first verify external state or ask the user. Do not retry blindly.";
const NOT_STARTED: &str = "The tool call was interrupted before the Harness recorded it as started. Retry it if it is \
still needed.";

/// The data of the result that an interrupted call gets at place `seq`.
fn result(turn: &Json, call: &PendingCall, seq: u64) -> String {
    let (text, name, code) = match call.started {
        Some(_) => (OUTCOME_UNKNOWN, "ToolOutcomeUnknownError", "TOOL_OUTCOME_UNKNOWN"),
        None => (NOT_STARTED, "ToolNotStartedError", "TOOL_NOT_STARTED"),
    };
    let id = serde_json::Value::from(format!("interrupted-tool-result-{}-{seq}", call.id));
    let call_id = serde_json::Value::from(&*call.id);
    format!(
        "{{\"turn\":{},\"step\":{},\"message\":{{\"id\":{id},\"role\":\"user\",\
         \"source\":{{\"kind\":\"tool\",\"callId\":{call_id}}},\
         \"content\":[{{\"type\":\"tool-result\",\"toolCallId\":{call_id},\"isError\":true,\
         \"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}]}},\
         \"error\":{{\"name\":\"{name}\",\"code\":\"{code}\"}}}}",
        turn.as_str(),
        member(&call.said, "step").as_str(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Replay, SessionId};

    fn replay(rows: &[&str]) -> Replay {
        let mut replay = Replay::new(SessionId::new("s"));
        for row in rows {
            replay.row(row).unwrap();
        }
        replay
    }

    const START: &str = r#"{"type":"turn/start","seq":0,"time":10,"data":{"turn":1}}"#;
    const STEP: &str = r#"{"type":"step/start","seq":1,"time":10,"data":{"turn":1,"step":1}}"#;
    const CALLS: &str = r#"{"type":"assistant/message","seq":2,"time":20,"data":{"turn":1,"step":1,"message":{"id":"a","role":"assistant","content":[{"type":"tool-call","id":"c1","name":"t","arguments":"{}"},{"type":"tool-call","id":"c2","name":"t","arguments":"{}"}],"source":{"kind":"model","provider":"p","model":"m"}}},"surfaceOp":"append"}"#;
    const CALL: &str = r#"{"type":"tool/call","seq":3,"time":30,"data":{"turn":1,"step":1,"callId":"c1","name":"t","arguments":"{}"}}"#;
    const RESULT: &str = r#"{"type":"tool/result","seq":4,"time":30,"data":{"turn":1,"step":1,"message":{"id":"r","role":"user","content":[{"type":"tool-result","toolCallId":"c1","content":[]}],"source":{"kind":"tool","callId":"c1"}}},"surfaceOp":"append"}"#;

    /// Every closer on a line: type, place, time; of a result also its message's id, its code and what it cites.
    fn closers(rows: &[&str]) -> Vec<String> {
        let mut replay = replay(rows);
        let closers = replay.closers();
        for event in &closers {
            replay.event(event).unwrap();
        }
        assert!(!replay.turn_is_open());
        let line = |event: &Event| {
            let data = event.data.object().unwrap();
            let text = |object: &str, name: &str| data.object(object)?.text(name);
            let mut line = format!("{} {} @{}", event.kind, event.seq, event.time);
            if let (Some(id), Some(code)) = (text("message", "id"), text("error", "code")) {
                line += &format!(" {id} {code} {:?}", event.sources.as_deref().unwrap_or_default());
            }
            line
        };
        closers.iter().map(line).collect()
    }

    #[test]
    fn calls_without_a_result_get_one_and_the_turn_ends() {
        assert_eq!(
            closers(&[START, STEP, CALLS, CALL]),
            [
                "tool/result 4 @30 interrupted-tool-result-c1-4 TOOL_OUTCOME_UNKNOWN [3]",
                "tool/result 5 @30 interrupted-tool-result-c2-5 TOOL_NOT_STARTED []",
                "step/end 6 @30",
                "turn/end 7 @30",
            ]
        );
        assert_eq!(closers(&[START, STEP, CALLS, CALL, RESULT]).len(), 3);
    }

    #[test]
    fn a_turn_that_only_began_just_ends() {
        assert_eq!(closers(&[START]), ["turn/end 1 @10"]);
        assert!(closers(&[]).is_empty());
    }

    #[test]
    fn after_its_step_a_call_is_nobodys() {
        let end = r#"{"type":"step/end","seq":3,"time":30,"data":{"turn":1,"step":1}}"#;
        assert_eq!(closers(&[START, STEP, CALLS, end]), ["turn/end 4 @30"]);
    }
}
