//! Logs in the shape of real ones: prompts, streamed replies, tools, compactions.
//!
//! Events, their members and their order are those of logs that dsh wrote; the amounts are those of a working day: a
//! turn has two steps, most of what a model says comes as runs of deltas, each run as long as one write's delay.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::chance::Chance;
use crate::words::{pieces, prose};

/// When the first event was logged, in milliseconds since the Unix epoch.
pub(crate) const BORN: u64 = 1_790_000_000_000;

/// Deltas that one write finds waiting.
const DELTAS_PER_BATCH: usize = 24;

/// Nodes on the surface that make the harness compact it, and how many of the newest it keeps.
const COMPACT_AT: usize = 160;
const KEPT: usize = 6;

/// A log as it is written: its header's line, then the rows of each write.
#[derive(Debug)]
pub struct Conversation {
    /// The header, with its newline.
    pub header: String,
    /// Rows with their newlines, write by write.
    pub batches: Vec<String>,
    /// How many events the rows hold.
    pub events: u64,
}

impl Conversation {
    /// A conversation of whole turns with at least `events` events.
    pub fn new(id: &str, cwd: &str, born: u64, title: &str, events: u64) -> Self {
        let header = json!({
            "type": "session", "version": 0, "id": id, "createdAt": born, "cwd": cwd,
            "delegationDepth": 0, "agentPreset": "default",
        });
        let mut writer = Writer::new(born);
        let mut turn = 0;
        while writer.seq < events {
            turn += 1;
            writer.turn(turn, title);
        }
        Self { header: format!("{header}\n"), batches: writer.batches, events: writer.seq }
    }

    /// The whole log as one text.
    pub fn text(&self) -> String {
        [self.header.as_str()].into_iter().chain(self.batches.iter().map(String::as_str)).collect()
    }
}

/// One step of a turn: the deltas, and what is assembled from them.
#[derive(Clone, Copy)]
struct At {
    turn: u64,
    step: u64,
}

struct Writer {
    chance: Chance,
    seq: u64,
    time: u64,
    rows: String,
    batches: Vec<String>,
    surface: Vec<u64>,
    compactions: u64,
}

impl Writer {
    fn new(born: u64) -> Self {
        Self {
            chance: Chance::new(born),
            seq: 0,
            time: born,
            rows: String::new(),
            batches: Vec::new(),
            surface: Vec::new(),
            compactions: 0,
        }
    }

    fn turn(&mut self, turn: u64, title: &str) {
        let at = At { turn, step: 1 };
        self.open(at, title);
        let (text, reasoning) = (self.chance.between(20, 60), self.chance.between(20, 90));
        let call = format!("call_{turn}_0");
        self.reply(at, reasoning, text, Some(&call));
        self.tool(at, &call);
        self.event("step/end", &json!({"turn": turn, "step": 1}));
        let at = At { turn, step: 2 };
        self.event("step/start", &json!({"turn": turn, "step": 2}));
        self.flush();
        let text = self.chance.between(30, 120);
        self.reply(at, 0, text, None);
        self.event("step/end", &json!({"turn": turn, "step": 2}));
        self.event("turn/end", &json!({"turn": turn, "reason": {"kind": "completed"}}));
        self.flush();
        if self.surface.len() >= COMPACT_AT {
            self.compact(turn);
        }
    }

    fn open(&mut self, At { turn, .. }: At, title: &str) {
        let bytes = self.chance.between(60, 900) as usize;
        let text = match turn {
            1 => format!("{title}: {}", prose(bytes, self.time)),
            _ => prose(bytes, self.time),
        };
        let message = json!({
            "content": [{"type": "text", "text": text}], "source": {"kind": "user"},
            "role": "user", "id": self.chance.uuid(),
        });
        let waiting = json!({"target": "next-turn", "start": 0, "inserted": [&message]});
        self.event("agent/inbox/spliced", &waiting);
        self.flush();
        self.event("turn/start", &json!({"turn": turn}));
        let claimed = json!({"target": "next-turn", "start": 0, "removedCount": 1, "inserted": []});
        self.event("agent/inbox/spliced", &claimed);
        self.event("step/start", &json!({"turn": turn, "step": 1}));
        let prompt = self.node("user/message", &message, None);
        if turn == 1 {
            let source = json!({"kind": "fallback"});
            let title = json!({"title": title, "messageSeqs": [prompt], "source": source});
            self.event("session/title", &title);
            self.event("request/header", &request_header());
            let context = json!({"provider": "p", "model": "m", "contextWindow": 1_000_000});
            self.event("request/context", &context);
        }
        self.flush();
    }

