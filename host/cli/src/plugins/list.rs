//! `plugin list`: which plugins there are, how each fares, and what each may do.

use std::collections::HashMap;
use std::io::Write;

use dsh_plugin_folder::{Folder, FolderError, Grant};
use dsh_plugin_host::{Limits, Plugin as Guest, Seam};
use serde_json::{Value, json};

use super::for_a_call;
use crate::exit::Exit;
use crate::harness::{self, Composed};
use crate::home;
use crate::installed::{self, Member, Place};
use crate::visible::Line;

/// What the file of calls says about one plugin.
#[derive(Default)]
struct Fared {
    walls: Vec<u64>,
    faults: u64,
    last_error: Option<String>,
}

/// A plugin, and whether it loads.
struct Shown {
    member: Member,
    state: String,
    plugin: Option<Guest>,
    fared: Fared,
}

/// Lists the plugins in the order of the chain.
pub(super) async fn list(
    folder: Option<Folder>,
    standard: &[Composed],
    json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let host = harness::host(home::compiled().as_deref())?;
    let mut fared = folder.as_ref().map(fared).transpose()?.unwrap_or_default();
    let contents = folder.map(|folder| Ok::<_, FolderError>((folder.clone(), folder.read()?)));
    let contents = contents.transpose()?;
    let folder = contents.as_ref().map(|(folder, _)| folder);
    for Place { id, enabled, member } in installed::places(contents.as_ref(), standard)? {
        let member = match member {
            Ok(member) => member,
            Err(error) => {
                let state = if enabled { "cannot be read" } else { "disabled, and cannot be read" };
                unread(out, json, &id, &format!("{state}: {error:#}"))?;
                continue;
            }
        };
        let (state, plugin) = match (enabled, member.load(&host, folder).await) {
            (false, loaded) => ("disabled".to_owned(), loaded.ok()),
            (true, Err(error)) => (format!("does not load: {error:#}"), None),
            (true, Ok(plugin)) => match plugin.quarantine() {
                Some(quarantine) => (quarantine.to_string(), Some(plugin)),
                None => ("runs".to_owned(), Some(plugin)),
            },
        };
        let fared = fared.remove(&member.manifest.id).unwrap_or_default();
        let shown = Shown { member, state, plugin, fared };
        if json { writeln!(out, "{}", line(&shown))? } else { describe(out, &shown)? }
    }
    Ok(Exit::Done)
}

/// A plugin of which nothing is known but where it stands.
fn unread(out: &mut dyn Write, json: bool, id: &str, state: &str) -> anyhow::Result<()> {
    match json {
        true => writeln!(out, "{}", json!({ "id": id, "state": state }))?,
        false => writeln!(out, "{}\n  state       {}", Line(id), Line(state))?,
    }
    Ok(())
}

fn fared(folder: &Folder) -> Result<HashMap<String, Fared>, FolderError> {
    let mut all: HashMap<String, Fared> = HashMap::new();
    folder.calls().each(|line| {
        let Some(plugin) = line.get("plugin").and_then(Value::as_str) else { return };
        let fared = all.entry(plugin.to_owned()).or_default();
        fared.walls.extend(line.get("wallUs").and_then(Value::as_u64));
        fared.faults += u64::from(line.get("fault").and_then(Value::as_bool).unwrap_or_default());
        // What came through `next` is booked where it happened.
        let passed_on = line.get("outcome").is_some_and(|outcome| outcome == "passed-on");
        if let (false, Some(error)) = (passed_on, line.get("error").and_then(Value::as_str)) {
            fared.last_error = Some(error.to_owned());
        }
    })?;
    for fared in all.values_mut() {
        fared.walls.sort_unstable();
    }
    Ok(all)
}

impl Fared {
    /// Microseconds that so many of a hundred calls took at most.
    fn percentile(&self, percent: usize) -> Option<u64> {
        let place = (self.walls.len() * percent).div_ceil(100).saturating_sub(1);
        self.walls.get(place).copied()
    }
}

fn seams(plugin: &Guest) -> Vec<&'static str> {
    let all = [
        (Seam::PreStep, "pre-step"),
        (Seam::Mentions, "mentions"),
        (Seam::References, "references"),
        (Seam::ToolGate, "tool-gate"),
        (Seam::Commands, "commands"),
    ];
    all.into_iter().filter(|(seam, _)| plugin.has(*seam)).map(|(_, name)| name).collect()
}

fn limits(member: &Member) -> Limits {
    member.manifest.limits.capped_by(&member.grants.limits)
}

fn line(shown: &Shown) -> Value {
    let Shown { member, state, plugin, fared } = shown;
    json!({
        "id": member.manifest.id, "version": member.manifest.version, "state": state,
        "seams": plugin.as_ref().map(seams), "declares": member.manifest.declares,
        "grants": member.grants.capabilities, "limits": limits(member), "settings": member.settings.0,
        "source": member.source.as_ref().map(ToString::to_string), "digest": member.digest.as_str(),
        "calls": fared.walls.len(), "p50Us": fared.percentile(50), "p99Us": fared.percentile(99),
        "faults": fared.faults, "lastError": fared.last_error,
    })
}

fn describe(out: &mut dyn Write, shown: &Shown) -> anyhow::Result<()> {
    let Shown { member, state, plugin, fared } = shown;
    let Member { manifest, grants, settings, source, digest, .. } = member;
    let given = manifest.declares.and(&grants.capabilities);
    let can: Vec<String> = Grant::all(&given).iter().map(Grant::meaning).collect();
    let limits = limits(member);
    writeln!(out, "{} {}", Line(&manifest.id), Line(&manifest.version))?;
    writeln!(out, "  state       {}", Line(state))?;
    let source = source.as_ref().map_or("the program itself".to_owned(), ToString::to_string);
    writeln!(out, "  from        {} ({})", Line(&source), digest.short())?;
    if let Some(plugin) = plugin {
        writeln!(out, "  stands in   {}", seams(plugin).join(", "))?;
    }
    let can = if can.is_empty() {
        "look at what it is handed".to_owned()
    } else {
        can.join("\n              ")
    };
    writeln!(out, "  may         {can}")?;
    writeln!(out, "  for a call  {}", for_a_call(&limits))?;
    let set =
        if settings.0.is_empty() { "its own".to_owned() } else { json!(settings.0).to_string() };
    writeln!(out, "  settings    {}", Line(&set))?;
    if let (Some(half), Some(most)) = (fared.percentile(50), fared.percentile(99)) {
        let calls = fared.walls.len();
        writeln!(
            out,
            "  calls       {calls}, half within {half} us, 99 of 100 within {most} us, {} faults",
            fared.faults
        )?;
    }
    if let Some(error) = &fared.last_error {
        writeln!(out, "  last error  {}", Line(error))?;
    }
    Ok(())
}
