//! Tools: does the model get those that are named, and can the rules about their calls be read.

use dsh_config::Settings;
use dsh_tools::{NAMES, Rule};

use super::finding::Report;

/// Looks at `tools.enabled` and at every rule of `approval`.
pub(super) fn check(settings: &Settings, report: &mut Report<'_>) -> anyhow::Result<()> {
    let tools = &settings.tools;
    for name in tools.enabled.iter().flatten() {
        if !NAMES.contains(&name.as_str()) {
            let says = format!("`tools.enabled`: there is no tool {name:?}");
            let fix = format!("take it out, or name one of {}", NAMES.join(", "));
            report.fault("tool-unknown", &says, &fix)?;
        }
    }
    let lists = [("allow", &tools.allow), ("ask", &tools.ask), ("deny", &tools.deny)];
    for (list, rule) in lists.iter().flat_map(|(list, rules)| rules.iter().map(move |r| (list, r)))
    {
        if let Err(error) = rule.parse::<Rule>() {
            let says = format!("`approval.{list}`: {error}");
            let fix = "correct it, or take it out: no turn with tools begins before";
            report.fault("rule-broken", &says, fix)?;
        }
    }
    Ok(())
}
