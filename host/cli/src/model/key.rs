//! A service's key: given, in a variable, printed by a command, or in the variable that the service itself is known for.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use dsh_config::{Key, Settings};
use dsh_model::{Endpoint, Secret};
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

use crate::surroundings::Surroundings;

/// How long a command may take; a person may have to unlock what it reads from.
const PATIENCE: Duration = Duration::from_secs(60);

/// The most that is read of what a command prints, in bytes.
const LONGEST: u64 = 64 * 1024;

/// The key that goes to `endpoint`; none where nothing is known of one, and the service may need none.
///
/// # Errors
/// When the key that was spoken of is not there, or the service is known to need one.
pub(super) async fn of(
    settings: &Settings,
    endpoint: &Endpoint,
    around: &Surroundings,
) -> anyhow::Result<Option<Secret>> {
    match &settings.model.key {
        Some(Key::Given(secret)) => Ok(Some(Secret::new(secret.reveal()))),
        Some(Key::Variable(name)) => {
            let value = variable(around, name);
            let value = value.with_context(|| {
                format!("the variable {}, which `model.key-env` names, is not set", named(name))
            })?;
            Ok(Some(value))
        }
        Some(Key::Command { words, folder }) => {
            let printed = tokio::time::timeout(PATIENCE, printed(words, folder.as_deref())).await;
            let printed = printed
                .map_err(|_| anyhow::anyhow!("it printed nothing within {} s", PATIENCE.as_secs()));
            let key = printed.and_then(|printed| printed);
            Ok(Some(key.with_context(|| {
                let words: Vec<String> = words.iter().map(|word| named(word)).collect();
                format!("`model.key-command` [{}] gave no key", words.join(", "))
            })?))
        }
        None => usual(settings, endpoint, around),
    }
}

/// The key in the variable that a service is known for; it goes to the service's own domain alone, and encrypted.
fn usual(
    settings: &Settings,
    endpoint: &Endpoint,
    around: &Surroundings,
) -> anyhow::Result<Option<Secret>> {
    let Some((service, name)) = endpoint.usual_key() else { return Ok(None) };
    let value = variable(around, name);
    // A header of one's own may be what lets one in.
    if value.is_none() && settings.model.headers.is_empty() {
        anyhow::bail!(
            "{service} wants a key: put it into the variable {name}, or name a command that prints it in `model.key-command`"
        );
    }
    Ok(value)
}

fn variable(around: &Surroundings, name: &str) -> Option<Secret> {
    let value = around.variables.iter().find(|(known, _)| known == name)?;
    Some(Secret::new(&value.1)).filter(|value| !value.is_empty())
}

/// A word as an error may repeat it: a key that was put where its variable or its command belongs is not.
fn named(word: &str) -> String {
    let is_long = word.len() >= 16 && !word.contains(['/', ' ']);
    // Of names of variables, those in capitals with words in them are told apart.
    let is_name = word.contains('_') && !word.contains(|char: char| char.is_ascii_lowercase());
    if is_long && !is_name && word.contains(|char: char| char.is_ascii_digit()) {
        return format!(
            "({} characters that could be a key and are not shown)",
            word.chars().count()
        );
    }
    word.to_owned()
}

/// The first line that a command prints; what else it has to say goes to the person.
async fn printed(words: &[String], folder: Option<&Path>) -> anyhow::Result<Secret> {
    let (program, arguments) = words.split_first().context("it names no program")?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    let mut child = command.spawn()?;
    let mut text = Vec::new();
    if let Some(out) = child.stdout.take() {
        out.take(LONGEST).read_to_end(&mut text).await?;
    }
    let status = child.wait().await?;
    anyhow::ensure!(status.success(), "it ended with {status}");
    let text = String::from_utf8(text).ok().context("what it prints is no text")?;
    let key = Secret::new(text.trim_start().lines().next().unwrap_or_default());
    anyhow::ensure!(!key.is_empty(), "it prints nothing");
    Ok(key)
}
