//! Who answers: the model that settings name.

use std::sync::Arc;

use anyhow::Context as _;
use dsh_agent::Model;
use dsh_config::Settings;
use dsh_model::{Echo, Script, Scripted};

use crate::surroundings::Surroundings;

/// The model that the settings name.
///
/// # Errors
/// When there is none of that name, or it cannot be made ready.
pub(crate) async fn choose(
    settings: &Settings,
    _: &Surroundings,
) -> anyhow::Result<Arc<dyn Model>> {
    let said = settings.model.name.as_str();
    if said == "echo" {
        return Ok(Arc::new(Echo));
    }
    let Some(file) = said.strip_prefix("script:") else {
        anyhow::bail!(
            "there is no model {said:?}: `echo` answers with what it got, `script:FILE` from a file"
        );
    };
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("the script {file:?} cannot be read"))?;
    let script =
        Script::parse(&text).with_context(|| format!("the script {file:?} cannot be used"))?;
    Ok(Arc::new(Scripted::new(script)))
}
