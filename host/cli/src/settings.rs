//! The settings that hold for a call, and for a folder in which somebody works.

use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use dsh_config::{ConfigError, Layers, Offer, Project, Settings, Trust};

use crate::args::Globals;
use crate::surroundings::Surroundings;
use crate::trust;
use crate::visible::Line;

/// An option of the command line that sets a key.
pub(crate) type Flag<'a> = (&'a str, &'a str, String);

/// The settings that hold in a folder.
pub(crate) struct Here {
    /// What holds.
    pub settings: Settings,
    /// The project that the folder belongs to, where it has a file of settings.
    pub project: Option<Project>,
    /// What of it needs the person's trust and does not have it.
    pub untrusted: Option<Offer>,
}

/// The settings that no project can touch.
pub(crate) fn own(asked: &Globals, around: &Surroundings) -> Result<Settings, ConfigError> {
    layers(asked, around, &[])?.settle()
}

/// Everything but the project's.
fn layers(
    asked: &Globals,
    around: &Surroundings,
    flags: &[Flag<'_>],
) -> Result<Layers, ConfigError> {
    let mut layers = Layers::default();
    match &asked.config {
        Some(file) => {
            if !file.exists() {
                let source = std::io::ErrorKind::NotFound.into();
                return Err(ConfigError::Unreadable { file: file.clone(), source });
            }
            layers.user(file, around.home())?;
        }
        None => {
            if let Some(file) = around.settings_file() {
                layers.user(&file, around.home())?;
            }
        }
    }
    let variables = around.variables.iter().map(|(name, value)| (&**name, &**value));
    layers.environment(variables, around.base())?;
    for said in &asked.set {
        // Without a `=` the whole is taken for a key, so that the error names it.
        let (key, text) = said.split_once('=').unwrap_or((said, ""));
        layers.flag("--set", key.trim(), text, around.base())?;
    }
    if let Some(dir) = &asked.plugins {
        layers.flag("--plugins", "plugins.dir", &dir.to_string_lossy(), around.base())?;
    }
    if asked.safe {
        layers.flag("--safe", "plugins.safe", "true", around.base())?;
    }
    for (flag, key, text) in flags {
        layers.flag(flag, key, text, around.base())?;
    }
    Ok(layers)
}

/// The settings in a folder; of a project that is not trusted, only what everybody may set. Asks nobody.
///
/// # Errors
/// When one of the layers holds what it cannot.
pub(crate) fn look(
    asked: &Globals,
    around: &Surroundings,
    flags: &[Flag<'_>],
    cwd: Option<&Path>,
) -> anyhow::Result<Here> {
    let layers = layers(asked, around, flags)?;
    let project = project(asked, around, cwd)?;
    let offer = project.as_ref().and_then(Project::offer);
    let untrusted = offer.filter(|offer| !around.trust().is_some_and(|trust| trust.holds(offer)));
    settle(layers, project, untrusted)
}

/// The settings in a folder, for work in it: whoever is there is asked about a project that is not trusted; where
/// nobody is, or the answer is no, `err` says what is not used.
///
/// # Errors
/// When one of the layers holds what it cannot.
pub(crate) fn here(
    asked: &Globals,
    around: &Surroundings,
    flags: &[Flag<'_>],
    cwd: Option<&Path>,
    err: &mut dyn Write,
) -> anyhow::Result<Here> {
    let mut here = look(asked, around, flags, cwd)?;
    if let Some(offer) = here.untrusted.take() {
        if trust::offer(&offer, around, err)? {
            // Nothing is read anew: what was shown is what is used.
            return settle(layers(asked, around, flags)?, here.project, None);
        }
        here.untrusted = Some(offer);
    }
    Ok(here)
}

fn settle(
    mut layers: Layers,
    project: Option<Project>,
    untrusted: Option<Offer>,
) -> anyhow::Result<Here> {
    if let Some(project) = &project {
        layers.project(project, untrusted.is_none());
    }
    Ok(Here { settings: layers.settle()?, project, untrusted })
}

/// The project's file, unless it is left out.
pub(crate) fn project(
    asked: &Globals,
    around: &Surroundings,
    cwd: Option<&Path>,
) -> anyhow::Result<Option<Project>> {
    let (Some(cwd), false) = (cwd, asked.no_project) else { return Ok(None) };
    Project::find(cwd, around.home())
        .context("the project's settings cannot be used; --no-project leaves them out")
}

/// What the person trusts.
///
/// # Errors
/// Where there is no folder to keep it in.
pub(crate) fn trusted(around: &Surroundings) -> anyhow::Result<Trust> {
    around.trust().context("no data folder is known for this user, so nothing can be trusted")
}

/// The keys of an offer, on one line.
pub(crate) fn keys(offer: &Offer) -> String {
    let keys: Vec<&str> = offer.values.iter().map(|value| value.key.as_str()).collect();
    Line(&keys.join(", ")).to_string()
}
