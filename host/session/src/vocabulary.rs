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

/// What `user/message` was called for context until July 2026 (contracts §7.6). Today's dsh refuses it; a setting can
/// write it for a harness that still has it.
pub(crate) const OLDER_CONTEXT: &str = "context/message";

/// Types that logs once held and no reader upgrades.
const RETIRED: [&str; 2] = ["mode/set", "request/header-delta"];

/// The type as it stands in the list of those that a log may hold without marking them ignorable.
pub(crate) fn known(kind: &str) -> Option<&'static str> {
    let listed = KNOWN.binary_search(&kind).ok().and_then(|place| KNOWN.get(place).copied());
    listed.or((kind == OLDER_CONTEXT).then_some(OLDER_CONTEXT))
}

/// Whether the type was given up, so that no log that holds it is read.
pub(crate) fn is_retired(kind: &str) -> bool {
    RETIRED.contains(&kind)
}

/// Whether events of the type are nodes of the surface.
pub(crate) fn is_surface(kind: &str) -> bool {
    adds_user_message(kind) || matches!(kind, "assistant/message" | "tool/result")
}

/// Whether events of the type hold a prompt or context.
pub(crate) fn adds_user_message(kind: &str) -> bool {
    kind == "user/message" || kind == OLDER_CONTEXT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_finds_every_type() {
        assert!(KNOWN.is_sorted());
        assert!(KNOWN.iter().all(|kind| known(kind) == Some(kind)));
        assert!(known("context/message").is_some() && is_surface("context/message"));
        assert_eq!(known("steering/message"), None);
    }
}
