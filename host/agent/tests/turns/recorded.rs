//! Replays logs of the real client in lock step: what came from outside is done again at its place, and everything
//! that the loop logs must be what the real loop logged, in its order, with its members in their order.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use dsh_agent::{
    Call, Cancel, Cause, Chunk, Compaction, Composition, Decision, Failure, Finish, ModelFailure,
    PreStep, ReplyBlock, RequestHeader, Route, StepInfo, Target, Tool, ToolError, ToolOutput,
    ToolSpec, Usage,
};
use dsh_session::{Block, Event, Json, Message, SurfaceOp};
use serde_json::Value;
use tokio::sync::{Notify, oneshot};

use crate::fed::{Fed, Feed};
use crate::rig::{self, Rig};

/// Events that other parts of the real client log, which are no part of the loop.
const OTHERS: [&str; 5] = [
    "permission/preset",
    "sandbox/mode",
    "approval/policy",
    "session/title-llm-request",
    "todo/write",
];

#[tokio::test]
async fn plain_turns_are_logged_as_recorded() {
    replay("no-cwd-1", usize::MAX).await;
    replay("plain-turns", usize::MAX).await;
}

#[tokio::test]
async fn queued_edited_removed_and_steered_prompts_are_logged_as_recorded() {
    replay("queue-steer", usize::MAX).await;
}

#[tokio::test]
async fn cancelled_turns_are_logged_as_recorded() {
    replay("cancelled", usize::MAX).await;
}

#[tokio::test]
async fn tool_calls_are_logged_as_recorded() {
    replay("tools-basic", usize::MAX).await;
    // The tool-result pruner follows, which is no part of the loop.
    replay("tools-errors", 3).await;
}

#[tokio::test]
async fn a_long_session_is_logged_as_recorded() {
    replay("long", usize::MAX).await;
}

#[tokio::test]
async fn compactions_on_a_persons_word_are_logged_as_recorded() {
    replay("compact-twice", usize::MAX).await;
    replay("compact-failed", usize::MAX).await;
}

#[tokio::test]
async fn compactions_after_a_request_that_was_too_long_are_logged_as_recorded() {
    replay("compact-overflow", usize::MAX).await;
}

#[tokio::test]
async fn compactions_under_pressure_are_logged_as_recorded() {
    // The recorder's own settings are in no log; these are between what pressed it and what did not.
    let compaction = Compaction::new(0.782, 0.05, 8192).unwrap();
    replay_with("compact-auto", usize::MAX, compaction).await;
}

/// Replays the first `turns` turns of the recorded session.
async fn replay(session: &str, turns: usize) {
    replay_with(session, turns, Compaction::default()).await;
}

async fn replay_with(session: &str, turns: usize, compaction: Compaction) {
    let Some(events) = rig::recorded(session) else {
        return;
    };
    let mut model = None;
    let loops = events.into_iter().filter(|event| is_loops(event, &mut model));
    let recorded = first_turns(loops.collect(), turns);
    let mut replay = Replay::start(recorded, compaction).await;
    for at in 0..replay.recorded.len() {
        replay.event(at).await;
    }
    replay.rig.idle().await;
    assert_eq!(replay.rig.disk().await, replay.ours, "{session}: what was told is on disk");
}

/// Whether the loop logs it; `model` is that of the header before.
fn is_loops(event: &Event, model: &mut Option<String>) -> bool {
    let data = event.data.object().unwrap();
    let source = |data: &Json| data.object().unwrap().text("kind").unwrap();
    match &*event.kind {
        kind if OTHERS.contains(&kind) => false,
        "session/title" => &*source(&data.read("source").unwrap()) == "fallback",
        // The recorder's adapter says of the same effort first that it filled it in and then that it did not.
        "request/header" => {
            let asked = header_of(event).config.model;
            model.replace(asked.clone()) != Some(asked)
        }
        _ => true,
    }
}

fn first_turns(events: Vec<Event>, turns: usize) -> Vec<Event> {
    let ends = events.iter().enumerate().filter(|(_, event)| &*event.kind == "turn/end");
    let end = ends.map(|(place, _)| place + 1).take(turns).last().unwrap();
    events.into_iter().take(end).collect()
}

/// Adds what other parts of the real client gave to the model's context: see [`contexts`].
struct Contexts(HashMap<(u64, u64), Vec<Message>>);

#[async_trait]
impl PreStep for Contexts {
    async fn pre_step(&self, step: StepInfo, batch: Vec<Message>) -> Result<Decision, Failure> {
        let more = self.0.get(&(step.turn, step.step)).cloned().unwrap_or_default();
        Ok(Decision::Enter([batch, more].concat()))
    }
}

