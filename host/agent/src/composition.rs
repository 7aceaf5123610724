//! What an agent is put together from.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::{Accept, Approver, Compaction, Model, PreStep, Tool, ToolGate};

/// The parts that a turn works with. A turn keeps those it started with.
#[derive(Clone)]
pub struct Composition {
    /// Answers.
    pub model: Arc<dyn Model>,
    /// The system prompt.
    pub system: Option<String>,
    /// What the model may call; names are unique, the first of two alike counts.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Decides about every step.
    pub pre_step: Arc<dyn PreStep>,
    /// Decide about every tool call.
    pub gates: Vec<Arc<dyn ToolGate>>,
    /// Answers where a gate asks.
    pub approver: Option<Arc<dyn Approver>>,
    /// Plugins whose context messages are logged in the older form, `context/message`, for a harness that has it:
    /// today's dsh refuses logs that hold it.
    pub older_context: BTreeSet<String>,
    /// Most tokens that a reply may have; none leaves it to the model's adapter.
    pub max_tokens: Option<u64>,
    /// How hard the model shall think; none keeps what this session chose before, or leaves it to the adapter.
    pub reasoning_effort: Option<String>,
    /// When a session is compacted, and how.
    pub compaction: Compaction,
}

impl Composition {
    /// A model alone.
    pub fn new(model: Arc<dyn Model>) -> Self {
        Self {
            model,
            system: None,
            tools: Vec::new(),
            pre_step: Arc::new(Accept),
            gates: Vec::new(),
            approver: None,
            older_context: BTreeSet::new(),
            max_tokens: None,
            reasoning_effort: None,
            compaction: Compaction::default(),
        }
    }

    pub(crate) fn tool(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.spec().name == name)
    }
}
