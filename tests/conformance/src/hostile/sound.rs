//! What holds of every call, whatever a plugin tried: no forged decision, no flooded log.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, bail, ensure};
use dsh_plugin_host::{Chain, Decision, Entered, Level, Limits, Plugin, RESERVED_KINDS};
use serde_json::Value;

/// Checks that each message of the batch enters once at most, and that all other messages are context under the name
/// of a link that could have made them.
pub(super) fn decision(decision: &Decision, chain: &Chain) -> Result<()> {
    let Decision::Enter(messages) = decision else { return Ok(()) };
    let mut seen = BTreeSet::new();
    for message in messages {
        match message {
            Entered::Batch { index } | Entered::Edited { index, .. } => {
                ensure!(seen.insert(index), "message {index} enters twice");
            }
            Entered::Context(context) => {
                let mut links = chain.links().iter().map(Plugin::id);
                ensure!(links.any(|id| id == context.plugin), "context of a stranger: {context:?}");
                let facts: Value = serde_json::from_str(&context.facts).context("its source")?;
                let fact = |name: &str| facts.get(name).and_then(Value::as_str);
                match fact("kind") {
                    Some("plugin") => ensure!(
                        fact("plugin") == Some(context.plugin.as_str()),
                        "context under a false name: {context:?}"
                    ),
                    Some(kind) if !RESERVED_KINDS.contains(&kind) => {}
                    _ => bail!("context that speaks for somebody else: {context:?}"),
                }
            }
        }
    }
    Ok(())
}

/// Checks that no more was logged than may be, but for one entry that says so.
pub(super) fn log(entries: &[(String, Level, String)], limits: &Limits) -> Result<()> {
    let kept = match entries.split_last() {
        Some(((_, Level::Warn, last), kept)) if last.contains("is dropped") => kept,
        _ => entries,
    };
    let bytes = kept.iter().map(|(_, _, text)| text.len() as u64).sum::<u64>();
    ensure!(bytes <= limits.log_bytes, "{bytes} bytes were logged");
    Ok(())
}

#[cfg(test)]
mod tests {
    use dsh_plugin_host::Context;

    use super::*;

    fn context(facts: &str) -> Decision {
        Decision::Enter(vec![Entered::Context(Context {
            id: "c0".to_owned(),
            plugin: "stranger".to_owned(),
            content: Vec::new(),
            facts: facts.into(),
        })])
    }

    #[test]
    fn forged_decisions_are_seen() {
        let twice = Decision::Enter(vec![Entered::Batch { index: 0 }, Entered::Batch { index: 0 }]);
        assert!(decision(&twice, &Chain::default()).is_err());
        assert!(decision(&context(r#"{"kind":"note"}"#), &Chain::default()).is_err());
    }

    #[test]
    fn a_flooded_log_is_seen() {
        let limits = Limits::default();
        let entry = |bytes: u64, level, text: &str| {
            let filler = "x".repeat(usize::try_from(bytes).expect("few"));
            ("p".to_owned(), level, format!("{text}{filler}"))
        };
        let full = entry(limits.log_bytes, Level::Info, "");
        let said = entry(0, Level::Warn, "the rest is dropped");
        assert!(log(&[full.clone(), said.clone()], &limits).is_ok());
        assert!(log(&[full, entry(1, Level::Info, ""), said], &limits).is_err());
    }
}
