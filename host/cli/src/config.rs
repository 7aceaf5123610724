//! `config`: what is set, and where.

use std::io::Write;
use std::path::Path;

use dsh_config::instructions::{Gathered, gather};
use dsh_config::{Entry, Guard, Kind, ROWS, Row, Standing};
use serde_json::json;

use crate::args::{Config, Globals};
use crate::exit::Exit;
use crate::settings::{self, Here};
use crate::surroundings::Surroundings;
use crate::visible::Line;

/// Shows each value with where it comes from, and the instruction files.
pub(crate) fn config(
    args: &Config,
    globals: &Globals,
    around: &Surroundings,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    if args.keys {
        ROWS.iter().try_for_each(|row| key(row, args.json, out))?;
        return Ok(Exit::Done);
    }
    let cwd = around.cwd.join(args.cwd.as_deref().unwrap_or(Path::new(".")));
    let here = settings::look(globals, around, &[], Some(&cwd))?;
    let gathered = gather(&here.settings.instructions, &cwd, around.config.as_deref());
    if args.json {
        for (entry, standing) in here.settings.entries() {
            writeln!(out, "{}", line(entry, standing))?;
        }
        for file in &gathered.files {
            let (path, used) = (file.path.to_string_lossy(), file.text.len());
            let line = json!({ "instructions": path, "bytes": file.bytes, "used": used, "digest": file.digest });
            writeln!(out, "{line}")?;
        }
        for notice in &gathered.notices {
            writeln!(out, "{}", json!({ "notice": notice }))?;
        }
        return Ok(Exit::Done);
    }
    files(&here, globals, around, out)?;
    values(&here, out)?;
    instructions(&gathered, out)?;
    Ok(Exit::Done)
}

/// A value, as `--json` tells it.
fn line(entry: &Entry, standing: Standing) -> String {
    let Entry { key, value, origin } = entry;
    let line = json!({
        "key": key, "value": value.shown(), "layer": origin.layer().name(),
        "origin": origin.to_string(), "standing": name(standing),
    });
    line.to_string()
}

fn name(standing: Standing) -> &'static str {
    match standing {
        Standing::Holds => "holds",
        Standing::Overridden => "overridden",
        Standing::Withheld => "withheld",
    }
}

/// Which files were looked for, and what became of them.
fn files(
    here: &Here,
    globals: &Globals,
    around: &Surroundings,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let own = globals.config.clone().or_else(|| around.settings_file());
    if let Some(file) = own {
        let absent = if file.exists() { "" } else { " (not there)" };
        writeln!(out, "yours     {}{absent}", Line(&file.display().to_string()))?;
    }
    if let Some(project) = &here.project {
        let file = project.file().display().to_string();
        let trust = match (&here.untrusted, project.offer()) {
            (Some(_), _) => " (not trusted; `dsh-wasm trust` shows what it would set)",
            (None, Some(_)) => " (trusted)",
            (None, None) => "",
        };
        writeln!(out, "project   {}{trust}", Line(&file))?;
    }
    Ok(writeln!(out)?)
}

fn values(here: &Here, out: &mut dyn Write) -> anyhow::Result<()> {
    for (entry, standing) in here.settings.entries() {
        let Entry { key, value, origin } = entry;
        let (value, origin) = (value.shown(), origin.to_string());
        let said = match standing {
            Standing::Holds => String::new(),
            Standing::Overridden => " (overridden)".to_owned(),
            Standing::Withheld => match dsh_config::row(key).map(|row| row.guard) {
                Some(Guard::Person) => " (not used: no project may set it)".to_owned(),
                _ => " (not used: the project is not trusted)".to_owned(),
            },
        };
        writeln!(out, "{:<28} {}  ← {}{said}", Line(key).to_string(), Line(&value), Line(&origin))?;
    }
    Ok(())
}

fn instructions(gathered: &Gathered, out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(out)?;
    for file in &gathered.files {
        let (path, used, bytes) = (file.path.display().to_string(), file.text.len(), file.bytes);
        writeln!(out, "instructions  {} ({used} of {bytes} bytes)", Line(&path))?;
    }
    if gathered.files.is_empty() {
        writeln!(out, "instructions  none")?;
    }
    for notice in &gathered.notices {
        writeln!(out, "  {}", Line(notice))?;
    }
    Ok(())
}

/// A key, as `--keys` tells it.
fn key(row: &Row, json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let Row { name, kind, default, guard, about } = row;
    let guard = who(*guard);
    if json {
        let line = json!({
            "key": name, "value": kind.expects(), "default": default, "setBy": guard,
            "variable": row.variable(), "about": about,
        });
        return Ok(writeln!(out, "{line}")?);
    }
    writeln!(out, "{name}")?;
    writeln!(out, "  {about}")?;
    let default =
        default.map(|default| format!("; {default} where nobody says")).unwrap_or_default();
    let adds = if *kind == Kind::Rules { "; the lists of all layers hold together" } else { "" };
    writeln!(out, "  {}{default}{adds}", kind.expects())?;
    let variable = row.variable().map(|name| format!(" · {name}")).unwrap_or_default();
    Ok(writeln!(out, "  set by {guard}{variable}")?)
}

fn who(guard: Guard) -> &'static str {
    match guard {
        Guard::Open => "anybody",
        Guard::Trusted => "you, and by a project that you trust",
        Guard::Person => "you alone",
    }
}
