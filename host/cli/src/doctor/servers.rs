//! MCP servers: does each start, and which tools does it give.

use std::path::Path;
use std::sync::Arc;

use dsh_config::Settings;
use dsh_mcp::Servers;

use super::finding::Report;
use crate::servers;
use crate::surroundings::Surroundings;
use crate::visible::Line;

/// Starts the servers that hold in `cwd`, side by side, and ends them.
pub(super) async fn check(
    settings: &Settings,
    around: &Surroundings,
    cwd: &Path,
    report: &mut Report<'_>,
) -> anyhow::Result<()> {
    let wanted = servers::of(settings, around, cwd);
    if wanted.is_empty() {
        return Ok(());
    }
    // What is wrong is in the states; what a server remarks by the way is nothing to correct.
    let started = Servers::start(wanted, Arc::new(|_| {})).await;
    for (name, state) in started.states() {
        match state {
            Ok(tools) => report.ok("mcp-server", &format!("{name}, with {tools} tools"))?,
            Err(error) => {
                let says = format!("{name} does not start: {}", Line(&error.to_string()));
                let fix = format!(
                    "try its command or URL by itself, correct `mcp.{name}`, or set `mcp.{name}.enabled` to false"
                );
                report.fault("mcp-broken", &says, &fix)?;
            }
        }
    }
    Ok(())
}
