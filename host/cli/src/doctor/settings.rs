//! Settings, trust and instruction files.

use std::path::Path;

use dsh_config::instructions::gather;
use dsh_config::{Layers, Settings, Standing};

use super::finding::Report;
use crate::args::Globals;
use crate::settings::{self, Here};
use crate::surroundings::Surroundings;

/// Looks at the settings that hold in `cwd`, and gives them; the defaults where they cannot be used.
pub(super) fn check(
    globals: &Globals,
    around: &Surroundings,
    cwd: &Path,
    report: &mut Report<'_>,
) -> anyhow::Result<Settings> {
    if let Err(error) = settings::own(globals, around) {
        let fix = "correct it there; `dsh-wasm config --keys` lists the keys and what each can be";
        report.fault("settings-broken", &error.to_string(), fix)?;
        return Ok(Layers::default().settle()?);
    }
    report.ok("settings", &whose(globals, around))?;
    match settings::look(globals, around, &[], Some(cwd)) {
        Ok(here) => {
            project(&here, report)?;
            instructions(&here, around, cwd, report)?;
            if here.settings.context_event == "context/message" {
                let says = "`side.context-event` is \"context/message\": today's dsh refuses the logs that are written so";
                let fix = "take it out, unless an older harness reads these logs";
                report.warning("context-event-old", says, fix)?;
            }
            Ok(here.settings)
        }
        Err(error) => {
            let fix = "correct it there, or leave the project's file out with --no-project";
            let says = error.chain().last().map(ToString::to_string).unwrap_or_default();
            report.fault("project-broken", &says, fix)?;
            Ok(settings::own(globals, around)?)
        }
    }
}

fn whose(globals: &Globals, around: &Surroundings) -> String {
    match globals.config.clone().or_else(|| around.settings_file()) {
        Some(file) if file.exists() => file.display().to_string(),
        Some(file) => format!("the defaults; {} is not there", file.display()),
        None => "the defaults; no config folder is known for this user".to_owned(),
    }
}

fn project(here: &Here, report: &mut Report<'_>) -> anyhow::Result<()> {
    let Some(project) = &here.project else { return Ok(()) };
    let file = project.file().display().to_string();
    if let Some(offer) = &here.untrusted {
        let keys = settings::keys(offer);
        let says = format!("{file} is not trusted, so it does not set: {keys}");
        let fix = format!("`dsh-wasm trust {}` shows the values and asks", offer.folder.display());
        report.warning("project-untrusted", &says, &fix)?;
    } else {
        report.ok("project", &file)?;
    }
    let offered = project.offer().map(|offer| offer.values).unwrap_or_default();
    let mine = here.settings.entries().filter(|(entry, standing)| {
        *standing == Standing::Withheld && offered.iter().all(|value| value.key != entry.key)
    });
    for (entry, _) in mine {
        let says = format!("{}: `{}` is nobody's to set but yours", entry.origin, entry.key);
        report.warning("project-overreaches", &says, "take it out, or set it in your own file")?;
    }
    Ok(())
}

fn instructions(
    here: &Here,
    around: &Surroundings,
    cwd: &Path,
    report: &mut Report<'_>,
) -> anyhow::Result<()> {
    let gathered = gather(&here.settings.instructions, cwd, around.config.as_deref());
    for notice in &gathered.notices {
        let fix =
            "the model is not given it: correct the file, or its name in `instructions.files`";
        report.warning("instructions-unused", notice, fix)?;
    }
    if !gathered.files.is_empty() {
        let files: Vec<_> =
            gathered.files.iter().map(|file| file.path.display().to_string()).collect();
        report.ok("instructions", &files.join("\n"))?;
    }
    Ok(())
}
