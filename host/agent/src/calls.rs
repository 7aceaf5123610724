//! Runs the tool calls of one message (contracts §6.3).

use std::sync::Arc;

use futures::StreamExt as _;
use serde::Serialize;

use dsh_session::{Draft, Json, Message, ToolCall};

use crate::lifecycle::causes;
use crate::tool::text_block;
use crate::turn::Turn;
use crate::{Call, LogError, Tool, ToolError, ToolOutput, TurnEnd, foreign};

/// Most calls that run side by side.
const POOL: usize = 10;

/// A call that is over.
struct Done {
    call: ToolCall,
    /// Where its start was logged.
    started: u64,
    output: Result<ToolOutput, ToolError>,
    /// Why nothing may follow.
    stop: Option<LogError>,
}

impl Turn<'_> {
    /// Runs `calls` and logs each start and each result; whether one of them concludes the turn.
    ///
    /// A call that must not run beside others waits for those before it, and those after it wait for it. Results are
    /// logged in the order of the calls. Every call gets a result, run or not.
    pub(crate) async fn run_tools(&self, calls: &[ToolCall]) -> Result<bool, TurnEnd> {
        let mut concludes = false;
        let mut contexts = Vec::new();
        let mut stop = None;
        let mut rest = calls;
        while let Some(first) = rest.first() {
            let beside = rest.iter().take_while(|call| self.is_parallel(call)).count();
            let (group, later) = rest.split_at(if self.is_parallel(first) { beside } else { 1 });
            let group = futures::stream::iter(group.to_vec());
            let mut running = group.map(|call| self.run_tool(call)).buffered(POOL);
            while let Some(done) = running.next().await {
                let done = done?;
                self.shared.append(self.result(&done))?;
                stop = stop.or(done.stop);
                if let Ok(output) = done.output {
                    concludes |= output.concludes_turn;
                    contexts.extend(output.contexts);
                }
            }
            rest = later;
        }
        // They belong to results that are logged, so they wait even where this turn goes no further.
        let joined = self.shared.join_next_step(contexts);
        if let Some(error) = stop {
            return Err(error.into());
        }
        self.check_cancelled()?;
        joined.map_err(|error| TurnEnd::failed("INVALID_CONTEXT", causes(&error)))?;
        Ok(concludes)
    }

    fn is_parallel(&self, call: &ToolCall) -> bool {
        self.composition.tool(&call.name).is_some_and(|tool| tool.parallel())
    }

    /// Logs the start of a call, durably, and runs it if it may.
    async fn run_tool(&self, call: ToolCall) -> Result<Done, LogError> {
        let draft = self.place.tool_call(&call.id, &call.name, &call.arguments);
        let started = self.shared.append(draft)?.seq;
        let (output, stop) = match self.shared.commit().await {
            Ok(()) => (self.output(&call).await, None),
            Err(error) => (Err(ToolError::not_started()), Some(error)),
        };
        Ok(Done { call, started, output, stop })
    }

    async fn output(&self, call: &ToolCall) -> Result<ToolOutput, ToolError> {
        if self.cancel.cause().is_some() {
            return Err(ToolError::not_started());
        }
        let Some(tool) = self.composition.tool(&call.name) else {
            return Err(ToolError::unknown(&call.name));
        };
        let call = Call {
            session: self.shared.live().header().id.clone(),
            turn: self.place.turn,
            step: self.place.step,
            id: call.id.to_string(),
            name: call.name.to_string(),
            arguments: arguments(&call.arguments)
                .map_err(|error| ToolError::arguments(&error.to_string()))?,
            read_only: tool.read_only(),
        };
        self.pass_gates(&call).await?;
        self.run_body(tool, call).await
    }

    async fn run_body(&self, tool: &Arc<dyn Tool>, call: Call) -> Result<ToolOutput, ToolError> {
        if self.cancel.cause().is_some() {
            return Err(ToolError::not_started());
        }
        if !call.arguments.as_str().trim_start().starts_with('{') {
            return Err(ToolError::arguments("\"arguments\" must be an object"));
        }
        let body = foreign::call(tool.run(call, self.cancel.clone()));
        match self.unless_cancelled(body).await {
            Ok(Ok(output)) => output,
            Ok(Err(panic)) => Err(ToolError::new("PanicError", "PANIC", &panic)),
            Err(_) => Err(ToolError::new("AbortError", "ABORTED", "tool call aborted")),
        }
    }

    /// The event that logs a result.
    fn result(&self, done: &Done) -> Result<Draft, LogError> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Source<'a> {
            kind: &'static str,
            call_id: &'a str,
        }
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Block<'a> {
            r#type: &'static str,
            tool_call_id: &'a str,
            content: &'a [Json],
            is_error: bool,
        }
        #[derive(Serialize)]
        struct ResultMessage<'a> {
            source: Source<'a>,
            content: [Block<'a>; 1],
            role: &'static str,
            id: &'a str,
        }
        #[derive(Serialize)]
        struct ResultError<'a> {
            name: &'a str,
            code: &'a str,
        }
        #[derive(Serialize)]
        struct Data<'a> {
            turn: u64,
            step: u64,
            message: Json,
            #[serde(skip_serializing_if = "Option::is_none")]
            error: Option<ResultError<'a>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            meta: Option<&'a Json>,
        }
        let Done { call, started, output, .. } = done;
        let (content, error, meta) = match output {
            Ok(output) => (output.content.clone(), None, output.meta.as_ref()),
            Err(error) => {
                let told = text_block(&format!("Error: {error}"))?;
                (vec![told], Some(ResultError { name: &error.name, code: &error.code }), None)
            }
        };
        let is_error = error.is_some();
        let block =
            Block { r#type: "tool-result", tool_call_id: &call.id, content: &content, is_error };
        let id = self.shared.new_id();
        let source = Source { kind: "tool", call_id: &call.id };
        let message = ResultMessage { source, content: [block], role: "user", id: &id };
        let message = Message::parse(Json::of(&message)?)?;
        let data = Data {
            turn: self.place.turn,
            step: self.place.step,
            message: message.json().clone(),
            error,
            meta,
        };
        Ok(Draft::node("tool/result", Json::of(&data)?, Some(vec![*started])))
    }
}

/// What a tool is called with: none is an empty object, what is no JSON is a string.
fn arguments(text: &str) -> Result<Json, serde_json::Error> {
    let text = if text.is_empty() { "{}" } else { text };
    Json::parse(text).or_else(|_| Json::of(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, json: &str) {
        assert_eq!(arguments(text).unwrap().as_str(), json);
    }

    #[test]
    fn arguments_are_always_json() {
        check("", "{}");
        check(r#"{"a": 1}"#, r#"{"a": 1}"#);
        check(r#"{"a": "#, r#""{\"a\": ""#);
        check("[1]", "[1]");
    }
}
