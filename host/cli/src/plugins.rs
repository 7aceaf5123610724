//! `plugin`: shows, adds, grants, replaces and removes plugins.

mod add;
mod explain;
mod inspect;
mod journals;
mod list;
mod replace;
mod terms;

use std::io::Write;

use anyhow::Context as _;
use dsh_plugin_folder::Folder;
use dsh_plugin_host::{Limits, PluginHost};
use serde_json::json;

use crate::args::{Globals, Plugin};
use crate::exit::Exit;
use crate::harness::{Composed, Options};
use crate::record::Deed;
use crate::surroundings::Surroundings;
use crate::{harness, home, settings};

/// What every one of the commands stands on.
struct Bench<'a> {
    /// The folder of installed plugins.
    folder: Folder,
    /// Loads plugins, to see whether they do.
    host: PluginHost,
    /// The binary's own.
    standard: Vec<Composed>,
    around: &'a Surroundings,
    out: &'a mut dyn Write,
}

/// What a call of a plugin may use, in the words of one line.
fn for_a_call(limits: &Limits) -> String {
    format!(
        "{} MiB memory, {} ms of processor, {} s, {} host calls, {} MiB out",
        limits.memory_bytes >> 20,
        limits.cpu_ms,
        limits.wall_ms / 1000,
        limits.host_calls,
        limits.output_bytes >> 20
    )
}

/// Does what was asked.
pub(crate) async fn plugin(
    args: Plugin,
    globals: &Globals,
    around: &Surroundings,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let own = settings::own(globals, around)?;
    if let Plugin::List { json } = args {
        // Of those that are not installed there is always a list.
        let folder = harness::folder(&own.plugins, around);
        return list::list(folder, &Options::standard().plugins, json, out).await;
    }
    if let Plugin::Explain(args) = &args {
        // A log says what it says, wherever plugins are.
        explain::explain(harness::folder(&own.plugins, around), args, out).await?;
        return Ok(Exit::Done);
    }
    let folder = harness::folder(&own.plugins, around);
    let folder = folder.context(
        "no data folder is known for this user; say where plugins are with --plugins DIR",
    )?;
    let compiled = home::compiled();
    let host = harness::host(compiled.as_deref())?;
    let standard = Options::standard().plugins;
    let mut bench = Bench { folder, host, standard, around, out };
    match args {
        Plugin::List { .. } | Plugin::Explain(_) => {}
        Plugin::Add(args) => bench.add(&args).await?,
        Plugin::Inspect(args) => bench.inspect(&args.plugin).await?,
        Plugin::Check(args) => return bench.check(&args.plugin).await,
        Plugin::Grant(args) => bench.grant(&args).await?,
        Plugin::Revoke(args) => bench.revoke(&args)?,
        Plugin::Enable { id } => bench.enable(&id).await?,
        Plugin::Disable { id } => bench.disable(&id)?,
        Plugin::Release { id } => bench.release(&id)?,
        Plugin::Remove { id } => bench.remove(&id)?,
        Plugin::Reload => bench.reload().await?,
        Plugin::Order { ids } => bench.order(&ids)?,
        Plugin::Upgrade(args) => bench.upgrade(&args).await?,
        Plugin::Rollback { id } => bench.rollback(&id)?,
        Plugin::Log { id, lines } => bench.log(id.as_deref(), lines)?,
        Plugin::Audit { lines } => bench.audit(lines)?,
    }
    Ok(Exit::Done)
}

impl Bench<'_> {
    /// Writes to the audit file that `what` was done to the plugin.
    fn did(&self, what: &str, id: &str, more: serde_json::Value) -> anyhow::Result<()> {
        let more = if more.is_null() { json!({}) } else { more };
        Ok(Deed::new(what, Some(id), more).write(&self.folder)?)
    }

    /// Names a plugin of the binary's in the operator's file, with what it has now, so that a command can change it.
    fn named(&self, change: &mut dsh_plugin_folder::Change, id: &str) -> anyhow::Result<()> {
        if change.edits.ids().iter().any(|named| named == id) {
            return Ok(());
        }
        for composed in &self.standard {
            let manifest = dsh_plugin_host::Manifest::parse(&composed.manifest)?;
            if manifest.id == id {
                change.edits.add(id, true);
                for grant in dsh_plugin_folder::Grant::all(&manifest.declares) {
                    change.edits.grant(id, &grant)?;
                }
            }
        }
        Ok(())
    }
}
