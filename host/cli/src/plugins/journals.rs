//! `plugin log` and `plugin audit`: what plugins said, and what was decided about them.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::time::{Duration, UNIX_EPOCH};

use dsh_plugin_folder::Journal;
use serde_json::Value;

use super::Bench;
use crate::visible::Line;

/// The last lines of a journal.
fn last(
    journal: &Journal,
    lines: usize,
    wanted: impl Fn(&Value) -> bool,
) -> anyhow::Result<VecDeque<Value>> {
    let mut kept = VecDeque::new();
    journal.each(|line| {
        if wanted(&line) {
            kept.push_back(line);
            if kept.len() > lines {
                kept.pop_front();
            }
        }
    })?;
    Ok(kept)
}

pub(super) fn text<'a>(line: &'a Value, key: &str) -> &'a str {
    line.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn time(line: &Value) -> String {
    let at = line.get("at").and_then(Value::as_u64).unwrap_or_default();
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(at)).to_string()
}

/// Writes one line of the audit file; nothing where it is no object.
pub(super) fn deed(line: Value, out: &mut dyn Write) -> io::Result<()> {
    let at = time(&line);
    let Value::Object(mut more) = line else { return Ok(()) };
    let mut word =
        |key| more.remove(key).and_then(|word| Some(word.as_str()?.to_owned())).unwrap_or_default();
    let (what, plugin) = (word("what"), word("plugin"));
    more.remove("at");
    let more = Value::Object(more).to_string();
    writeln!(out, "{at} {:<12} {} {}", Line(&what), Line(&plugin), Line(&more))
}

impl Bench<'_> {
    /// Shows what plugins logged.
    pub(super) fn log(&mut self, id: Option<&str>, lines: usize) -> anyhow::Result<()> {
        let wanted = |line: &Value| id.is_none_or(|id| text(line, "plugin") == id);
        for line in last(&self.folder.log(), lines, wanted)? {
            let (plugin, level, said) =
                (text(&line, "plugin"), text(&line, "level"), text(&line, "text"));
            writeln!(
                self.out,
                "{} {:<5} {}: {}",
                time(&line),
                Line(level),
                Line(plugin),
                Line(said)
            )?;
        }
        Ok(())
    }

    /// Shows what was decided about plugins.
    pub(super) fn audit(&mut self, lines: usize) -> anyhow::Result<()> {
        for line in last(&self.folder.audit(), lines, |_| true)? {
            deed(line, self.out)?;
        }
        Ok(())
    }
}
