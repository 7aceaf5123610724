//! Who answers: the model that settings name.

mod key;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use dsh_agent::Model;
use dsh_config::{Layer, Settings, Standing};
use dsh_model::{Chat, Echo, Endpoint, PROVIDERS, Provider, Script, Scripted, Secret};

use crate::surroundings::Surroundings;

/// The model that the settings name. Nothing is sent yet; a command that prints its key runs.
///
/// # Errors
/// When there is none of that name, or it cannot be made ready.
pub(crate) async fn choose(
    settings: &Settings,
    around: &Surroundings,
) -> anyhow::Result<Arc<dyn Model>> {
    match service(settings, around).await? {
        Some(chat) => Ok(Arc::new(chat)),
        None => offline(&settings.model.name),
    }
}

/// The model behind a URL that the settings name; none where it is one that works offline.
///
/// # Errors
/// When there is none of that name, or its URL, its key or a header cannot be used.
pub(crate) async fn service(
    settings: &Settings,
    around: &Surroundings,
) -> anyhow::Result<Option<Chat>> {
    let said = &settings.model;
    if said.name == "echo" || said.name.starts_with("script:") {
        let url = said.base_url.is_some() || said.provider.is_some();
        anyhow::ensure!(
            !url || named(settings),
            "the service is set, but no model of it; say which with --model"
        );
        return Ok(None);
    }
    let mut endpoint = endpoint(settings)?;
    endpoint.key = key::of(settings, &endpoint, around).await?;
    let headers = said.headers.iter();
    endpoint.headers =
        headers.map(|(name, value)| (name.clone(), Secret::new(value.reveal()))).collect();
    endpoint.context_window = said.context_window.or(endpoint.context_window);
    endpoint.max_tokens = said.max_tokens.or(endpoint.max_tokens);
    endpoint.reasoning_effort = said.reasoning_effort.clone();
    let timeouts = &mut endpoint.timeouts;
    timeouts.first_byte = said.first_byte_seconds.map_or(timeouts.first_byte, Duration::from_secs);
    timeouts.idle = said.idle_seconds.map_or(timeouts.idle, Duration::from_secs);
    let retries = |attempts: u64| u32::try_from(attempts.saturating_sub(1)).unwrap_or(u32::MAX);
    endpoint.retry.retries = said.attempts.map_or(endpoint.retry.retries, retries);
    endpoint.system_proxy = true;
    Ok(Some(Chat::new(endpoint)?))
}

/// Whether somebody named a model.
fn named(settings: &Settings) -> bool {
    settings.entries().any(|(entry, standing)| {
        entry.key == "model.name"
            && standing == Standing::Holds
            && entry.origin.layer() != Layer::Default
    })
}

/// Where the model is: at the URL, else at the service, else at the service that its name begins with.
fn endpoint(settings: &Settings) -> anyhow::Result<Endpoint> {
    let said = &settings.model;
    let known = said.provider.as_deref().map(|name| (name, Provider::named(name)));
    Ok(match (&said.base_url, known) {
        (Some(url), None) => Endpoint::new(url, &said.name)?,
        (Some(url), Some((_, Some(known)))) => Endpoint::new(url, &said.name)?.of(known),
        (Some(url), Some((name, None))) => {
            Endpoint { provider: name.to_owned(), ..Endpoint::new(url, &said.name)? }
        }
        (None, Some((_, Some(known)))) => Endpoint::known(known, &said.name)?,
        (None, Some((name, None))) => {
            anyhow::bail!(
                "no service is known as {name:?}; give its URL with --base-url, or one of {}",
                services()
            )
        }
        (None, None) => {
            let parts = said.name.split_once('/');
            let known = parts.and_then(|(name, model)| Some((Provider::named(name)?, model)));
            let (known, model) = known.with_context(|| {
                let services = services();
                format!(
                    "there is no model {:?} here: give the URL of its service with --base-url, or write SERVICE/MODEL with one of {services}; offline there are `echo` and `script:FILE`",
                    said.name
                )
            })?;
            Endpoint::known(known, model)?
        }
    })
}

/// The services that are known by name.
fn services() -> String {
    PROVIDERS.each_ref().map(|provider| provider.name).join(", ")
}

/// The model of this name that works offline.
///
/// # Errors
/// When its script cannot be read or used.
pub(crate) fn offline(said: &str) -> anyhow::Result<Arc<dyn Model>> {
    let Some(file) = said.strip_prefix("script:") else {
        return Ok(Arc::new(Echo));
    };
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("the script {file:?} cannot be read"))?;
    let script =
        Script::parse(&text).with_context(|| format!("the script {file:?} cannot be used"))?;
    Ok(Arc::new(Scripted::new(script)))
}
