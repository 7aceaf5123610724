//! A plugin's settings, and the check against its manifest's schema.

use serde_json::{Map, Value};

use crate::load_error::LoadError;
use crate::manifest::Manifest;

/// What the operator set for a plugin: a JSON object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings(pub Map<String, Value>);

impl Settings {
    /// Checks against `manifest`'s schema, and gives what the plugin will read.
    #[cfg(feature = "schema")]
    pub(crate) fn checked(self, manifest: &Manifest) -> Result<String, LoadError> {
        let plugin = || manifest.id.clone();
        let settings = Value::Object(self.0);
        if let Some(schema) = &manifest.settings {
            let validator = jsonschema::validator_for(schema)
                .map_err(|err| LoadError::Schema { plugin: plugin(), reason: err.to_string() })?;
            if let Some(err) = validator.iter_errors(&settings).next() {
                let at = err.instance_path().to_string();
                return Err(LoadError::Settings { plugin: plugin(), at, reason: err.to_string() });
            }
        }
        Ok(settings.to_string())
    }

    /// Gives what the plugin will read. Without the feature `schema` nothing is checked.
    #[cfg(not(feature = "schema"))]
    pub(crate) fn checked(self, _manifest: &Manifest) -> Result<String, LoadError> {
        Ok(Value::Object(self.0).to_string())
    }
}