    /// A model's reply, as it streams and as it is assembled.
    fn reply(&mut self, at: At, reasoning: u64, text: u64, call: Option<&str>) {
        let first = self.seq;
        let mut blocks = Vec::new();
        if reasoning > 0 {
            let texts = pieces(&mut self.chance, reasoning);
            self.stream(at, blocks.len(), "reasoning", &texts, None);
            blocks.push(json!({"type": "reasoning", "text": texts.concat()}));
        }
        let texts = pieces(&mut self.chance, text);
        self.stream(at, blocks.len(), "text", &texts, None);
        blocks.push(json!({"type": "text", "text": texts.concat()}));
        if let Some(call) = call {
            let count = self.chance.between(4, 12);
            let command = pieces(&mut self.chance, count).concat();
            let arguments = json!({"command": command, "description": "look"}).to_string();
            let args: Vec<String> =
                arguments.chars().collect::<Vec<_>>().chunks(9).map(String::from_iter).collect();
            self.stream(at, blocks.len(), "tool-call", &args, Some(call));
            blocks.push(
                json!({"type": "tool-call", "id": call, "name": "bash", "arguments": arguments}),
            );
        }
        for (index, block) in blocks.iter().enumerate() {
            self.chunk(at, &json!({"type": "block-end", "index": index, "block": block}));
        }
        let usage = json!({"inputTokens": 2616, "outputTokens": text, "cacheReadTokens": 2048});
        self.chunk(at, &json!({"type": "usage", "usage": usage}));
        let reason = if call.is_some() { "tool-calls" } else { "stop" };
        self.chunk(at, &json!({"type": "finish", "reason": {"kind": reason}}));
        let message = json!({
            "role": "assistant", "content": blocks,
            "source": {"kind": "model", "provider": "p", "model": "m"}, "id": self.chance.uuid(),
        });
        let data = json!({"turn": at.turn, "step": at.step, "message": message, "usage": usage});
        let sources: Vec<u64> = (first..self.seq).collect();
        self.node("assistant/message", &data, Some(&sources));
        self.flush();
    }

    /// The deltas of one block: packed rows, as many as writes fell into it.
    fn stream(&mut self, at: At, index: usize, kind: &str, pieces: &[String], call: Option<&str>) {
        self.chunk(at, &json!({"type": "block-start", "index": index, "blockType": kind}));
        for run in pieces.chunks(DELTAS_PER_BATCH) {
            if run.len() < 3 {
                for piece in run {
                    self.delta(at, index, kind, piece, call);
                }
                continue;
            }
            let gaps: Vec<u64> = run.iter().skip(1).map(|_| self.chance.between(0, 12)).collect();
            let _ = write!(
                self.rows,
                "{{\"type\":\"{kind}-chunks\",\"seq0\":{},\"time0\":{},\"data\":{{\"turn\":{},\
                 \"step\":{},\"index\":{index},\"dt\":{}",
                self.seq,
                self.time,
                at.turn,
                at.step,
                json!(gaps)
            );
            let member = match call {
                Some(call) => {
                    let _ = write!(self.rows, ",\"id\":\"{call}\",\"name\":\"bash\"");
                    "args"
                }
                None => "texts",
            };
            let _ = writeln!(self.rows, ",\"{member}\":{}}}}}", json!(run));
            self.seq += run.len() as u64;
            self.time += gaps.iter().sum::<u64>();
            self.flush();
        }
    }

    fn delta(&mut self, at: At, index: usize, kind: &str, piece: &str, call: Option<&str>) {
        let kind = format!("{kind}-delta");
        self.chunk(at, &match call {
            Some(call) => json!({
                "type": kind, "index": index, "id": call, "name": "bash", "argumentsDelta": piece,
            }),
            None => json!({"type": kind, "index": index, "text": piece}),
        });
    }

