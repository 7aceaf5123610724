//! The event types that this version understands (contracts §1.3).

/// Sorted, for the search.
const KNOWN: [&str; 48] = [
    "agent-preset/selected",
    "agent/inbox/spliced",
    "approval/asked",
    "approval/decided",
    "approval/policy",
    "assistant/chunk",
    "assistant/message",
    "command/done",
    "command/run",
    "compaction/end",
    "compaction/prune",
    "compaction/start",
    "compaction/summary",
    "feedback/record",
    "goal/change",
    "hook/invoked",
    "hook/result",
    "llm/retry",
    "llm/retry-started",
    "permission/preset",
    "plan/mode",
    "request/context",
    "request/header",
    "sandbox/mode",
    "schedule/change",
    "session/end-seed",
    "session/title",
    "session/title-llm-request",
    "step/end",
    "step/start",
    "subagent/descriptor",
    "team/member",
    "team/message/delivered",
    "team/message/queued",
    "team/task",
    "todo/write",
    "tool-workflow/agent-end",
    "tool-workflow/agent-start",
    "tool-workflow/run-end",
    "tool-workflow/run-start",
    "tool/call",
    "tool/code-dispatch",
    "tool/code-dispatch-start",
    "tool/result",
    "turn/end",
    "turn/start",
    "user/message",
    "web/deepseek-search-llm-request",
];

/// Types that logs once held and no reader upgrades.
const RETIRED: [&str; 2] = ["mode/set", "request/header-delta"];

/// The type as it stands in the list of those that a log may hold without marking them ignorable.
pub(crate) fn known(kind: &str) -> Option<&'static str> {
    KNOWN.binary_search(&kind).ok().and_then(|place| KNOWN.get(place).copied())
}

/// Whether the type was given up, so that no log that holds it is read.
pub(crate) fn is_retired(kind: &str) -> bool {
    RETIRED.contains(&kind)
}

/// Whether events of the type are nodes of the surface.
pub(crate) fn is_surface(kind: &str) -> bool {
    matches!(kind, "user/message" | "assistant/message" | "tool/result")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_finds_every_type() {
        assert!(KNOWN.is_sorted());
        assert!(KNOWN.iter().all(|kind| known(kind) == Some(kind)));
        assert_eq!(known("context/message"), None);
        assert_eq!(known("steering/message"), None);
    }
}
