//! The folder of sessions: is it there, can it be written, and is anything in the way.

use std::path::Path;

use dsh_config::Settings;
use dsh_session::{Encoding, Examined, examine};

use super::finding::Report;
use crate::{find, harness, home};

/// Looks at the root that `asked` or the settings name.
pub(super) fn check(
    asked: Option<&Path>,
    settings: &Settings,
    report: &mut Report<'_>,
) -> anyhow::Result<()> {
    let set = asked.or(settings.root.as_deref());
    let root = match set {
        Some(root) => root.to_owned(),
        None => match home::sessions() {
            Ok(root) => root,
            Err(error) => {
                let fix = "say where sessions are kept with --root or the setting `root`";
                return Ok(report.fault("root-unknown", &error.to_string(), fix)?);
            }
        },
    };
    let shown = root.display().to_string();
    if !root.exists() {
        return absent(&root, &shown, set.is_some(), report);
    }
    if !root.is_dir() {
        let fix = "name a folder with --root or the setting `root`";
        return Ok(report.fault("root-no-folder", &format!("{shown} is no folder"), fix)?);
    }
    if let Err(error) = writable(&root) {
        let says = format!("{shown} cannot be written to: {error}");
        let fix = "get the right to write there, or name another folder with --root";
        report.fault("root-not-writable", &says, fix)?;
    }
    match examine(&root) {
        Err(error) => {
            let says = format!("{shown} cannot be listed: {error}");
            report.fault("root-unreadable", &says, "get the right to read it")?;
        }
        Ok(examined) => {
            report.ok("root", &shown)?;
            found(&examined, &shown, report)?;
            logs(&root, report)?;
        }
    }
    Ok(())
}

fn absent(root: &Path, shown: &str, set: bool, report: &mut Report<'_>) -> anyhow::Result<()> {
    let there = root.ancestors().skip(1).find(|folder| folder.exists());
    let Some(error) = there.and_then(|folder| writable(folder).err()) else {
        if set {
            let says = format!("{shown} is not there");
            let fix =
                "the first session makes it; if there should be sessions, correct `root` or --root";
            return Ok(report.warning("root-missing", &says, fix)?);
        }
        return Ok(report.ok("root", &format!("{shown}, which the first session makes"))?);
    };
    let says = format!("{shown} is not there and cannot be made: {error}");
    let fix = "make it, or name another folder with --root";
    Ok(report.fault("root-not-writable", &says, fix)?)
}

/// Whether a file can be made in a folder: nothing but making one tells for sure.
fn writable(folder: &Path) -> std::io::Result<()> {
    tempfile::tempfile_in(folder).map(drop)
}

fn found(examined: &Examined, shown: &str, report: &mut Report<'_>) -> anyhow::Result<()> {
    if examined.encodings.len() > 1 {
        let counts: Vec<_> =
            examined.encodings.iter().map(|(name, count)| format!("{count} {name}")).collect();
        let says = format!("{shown} holds {}; dsh refuses such a folder", counts.join(" and "));
        let fix = "move the sessions of one kind to another folder, which --root then opens";
        report.fault("encodings-mixed", &says, fix)?;
    }
    for (dir, holder) in &examined.held {
        let named = Examined::session(dir).map(|id| find::uri(&id));
        let named = named.unwrap_or_else(|| dir.display().to_string());
        let says = format!("{named} is being written by {holder}");
        let fix =
            "it can be read meanwhile; end that process, or wait for it, to continue the session";
        report.warning("session-locked", &says, fix)?;
    }
    if let Some((index, damage)) = &examined.index {
        let says = format!("{} is not used: {damage}", index.display());
        report.warning("index-damaged", &says, "delete it; the next list makes a new one")?;
    }
    Ok(())
}

fn logs(root: &Path, report: &mut Report<'_>) -> anyhow::Result<()> {
    // Without the index: what it remembers is no proof that a log can be read.
    let store = harness::store(root, Encoding::Zstd);
    let listing = match store.list() {
        Ok(listing) => listing,
        Err(error) => {
            let fix = "get the right to read it";
            return Ok(report.fault("root-unreadable", &error.to_string(), fix)?);
        }
    };
    for broken in &listing.unreadable {
        let says = format!("{}: {}", broken.path.display(), broken.why);
        let fix = if broken.why.is_newer() {
            "a newer version of this program reads it"
        } else {
            "it stands in nobody's way; a backup of it may be whole, or move it out of the folder"
        };
        report.fault("log-unreadable", &says, fix)?;
    }
    Ok(())
}