/// The snapshots of the runtime's context, by turn and step.
fn contexts(recorded: &[Event]) -> Contexts {
    let mut contexts: HashMap<(u64, u64), Vec<Message>> = HashMap::new();
    let mut place = (0, 0);
    for event in recorded {
        let data = event.data.object().unwrap();
        match &*event.kind {
            "step/start" => place = (data.read("turn").unwrap(), data.read("step").unwrap()),
            "user/message" => {
                let message = Message::parse(event.data.clone()).unwrap();
                let plugin = message.source().plugin.clone();
                if plugin.as_deref() == Some("@deepseek-ai/dsh-system-prompt") {
                    contexts.entry(place).or_default().push(message);
                }
            }
            _ => {}
        }
    }
    Contexts(contexts)
}

struct Replay {
    recorded: Vec<Event>,
    ours: Vec<Event>,
    rig: Rig,
    model: Arc<Fed>,
    feed: Feed,
    results: Results,
}

impl Replay {
    async fn start(recorded: Vec<Event>, compaction: Compaction) -> Self {
        let header = recorded.iter().find(|event| &*event.kind == "request/header").unwrap();
        let header: RequestHeader = header_of(header);
        let context = recorded.iter().find(|event| &*event.kind == "request/context").unwrap();
        let results = Results::default();
        let route = Route {
            context_window: context.data.object().unwrap().read("contextWindow"),
            max_tokens: header.config.max_tokens,
            reasoning_effort: header.config.reasoning_effort.clone(),
            ..Route::new(&header.config.provider, &header.config.model)
        };
        let (model, feed) = Fed::new(route);
        let mut composition = Composition::new(model.clone());
        composition.compaction = compaction;
        composition.pre_step = Arc::new(contexts(&recorded));
        composition.system = header.system;
        if !header.adapter_defaults.reasoning_effort {
            composition.reasoning_effort = header.config.reasoning_effort;
        }
        // The order is the loop's business.
        composition.tools = header.tools.into_iter().rev().map(|spec| results.tool(spec)).collect();
        let rig = Rig::start(composition).await;
        Self { recorded, ours: Vec::new(), rig, model, feed, results }
    }

    /// Does again what came from outside, and compares the next event.
    async fn event(&mut self, at: usize) {
        let recorded = self.recorded[at].clone();
        if at > 0 && &*self.recorded[at - 1].kind == "turn/end" && &*recorded.kind != "turn/start" {
            self.rig.idle().await;
        }
        if self.was_cancelled(at) {
            if &*recorded.kind == "tool/result" {
                let message = recorded.data.object().unwrap().read("message").unwrap();
                let Block::ToolResult(result) =
                    Message::parse(message).unwrap().blocks()[0].clone()
                else {
                    panic!("a result");
                };
                self.results.begun(&result.call).notified().await;
            }
            self.rig.agent.cancel(Cause::User, true).await.unwrap();
        }
        match &*recorded.kind {
            "agent/inbox/spliced" => {
                self.reroute(at);
                self.splice(&recorded.data).await;
            }
            "command/run" => {
                let agent = self.rig.agent.clone();
                tokio::spawn(async move { agent.compact(None).await });
            }
            "compaction/summary" => self.summarize(&recorded.data),
            "compaction/end" => {
                if let Some(error) = recorded.data.object().unwrap().text("error") {
                    let failure = ModelFailure::new("SERVER", &*error);
                    self.feed.finish(Finish::Error { failure });
                }
            }
            "assistant/chunk" => {
                let chunk = recorded.data.object().unwrap().read::<Chunk>("chunk").unwrap();
                self.feed.chunk(chunk);
            }
            "tool/result" if !self.was_cancelled(at) => self.results.give(&recorded.data),
            _ => {}
        }
        let ours = self.rig.next().await;
        self.ours.push(ours);
        self.compare(at);
    }

