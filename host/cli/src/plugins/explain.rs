//! `plugin explain`: which plugins ran in a turn, what each changed, and whom the bytes of its requests came from.

mod part;
mod turn;

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context as _;
use dsh_plugin_folder::{Folder, Journal};
use dsh_session::{Encoding, SessionId};
use serde::Serialize;
use serde_json::Value;

use self::part::Request;
use self::turn::{Change, Did, Turn, Turns};
use super::journals::text;
use crate::args::Explain;
use crate::outcome::Outcome;
use crate::visible::Line;
use crate::{find, harness, show};

/// A turn, as `--json` tells it.
#[derive(Serialize)]
struct Explained<'a> {
    session: String,
    turn: u64,
    /// None while the turn goes on.
    end: Option<Outcome>,
    /// The calls that plugins got, in the order in which they ended; none where no file of calls is there.
    calls: Option<Vec<Value>>,
    changes: &'a [Change],
    requests: &'a [Request],
    /// The lines of the audit file that are about the turn; none where there is no file.
    audit: Option<Vec<Value>>,
}

/// Explains the turn that was asked for.
pub(super) async fn explain(
    folder: Option<Folder>,
    args: &Explain,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let root = find::root(&args.common)?;
    let sessions = harness::sessions(&root, Encoding::Zstd);
    let id = find::session(&sessions, &args.session).await?;
    let (_, mut turns) = show::read(&sessions, &id, Turns::new(args.turn)).await?;
    turns.finish();
    let said = id.to_string();
    let latest = turns.latest.with_context(|| format!("{} has no turn yet", Line(&said)))?;
    let turn = turns.turn.with_context(|| {
        let wanted = args.turn.unwrap_or_default();
        format!("{} has no turn {wanted}; its latest is turn {latest}", Line(&said))
    })?;
    let kept = |journal: fn(&Folder) -> Journal| match &folder {
        Some(folder) => of_turn(&journal(folder), &id, &turn),
        None => Ok(None),
    };
    let explained = Explained {
        session: said.clone(),
        turn: turn.number,
        end: turn.ended.as_ref().map(|(_, end)| Outcome::of(end)),
        calls: kept(Folder::calls)?,
        changes: &turn.changes,
        requests: &turn.requests,
        audit: kept(Folder::audit)?,
    };
    if args.common.json {
        writeln!(out, "{}", serde_json::to_string(&explained)?)?;
        return Ok(());
    }
    explained.write(folder.map(|folder| folder.calls().file().to_owned()), out)
}

/// The lines of a journal that are about a turn; none where the journal is not there.
fn of_turn(journal: &Journal, id: &SessionId, turn: &Turn) -> anyhow::Result<Option<Vec<Value>>> {
    if !journal.file().exists() {
        return Ok(None);
    }
    let mut lines = Vec::new();
    journal.each(|line| {
        let number = |key| line.get(key).and_then(Value::as_i64);
        // A notice knows its session alone; of a session one turn goes on at a time.
        let within = match (line.get("turn").and_then(Value::as_u64), number("at")) {
            (Some(number), _) => number == turn.number,
            (None, Some(at)) => {
                at >= turn.began && turn.ended.as_ref().is_none_or(|(ended, _)| at <= *ended)
            }
            (None, None) => false,
        };
        if within && text(&line, "session") == id.escaped() {
            lines.push(line);
        }
    })?;
    Ok(Some(lines))
}

impl Explained<'_> {
    fn write(&self, calls: Option<PathBuf>, out: &mut dyn Write) -> anyhow::Result<()> {
        let end = self.end.as_ref().map_or("goes on", |end| end.outcome);
        writeln!(out, "turn {} of {}: {end}", self.turn, Line(&self.session))?;
        writeln!(
            out,
            "\nplugins that ran, in the order in which they ended (an inner one before the outer)"
        )?;
        match &self.calls {
            Some(calls) => write_calls(calls, out)?,
            None => {
                let place = calls.map(|file| file.display().to_string());
                let place = place.as_deref().unwrap_or("a folder of plugins");
                writeln!(out, "  unknown: {} is not there, which keeps the calls", Line(place))?;
            }
        }
        writeln!(out, "\nwhat they changed, as the log says")?;
        if self.changes.is_empty() {
            writeln!(out, "  nothing")?;
        }
        self.changes.iter().try_for_each(|change| change.write(out))?;
        if self.requests.is_empty() {
            writeln!(out, "\nno request was made")?;
        }
        self.requests.iter().try_for_each(|request| request.write(out))?;
        match &self.audit {
            None => writeln!(out, "\nno audit file is there")?,
            Some(lines) if lines.is_empty() => {}
            Some(lines) => {
                writeln!(out, "\nof this turn in the audit file")?;
                for line in lines {
                    super::journals::deed(line.clone(), out)?;
                }
            }
        }
        Ok(())
    }
}

fn write_calls(calls: &[Value], out: &mut dyn Write) -> anyhow::Result<()> {
    if calls.is_empty() {
        writeln!(out, "  none that is kept; only the latest calls are")?;
    }
    for call in calls {
        let number = |key| call.get(key).and_then(Value::as_u64).unwrap_or_default();
        let (plugin, export) = (text(call, "plugin"), text(call, "export"));
        let (version, outcome) = (text(call, "version"), text(call, "outcome"));
        writeln!(
            out,
            "  step {} {} {} · {} · {} · {} us",
            number("step"),
            Line(plugin),
            Line(version),
            Line(export),
            Line(outcome),
            number("wallUs"),
        )?;
        if let Some(error) = call.get("error").and_then(Value::as_str) {
            writeln!(out, "         {}", Line(error))?;
        }
    }
    Ok(())
}

impl Change {
    fn write(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let plugins = self.plugins.join(", ");
        let who = if plugins.is_empty() { "a plugin" } else { &plugins };
        let message = self.message.as_deref().unwrap_or_default();
        let bytes = self.text_bytes.unwrap_or_default();
        write!(out, "  step {} {} ", self.step, Line(who))?;
        match (self.did, self.typed_bytes) {
            (Did::Added, _) => write!(out, "added {}: {bytes} bytes of text", Line(message))?,
            (Did::Changed, Some(typed)) => {
                write!(out, "changed {}: {typed} bytes of text to {bytes}", Line(message))?;
            }
            (Did::Changed, None) => write!(out, "changed {} to {bytes} bytes", Line(message))?,
            (Did::LeftOut, typed) => {
                let typed = typed.unwrap_or_default();
                write!(out, "left out {}: {typed} bytes of text", Line(message))?;
            }
            (Did::Rejected, _) => write!(out, "let no step begin")?,
            (Did::Failed, _) => write!(out, "failed")?,
        }
        match &self.reason {
            Some(reason) => writeln!(out, ": {}", Line(reason))?,
            None => writeln!(out)?,
        }
        Ok(())
    }
}

impl Request {
    fn write(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        writeln!(out, "\nrequest of step {}: {} bytes", self.step, self.bytes)?;
        writeln!(out, "{:>10}  the host: system prompt, tools, model", self.header_bytes)?;
        for share in &self.shares {
            let (who, count) = (share.from.words(), share.messages);
            let messages = if count == 1 { "message" } else { "messages" };
            writeln!(out, "{:>10}  {}: {count} {messages}", share.bytes, Line(&who))?;
            for part in &self.messages {
                if part.from == share.from && !part.earlier {
                    writeln!(out, "{:>14}  {}, new in this turn", part.bytes, Line(&part.message))?;
                }
            }
        }
        Ok(())
    }
}
