//! The demo's second half: a question on the side, and the note that comes back.

use std::io::Write;
use std::sync::Arc;

use anyhow::Context as _;
use dsh_agent::Agent;
use dsh_model::Scripted;
use dsh_session::SessionId;

use super::{ask, heading, script};
use crate::harness::Harness;
use crate::note;
use crate::slash::Ran;
use crate::visible::{Line, Lines};

const QUESTION: &str = "Why would the paths be wet in November?";

/// What the side session answers, and then hands back.
const REPLIES: [&str; 2] = [
    "The garden lies on a slope under tall trees: leaves hold the rain, and the sun is low.",
    "Shugaku-in's paths stay wet in November: a slope under trees, and little sun. Take the late tour, when it is driest.",
];

/// Asks beside the session `target`, and merges.
pub(super) async fn show(
    harness: &Harness,
    target: &SessionId,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let model = Arc::new(Scripted::new(script(REPLIES)?));
    let parent = harness.resume(target, model).await?;
    heading(out, "7. You ask on the side")?;
    writeln!(out, "/side {QUESTION}")?;
    let ran = harness.command(target, &format!("/side {QUESTION}"), None).await?;
    let Ran::Opened { agent: child, send, .. } = ran else {
        anyhow::bail!("/side opened no session")
    };
    ask(&child, &send.context("the question was not sent")?).await?;
    writeln!(out, "{}", Lines(&last(&child)?))?;
    let (id, side) = (target.to_string(), child.live().header().id.clone());
    writeln!(
        out,
        "That was session {}; {} knows nothing of it.",
        Line(&side.to_string()),
        Line(&id)
    )?;
    heading(out, "8. One short note comes back")?;
    writeln!(out, "/merge")?;
    if let Ran::Text(told) = harness.command(&side, "/merge", None).await? {
        writeln!(out, "{}", Lines(&told))?;
    }
    let note = parent.live().messages().pop().context("no note was added")?;
    for line in note::card(&note, false).context("what was added is no note")? {
        writeln!(out, "{line}")?;
    }
    child.dispose().await?;
    Ok(parent.dispose().await?)
}

/// The last thing that was said.
fn last(agent: &Agent) -> anyhow::Result<String> {
    Ok(agent.live().messages().pop().context("nothing was said")?.text())
}