    /// Whether somebody stopped the turn right before this event.
    fn was_cancelled(&self, at: usize) -> bool {
        let has = |event: &Event, needle: &str| event.data.as_str().contains(needle);
        let event = &self.recorded[at];
        let cut_off = |event: &Event| match &*event.kind {
            "assistant/message" => has(event, r#""interrupted":true"#),
            "tool/result" => has(event, r#""code":"ABORTED""#),
            _ => false,
        };
        let stopped_before = &*event.kind == "step/end"
            && has(&self.recorded[at + 1], r#""kind":"aborted""#)
            && !cut_off(&self.recorded[at - 1]);
        cut_off(event) || stopped_before
    }

    /// Takes the route that the turn which is about to begin was asked over.
    fn reroute(&self, at: usize) {
        let find = |kind: &str| {
            let mut turn =
                self.recorded[at..].iter().take_while(|event| &*event.kind != "turn/end");
            turn.find(|event| &*event.kind == kind)
        };
        let (Some(header), Some(context)) = (find("request/header"), find("request/context"))
        else {
            return;
        };
        let system = header_of(header).system;
        let context = context.data.object().unwrap();
        let model = context.text("model").unwrap();
        let route = Route {
            model: model.as_ref().to_owned(),
            context_window: context.read("contextWindow"),
            ..dsh_agent::Model::route(&*self.model)
        };
        let model = self.model.routed(route);
        self.rig.compose(Composition { model, system, ..self.rig.composition() });
    }

    /// Gives the recorded summary again.
    fn summarize(&self, data: &Json) {
        let data = data.object().unwrap();
        let blocks: Vec<ReplyBlock> = data.read("rawOutput").unwrap();
        for (index, block) in (0..).zip(blocks) {
            self.feed.chunk(Chunk::BlockEnd { index, block });
        }
        self.feed.chunk(Chunk::Usage { usage: data.read::<Usage>("usage").unwrap() });
        self.feed.finish(Finish::Stop);
    }

    /// Does a change of the inbox again, unless it is a claim.
    async fn splice(&self, data: &Json) {
        let splice = dsh_agent::Splice::parse(data).unwrap();
        let agent = &self.rig.agent;
        let there = agent.waiting(splice.target);
        match (splice.inserted.first().cloned(), splice.canceled) {
            (Some(message), true) => {
                agent.replace(there[splice.start].id(), message).await.unwrap().unwrap();
            }
            (None, true) => {
                agent.remove(there[splice.start].id()).await.unwrap().unwrap();
            }
            (Some(message), false) if splice.target == Target::NextTurn => {
                agent.followup(message).await.unwrap();
            }
            (Some(message), false) => agent.steer(message).await.unwrap(),
            (None, false) => {}
        }
    }

    fn compare(&self, at: usize) {
        let (recorded, ours) = (&self.recorded[at], &self.ours[at]);
        let context = || format!("recorded: {recorded:?}\nours: {ours:?}");
        assert_eq!(recorded.kind, ours.kind, "{}", context());
        let op = recorded.surface_op.map(|op| self.places_of(op));
        assert_eq!(op, ours.surface_op, "{}", context());
        assert_eq!(
            recorded.sources.as_deref().map(|seqs| self.places(seqs)),
            ours.sources,
            "{}",
            context()
        );
        match &*recorded.kind {
            "request/header" => {
                assert_eq!(header_of(recorded), header_of(ours));
                assert_eq!(keys(recorded), keys(ours));
            }
            "session/title" => {
                let seqs =
                    |event: &Event| event.data.object().unwrap().read::<Vec<u64>>("messageSeqs");
                assert_eq!(self.places(&seqs(recorded).unwrap()), seqs(ours).unwrap());
                assert_eq!(keys(recorded), keys(ours));
            }
            kind if is_compactions(kind, op) => {
                assert_eq!(keys(recorded), keys(ours), "{}", context());
                let mut expected = without_names(&recorded.data);
                self.replace_places(&mut expected);
                if let Some(Value::Number(tokens)) = expected.get_mut("shadowedTokenCount") {
                    let own = tokens.as_u64().unwrap() + preface(&self.ours, ours);
                    *tokens = (own - preface(&self.recorded, recorded)).into();
                }
                assert_eq!(expected, without_names(&ours.data), "{}", context());
            }
            _ => assert_eq!(anonymous(&recorded.data), anonymous(&ours.data), "{}", context()),
        }
    }

    fn places_of(&self, op: SurfaceOp) -> SurfaceOp {
        match op {
            SurfaceOp::Append => SurfaceOp::Append,
            SurfaceOp::Replace { start, end } => {
                let places = self.places(&[start, end]);
                SurfaceOp::Replace { start: places[0], end: places[1] }
            }
        }
    }

    /// Puts the places in our log into what a compaction says of the recorded ones.
    fn replace_places(&self, data: &mut Value) {
        for place in
            ["/shadowedRange/start", "/shadowedRange/end", "/shadowedSeqs", "/sourceEventSeq"]
        {
            if let Some(value) = data.pointer_mut(place) {
                let seqs = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
                let seqs: Vec<u64> = seqs.iter().map(|seq| seq.as_u64().unwrap()).collect();
                let places = self.places(&seqs);
                *value = if value.is_array() { places.into() } else { places[0].into() };
            }
        }
    }

    /// Where the recorded events with these places are in our log.
    fn places(&self, seqs: &[u64]) -> Vec<u64> {
        let place = |seq: &u64| self.recorded.iter().position(|event| event.seq == *seq).unwrap();
        seqs.iter().map(|seq| place(seq) as u64).collect()
    }
}

fn header_of(event: &Event) -> RequestHeader {
    event.data.object().unwrap().read::<Json>("header").unwrap().read().unwrap()
}

fn keys(event: &Event) -> Vec<String> {
    event.data.object().unwrap().iter().map(|(key, _)| key.to_owned()).collect()
}

/// The text without the ids that the loop makes: those of its own messages, which come last in them.
fn anonymous(data: &Json) -> String {
    let text = data.as_str();
    let own = text.contains(r#""kind":"model""#) || text.contains(r#""kind":"tool""#);
    match text.rfind(r#","id":""#) {
        Some(start) if own => {
            let id = &text[start + 7..];
            let end = id.find('"').unwrap();
            format!("{}{}", &text[..start], &id[end..])
        }
        _ => text.to_owned(),
    }
}

fn is_compactions(kind: &str, op: Option<SurfaceOp>) -> bool {
    kind.starts_with("compaction/")
        || kind.starts_with("command/")
        || matches!(op, Some(SurfaceOp::Replace { .. }))
}

/// How many tokens the words before a summary have that the span of this compaction begins with.
fn preface(log: &[Event], compaction: &Event) -> u64 {
    let first = compaction.data.object().unwrap().read::<Vec<u64>>("shadowedSeqs").unwrap()[0];
    let node = log.iter().find(|event| event.seq == first).unwrap();
    let message = Message::parse(node.data.clone()).unwrap();
    let words = message.source().is_checkpoint().then(|| message.blocks()[0].text().unwrap());
    words.map_or(0, |words| words.len().div_ceil(4) as u64)
}

/// The data without ids, and without the words around a summary, which are each client's own.
fn without_names(data: &Json) -> Value {
    let mut value: Value = data.read().unwrap();
    for (place, names) in [
        ("", &["compactionId", "sourceCommandId", "commandId", "id", "text"][..]),
        ("/source", &["compactionId", "sourceCommandId"]),
    ] {
        if let Some(Value::Object(members)) = value.pointer_mut(place) {
            names.iter().for_each(|name| _ = members.remove(*name));
        }
    }
    if let Some(Value::String(preface)) = value.pointer_mut("/content/0/text") {
        *preface = preface.lines().last().unwrap_or_default().to_owned();
    }
    value
}

type Given = Result<ToolOutput, ToolError>;

/// What the recorded tools gave, handed over one by one.
#[derive(Clone, Default)]
struct Results(Arc<Mutex<HashMap<String, Waiting>>>);

/// One call: both ends of its result until they are taken, and whether it has begun.
struct Waiting {
    sender: Option<oneshot::Sender<Given>>,
    receiver: Option<oneshot::Receiver<Given>>,
    begun: Arc<Notify>,
}

impl Results {
    fn tool(&self, spec: ToolSpec) -> Arc<dyn Tool> {
        Arc::new(RecordedTool { spec, results: self.clone() })
    }

    /// Lets the call return that this event tells the result of.
    fn give(&self, data: &Json) {
        let data = data.object().unwrap();
        let message = Message::parse(data.read("message").unwrap()).unwrap();
        let Block::ToolResult(result) = &message.blocks()[0] else { panic!("a result") };
        let blocks = message.json().object().unwrap().read::<Vec<Json>>("content").unwrap();
        let content = blocks[0].object().unwrap().read("content").unwrap();
        let given = match data.read::<Json>("error") {
            Some(error) => {
                let error = error.object().unwrap();
                let told = result.content[0].text().unwrap().strip_prefix("Error: ").unwrap();
                Err(ToolError::new(
                    &error.text("name").unwrap(),
                    &error.text("code").unwrap(),
                    told,
                ))
            }
            None => Ok(ToolOutput { content, meta: data.read("meta"), ..ToolOutput::default() }),
        };
        // A call that the loop answers by itself does not ask for it.
        let _ = self.sender(&result.call).send(given);
    }

    fn sender(&self, call: &str) -> oneshot::Sender<Given> {
        self.with(call, |waiting| waiting.sender.take().unwrap())
    }

    fn receiver(&self, call: &str) -> oneshot::Receiver<Given> {
        self.with(call, |waiting| waiting.receiver.take().unwrap())
    }

    fn begun(&self, call: &str) -> Arc<Notify> {
        self.with(call, |waiting| Arc::clone(&waiting.begun))
    }

    fn with<T>(&self, call: &str, take: impl FnOnce(&mut Waiting) -> T) -> T {
        let mut calls = self.0.lock().unwrap();
        take(calls.entry(call.to_owned()).or_insert_with(|| {
            let (sender, receiver) = oneshot::channel();
            let begun = Arc::new(Notify::new());
            Waiting { sender: Some(sender), receiver: Some(receiver), begun }
        }))
    }
}

struct RecordedTool {
    spec: ToolSpec,
    results: Results,
}

#[async_trait]
impl Tool for RecordedTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn parallel(&self) -> bool {
        self.spec.name == "read"
    }

    async fn run(&self, call: Call, _: Cancel) -> Given {
        let result = self.results.receiver(&call.id);
        self.results.begun(&call.id).notify_one();
        result.await.unwrap()
    }
}