    fn tool(&mut self, at: At, call: &str) {
        let arguments = json!({"command": "ls"}).to_string();
        let data = json!({
            "turn": at.turn, "step": at.step, "callId": call, "name": "bash",
            "arguments": arguments,
        });
        let called = self.event("tool/call", &data);
        self.flush();
        let bytes = self.chance.between(40, 4000) as usize;
        let content = json!([{"type": "text", "text": prose(bytes, self.time)}]);
        let message = json!({
            "source": {"kind": "tool", "callId": call},
            "content": [{"type": "tool-result", "toolCallId": call, "content": content,
                         "isError": false}],
            "role": "user", "id": self.chance.uuid(),
        });
        let data = json!({"turn": at.turn, "step": at.step, "message": message});
        self.node("tool/result", &data, Some(&[called]));
        self.flush();
    }

    fn compact(&mut self, turn: u64) {
        self.compactions += 1;
        let id = format!("c{}", self.compactions);
        let started = self.event("compaction/start", &json!({"compactionId": id, "turn": turn}));
        let cut = self.surface.len().saturating_sub(KEPT);
        let kept = self.surface.split_off(cut);
        let shadowed = std::mem::replace(&mut self.surface, kept);
        let (Some(start), Some(end)) = (shadowed.first(), shadowed.last()) else { return };
        let summary = json!([{"type": "text", "text": prose(2000, self.time)}]);
        let data = json!({
            "compactionId": id, "summary": summary, "rawOutput": summary, "shadowedSeqs": shadowed,
            "shadowedRange": {"start": start, "end": end}, "shadowedTokenCount": 9000,
            "provider": "p", "model": "m", "llmStreamCall": true,
        });
        let summed = self.event("compaction/summary", &data);
        let message = json!({
            "content": summary, "role": "user", "id": self.chance.uuid(),
            "source": {"kind": "plugin", "plugin": "compact", "compactionId": id},
        });
        let sources: Vec<u64> =
            [started, summed].into_iter().chain(shadowed.iter().copied()).collect();
        let op = json!({"op": "replace", "start": start, "end": end});
        let seq = self.row("user/message", &message, Some(&sources), Some(&op));
        self.surface.insert(0, seq);
        self.event("compaction/end", &json!({"compactionId": id, "turn": turn}));
        self.flush();
    }

    fn chunk(&mut self, at: At, chunk: &Value) {
        let data = json!({"turn": at.turn, "step": at.step, "chunk": chunk});
        self.event("assistant/chunk", &data);
    }

    fn event(&mut self, kind: &str, data: &Value) -> u64 {
        self.row(kind, data, None, None)
    }

    fn node(&mut self, kind: &str, data: &Value, sources: Option<&[u64]>) -> u64 {
        let seq = self.row(kind, data, sources, Some(&json!("append")));
        self.surface.push(seq);
        seq
    }

    fn row(
        &mut self,
        kind: &str,
        data: &Value,
        sources: Option<&[u64]>,
        op: Option<&Value>,
    ) -> u64 {
        let (seq, time) = (self.seq, self.time);
        let rows = &mut self.rows;
        let _ = write!(rows, "{{\"type\":\"{kind}\",\"seq\":{seq},\"time\":{time},\"data\":{data}");
        if let Some(sources) = sources {
            let _ = write!(rows, ",\"sourceEventSeqs\":{}", json!(sources));
        }
        if let Some(op) = op {
            let _ = write!(rows, ",\"surfaceOp\":{op}");
        }
        rows.push_str("}\n");
        self.seq += 1;
        self.time += 1;
        seq
    }

    fn flush(&mut self) {
        if !self.rows.is_empty() {
            self.batches.push(std::mem::take(&mut self.rows));
        }
    }
}

fn request_header() -> Value {
    let tool = |name: &str| {
        json!({
            "name": name, "description": prose(600, 7),
            "parameters": {"type": "object", "properties": {"command": {"type": "string"}}},
        })
    };
    json!({
        "header": {
            "config": {"provider": "p", "model": "m", "maxTokens": 256_000},
            "system": prose(1500, 8), "tools": [tool("bash"), tool("read")],
        },
        "reason": "initial",
    })
}
