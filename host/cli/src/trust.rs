//! `trust`: which projects' settings may reach outside.

use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use dsh_config::{Change, Offer};

use crate::args::{Globals, Trust as Asked};
use crate::exit::Exit;
use crate::settings::{self, keys};
use crate::surroundings::Surroundings;
use crate::visible::Line;

/// Shows what a project's file would set, and trusts it where the person says so.
pub(crate) fn trust(
    args: &Asked,
    globals: &Globals,
    around: &Surroundings,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let dir = around.cwd.join(args.dir.as_deref().unwrap_or(Path::new(".")));
    let folder = dir.canonicalize();
    let folder = folder.with_context(|| format!("{} cannot be used", dir.display()))?;
    let trust = settings::trusted(around)?;
    let project = settings::project(globals, around, Some(&folder))?;
    if args.revoke {
        let folder = project.as_ref().map_or(folder.as_path(), |project| project.folder());
        let was = trust.revoke(folder).context("the trust cannot be taken back")?;
        let said = if was { "is not trusted any more" } else { "was not trusted" };
        writeln!(out, "{} {said}.", Line(&folder.display().to_string()))?;
        return Ok(Exit::Done);
    }
    let Some(offer) = project.as_ref().and_then(|project| project.offer()) else {
        writeln!(out, "Nothing here needs trust: {}.", nothing(project.as_ref()))?;
        return Ok(Exit::Done);
    };
    describe(&offer, &trust.changes(&offer), out)?;
    if trust.holds(&offer) {
        writeln!(out, "You trust exactly this.")?;
        return Ok(Exit::Done);
    }
    let agreed = match (&args.digest, &around.person) {
        (Some(digest), _) => {
            let now = offer.digest();
            if *digest != now {
                anyhow::bail!(
                    "the digest of these values is {now}, not the one given; nothing is trusted"
                );
            }
            true
        }
        (None, Some(person)) => person.agrees(QUESTION)?,
        (None, None) => {
            let digest = offer.digest();
            anyhow::bail!(
                "nobody can be asked here; run this in a terminal, or say that you have read it with --digest {digest}"
            );
        }
    };
    if !agreed {
        writeln!(out, "Not trusted; none of it is used.")?;
        return Ok(Exit::Failed);
    }
    trust.grant(&offer).context("the trust cannot be kept")?;
    writeln!(out, "Trusted. Any change of these values asks again.")?;
    Ok(Exit::Done)
}

const QUESTION: &str = "Shall these settings be used?";

/// Puts an offer to the person, and keeps a yes. Where nobody is there, it is no.
pub(crate) fn offer(
    offer: &Offer,
    around: &Surroundings,
    err: &mut dyn Write,
) -> anyhow::Result<bool> {
    if let (Some(person), Some(trust)) = (&around.person, around.trust()) {
        describe(offer, &trust.changes(offer), err)?;
        if person.agrees(QUESTION)? {
            trust.grant(offer).context("the trust cannot be kept")?;
            return Ok(true);
        }
    }
    let folder = offer.folder.display().to_string();
    writeln!(
        err,
        "{} is not trusted, so these of its settings are not used: {} (`dsh-wasm trust {0}` shows them)",
        Line(&folder),
        keys(offer)
    )?;
    Ok(false)
}

/// Every value that would hold, as the person has to see it.
fn describe(offer: &Offer, changes: &[Change], out: &mut dyn Write) -> anyhow::Result<()> {
    let folder = offer.folder.display().to_string();
    let again = changes.iter().any(|change| *change != Change::New);
    let changed = if again { "have changed since you trusted them" } else { "reach outside" };
    writeln!(out, "The settings of the project in {} {changed}:", Line(&folder))?;
    for (value, change) in offer.values.iter().zip(changes) {
        let mark = match change {
            Change::Changed => " (changed)",
            Change::New if again => " (new)",
            Change::New | Change::Same => "",
        };
        writeln!(out, "  {} = {}{mark}", Line(&value.key), Line(&value.said))?;
        for file in &value.files {
            let file = file.display().to_string();
            writeln!(out, "    with the file {} as it is now", Line(&file))?;
        }
    }
    writeln!(
        out,
        "They can start programs, send what you write to others, and let tools run unasked."
    )?;
    Ok(())
}

fn nothing(project: Option<&dsh_config::Project>) -> String {
    match project {
        Some(project) => {
            let file = project.file().display().to_string();
            format!("{} sets nothing that reaches outside", Line(&file))
        }
        None => format!("no folder upward has a {}", dsh_config::PROJECT_FILE),
    }
}
