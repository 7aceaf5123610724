//! The plugin's own settings, as a type of its own.

use serde::de::DeserializeOwned;

use crate::bindings::imports::dsh::plugin::config;

/// The plugin's settings, read into `T`.
///
/// The host has checked them against the manifest's schema before it loaded
/// the plugin; a `T` that follows the schema can always be read. Keys that `T`
/// does not know are ignored, unless it denies them.
///
/// # Errors
///
/// When the settings are not a `T`.
pub fn settings<T: DeserializeOwned>() -> Result<T, serde_json::Error> {
    serde_json::from_str(&config::get())
}
