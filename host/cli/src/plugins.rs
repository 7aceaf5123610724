//! `plugin list`: which plugins there are, and what each may do.

use std::io::Write;
use std::path::Path;

use dsh_plugin_host::{Plugin as Guest, Scope, Seam};
use serde_json::{Value, json};

use crate::args::Plugin;
use crate::exit::Exit;
use crate::harness::{Harness, Loaded, Options};

/// Lists the plugins in the order of the chain.
pub(crate) async fn plugin(args: &Plugin, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let Plugin::List { json } = args;
    // No session is read, so a folder that is not there will do.
    let harness = Harness::open(Path::new(""), Options::standard()).await?;
    for loaded in harness.plugins() {
        if *json { writeln!(out, "{}", line(loaded))? } else { describe(out, loaded)? }
    }
    Ok(Exit::Done)
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

fn line(loaded: &Loaded) -> Value {
    let Loaded { plugin, grants, settings } = loaded;
    let manifest = plugin.manifest();
    json!({
        "id": manifest.id, "version": manifest.version, "seams": seams(plugin),
        "declares": manifest.declares, "grants": grants.capabilities,
        "limits": plugin.limits(), "settings": settings.0,
    })
}

/// What a scope lets a plugin read; none where that is nothing.
fn reads(what: &str, scope: Scope) -> Option<String> {
    let of = match scope {
        Scope::None => return None,
        Scope::Own => "the session that it works in",
        Scope::Lineage => "sessions that it was forked from or to",
        Scope::SameCwd => "sessions in the same working directory",
        Scope::All => "every session",
        _ => scope.name(),
    };
    Some(format!("read the {what} of {of} (`{scope}`)"))
}

fn describe(out: &mut dyn Write, loaded: &Loaded) -> anyhow::Result<()> {
    let Loaded { plugin, settings, .. } = loaded;
    let (manifest, given) = (plugin.manifest(), plugin.capabilities());
    let mut can: Vec<String> =
        given.imports.iter().map(|import| format!("import {import}")).collect();
    can.extend(reads("titles", given.sessions.titles));
    can.extend(reads("texts", given.sessions.texts));
    can.extend(given.message_kinds.iter().map(|kind| format!("add messages of kind `{kind}`")));
    if given.rewrite_user {
        can.push("change the texts of your messages (marked wherever they show)".to_owned());
    }
    if given.append_system {
        can.push("add to the system prompt of a session that it creates".to_owned());
    }
    if given.wasi_empty {
        can.push("find a WASI with nothing in it".to_owned());
    }
    let limits = plugin.limits();
    writeln!(out, "{} {}", manifest.id, manifest.version)?;
    writeln!(out, "  stands in   {}", seams(plugin).join(", "))?;
    writeln!(out, "  may         {}", can.join("\n              "))?;
    writeln!(
        out,
        "  for a call  {} MiB memory, {} ms of processor, {} s, {} host calls, {} MiB out",
        limits.memory_bytes >> 20,
        limits.cpu_ms,
        limits.wall_ms / 1000,
        limits.host_calls,
        limits.output_bytes >> 20
    )?;
    let set =
        if settings.0.is_empty() { "its own".to_owned() } else { json!(settings.0).to_string() };
    writeln!(out, "  settings    {set}")?;
    Ok(())
}
