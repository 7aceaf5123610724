//! Plugins: does each load, with what it was granted.

use std::path::Path;

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
        }
        Err(error) => {
            let fix = "`dsh-wasm plugin` has what to do with a plugin that does not load";
            report.fault("plugin-broken", &format!("{error:#}"), fix)?;
        }
    }
    Ok(())
}
