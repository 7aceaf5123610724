//! `doctor`: what is wrong, and what to do about it.

mod finding;
mod model;
mod plugins;
mod root;
mod servers;
mod settings;
mod tools;

use std::io::Write;
use std::path::Path;

use crate::args::{Doctor, Globals};
use crate::exit::Exit;
use crate::surroundings::Surroundings;
use finding::Report;

/// Looks at everything that a turn in this folder would need. Nothing that is not trusted is started or asked.
pub(crate) async fn doctor(
    args: &Doctor,
    globals: &Globals,
    around: &Surroundings,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let mut report = Report::new(out, args.common.json);
    let cwd = around.cwd.join(args.cwd.as_deref().unwrap_or(Path::new(".")));
    let held = settings::check(globals, around, &cwd, &mut report)?;
    root::check(args.common.root.as_deref(), &held, &mut report)?;
    plugins::check(&held.plugins, around, &mut report).await?;
    model::check(&held, around, &mut report).await?;
    tools::check(&held, &mut report)?;
    servers::check(&held, around, &cwd, &mut report).await?;
    report.close()
}
