//! What the vectors are run against: the shipped component, loaded by the host.

use std::future::Future;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use dsh_plugin_host::{
    CallError, Cause, Grants, HostOptions, LoadError, Manifest, Plugin, PluginHost, Services,
    Settings,
};
use dsh_plugins::SESSION_REFERENCE;
use serde_json::{Map, Value};

use crate::blocks::Blocks;
use crate::scripted::{SCRIPTED_FAILURE, Scripted};
use crate::vector::{Got, Skip};
use crate::wtf16;

/// The code of a call that was given up, which in the published client is the plugin's.
pub const CANCELLED: &str = "SESSION_REFERENCE_CANCELLED";

/// The code of settings that are refused; the host refuses them when it loads.
pub const INVALID_CONFIG: &str = "SESSION_REFERENCE_INVALID_CONFIG";

/// What a new message's id is in the vectors.
pub const NEW_ID: &str = "<UUID4>";

/// A host that loads session-reference, each time with other settings, and its building blocks.
pub struct Subject {
    /// The building blocks, in a component of their own.
    pub blocks: Blocks,
    host: PluginHost,
    /// Compiled once for all settings; removed with the subject.
    _cache: tempfile::TempDir,
}

impl Subject {
    /// A host with a cache of its own, and the building blocks.
    ///
    /// # Errors
    ///
    /// When there is no place for it.
    pub fn new() -> Result<Self> {
        let cache = tempfile::tempdir().context("a directory for compiled code")?;
        let mut options = HostOptions::default();
        options.cache_dir = Some(cache.path().to_owned());
        Ok(Self { blocks: Blocks::new()?, host: PluginHost::new(options)?, _cache: cache })
    }

    /// Loads the plugin with the settings of a vector, granting what it declares.
    ///
    /// # Errors
    ///
    /// When it does not load for another reason than its settings.
    pub async fn load(&self, config: &Value) -> Result<Result<Plugin, LoadError>> {
        let settings = match config {
            Value::Null => Map::new(),
            Value::Object(settings) => settings.clone(),
            _ => bail!("settings that are no object: {config}"),
        };
        let manifest = Manifest::parse(SESSION_REFERENCE.manifest)?;
        let grants = Grants::new(manifest.declares.clone());
        let settings = Settings(settings);
        let loaded = self.host.load(manifest, SESSION_REFERENCE.wasm, settings, &grants).await;
        match loaded {
            Err(error) if !matches!(error, LoadError::Settings { .. }) => Err(error.into()),
            loaded => Ok(loaded),
        }
    }

    /// Loads the plugin with settings that it takes, and calls it.
    ///
    /// # Errors
    ///
    /// When it does not load, or the call could not be made.
    pub async fn call<T, F: Future<Output = Result<T, CallError>>>(
        &self,
        config: &Value,
        sessions: Scripted,
        call: impl FnOnce(Plugin, Services) -> F,
        value: impl FnOnce(T) -> Result<Value>,
    ) -> Result<Got> {
        let plugin = self.load(config).await??;
        let sessions = Arc::new(sessions);
        let services = services(sessions.clone());
        // Dropping a call is how the host gives it up.
        let called = tokio::select! {
            biased;
            () = sessions.given_up() => Err(CANCELLED.to_owned()),
            called = call(plugin, services) => called.map_err(|error| code(&error)),
        };
        let outcome = match called {
            Ok(called) => Ok(value(called)?),
            Err(code) => Err(code),
        };
        Ok(Got { outcome, seen: sessions.seen()? })
    }
}

/// Sessions as a vector scripts them, a log that keeps nothing, and ids as the vectors have them.
fn services(sessions: Arc<Scripted>) -> Services {
    Services::new(sessions, Arc::new(()), Arc::new(|| NEW_ID.to_owned()))
}

/// A failed call's code, as vectors write it.
fn code(error: &CallError) -> String {
    match &error.cause {
        Cause::Failed(failure) if failure.code == SCRIPTED_FAILURE => "PASSTHROUGH".to_owned(),
        Cause::Failed(failure) => failure.code.clone(),
        _ => error.to_string(),
    }
}

/// The text of a vector's snapshot, with our own words as `<PROSE>`.
///
/// # Errors
///
/// When the data is not one line between its tags.
pub fn without_prose(text: &str) -> Result<String> {
    let (before, rest) = text.split_once("<referenced-sessions>\n").context("no opening tag")?;
    let (data, after) = rest.split_once("\n</referenced-sessions>").context("no closing tag")?;
    if before.is_empty() || !after.is_empty() || data.contains(['<', '\n']) {
        bail!("a snapshot is words, a tag, one line of JSON without `<`, a tag: {text}");
    }
    Ok(format!("<PROSE>{data}<PROSE>"))
}

/// The JSON of a snapshot's source, lone surrogates kept.
///
/// # Errors
///
/// When it is none.
pub fn facts(facts: &str) -> Result<Value> {
    wtf16::value(facts).context("the source of a snapshot")
}

/// What a vector's `signal` asks of the caller.
///
/// # Errors
///
/// For a signal that cannot be scripted.
pub fn abort(signal: &Value) -> Result<crate::scripted::Abort> {
    use crate::scripted::Abort;
    Ok(match signal.as_str() {
        None | Some("none" | "live") => Abort::Never,
        Some("aborted-while-reading-pending" | "aborted-while-reading-titles") => {
            Abort::InEndlessRead
        }
        Some("aborted-by-reader-then-ok" | "aborted-by-reader-then-fails") => Abort::InRead,
        Some("aborted-before") => return Err(Skip::CancelledBefore.into()),
        Some(other) => bail!("unknown signal {other}"),
    })
}
