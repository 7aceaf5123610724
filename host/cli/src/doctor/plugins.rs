//! Plugins: does each load, with what it was granted.

use std::path::Path;

use dsh_plugin_folder::Grant;
use dsh_plugin_host::Plugin;

use super::finding::Report;
use crate::harness::{Harness, Options};
use crate::surroundings::Surroundings;

/// Loads the plugins as a turn would.
pub(super) async fn check(
    plugins: &dsh_config::Plugins,
    around: &Surroundings,
    report: &mut Report<'_>,
) -> anyhow::Result<()> {
    // No session is read, so a folder that is not there will do.
    match Harness::open(Path::new(""), Options::with(plugins, around)).await {
        Ok(harness) => {
            let ids = harness.plugins().iter().map(|loaded| {
                let manifest = loaded.plugin.manifest();
                format!("{} {}", manifest.id, manifest.version)
            });
            report.ok("plugins", &ids.collect::<Vec<_>>().join("\n"))?;
            for loaded in harness.plugins() {
                fares(&loaded.plugin, report)?;
            }
        }
        Err(error) => {
            let fix = "`dsh-wasm plugin` has what to do with a plugin that does not load";
            report.fault("plugin-broken", &format!("{error:#}"), fix)?;
        }
    }
    Ok(())
}

/// Whether a plugin that loads is called, and has all that it wants.
fn fares(plugin: &Plugin, report: &mut Report<'_>) -> anyhow::Result<()> {
    let id = plugin.id();
    if let Some(quarantine) = plugin.quarantine() {
        let fix =
            format!("`dsh-wasm plugin release {id}`; `dsh-wasm plugin log {id}` has its calls");
        report.fault("plugin-quarantined", &format!("{id} {quarantine}"), &fix)?;
    }
    let open = Grant::beyond(&plugin.manifest().declares, plugin.capabilities());
    if !open.is_empty() {
        let open: Vec<String> = open.iter().map(ToString::to_string).collect();
        let says = format!("{id} wants, and is not granted: {}", open.join(", "));
        let fix = format!(
            "`dsh-wasm plugin grant {id} {}`, or `dsh-wasm plugin disable {id}`",
            open.join(" ")
        );
        report.warning("plugin-not-granted", &says, &fix)?;
    }
    Ok(())
}
