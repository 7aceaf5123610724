//! What makes a session a side session: the first message of its own history.

/// What the model of a side session reads first.
pub const TEXT: &str = "This is a side session: a person has stepped aside from the work above to ask about it.
Explain and answer. Do not change anything, and do not go on with the task: that happens elsewhere, at the same time.
Tools that only read are there for you; others are denied.";

/// What the model reads once the person has lifted the rule.
pub const PROMOTION: &str = "The person has lifted the read-only rule of this side session: from here on, tools that change things may run.";

/// The framing as the log has it, but for the plugin's name, which the host stamps.
///
/// The host knows `tools`, and holds the session to it where this plugin cannot.
pub const FACTS: &str = r#"{"kind":"plugin","form":"framing","tools":"read-only"}"#;

/// The promotion as the log has it.
pub const PROMOTION_FACTS: &str = r#"{"kind":"plugin","form":"promotion","tools":"all"}"#;

/// A session is promoted once.
pub const PROMOTION_KEY: &str = "promotion";

/// What the person is told of a side session that begins so, one line each; none for nothing to tell.
pub fn notice(
    length: u64,
    left_out_open_turn: bool,
    compacted: bool,
    system_prompt: bool,
) -> Option<String> {
    let lines = [
        (length == 0, "No turn was completed there, so this side session begins empty."),
        (left_out_open_turn, "The turn that is running there is not in this side session."),
        (
            compacted,
            "That session was compacted: this one has the summary and what came after it, not what it stands for.",
        ),
        (
            system_prompt,
            "The system prompt is another one here, so the first request is paid in full.",
        ),
    ];
    let lines: Vec<_> = lines.into_iter().filter(|(tell, _)| *tell).map(|(_, line)| line).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::note::Note;

    #[test]
    fn side_framing_and_promotion_are_read_back() {
        assert_eq!(Note::read(FACTS), Note::Framing);
        assert_eq!(Note::read(PROMOTION_FACTS), Note::Promotion);
    }

    #[test]
    fn side_opening_tells_what_is_not_as_expected() {
        assert_eq!(notice(9, false, false, false), None);
        let all = notice(0, true, true, true).expect("a notice");
        assert_eq!(all.lines().count(), 4);
        assert!(notice(9, true, false, false).is_some_and(|line| line.contains("running")));
    }
}
