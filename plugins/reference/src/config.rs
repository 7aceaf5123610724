//! The plugin's settings.

use serde::{Deserialize, Deserializer};

/// The most references of one message that can be allowed.
pub const MOST_REFERENCES: u64 = 3;

/// The greatest integer that JavaScript holds exactly.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// The settings. Reading them checks their bounds; unknown keys are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Config {
    /// How many sessions one message can cite: 1 to 3.
    #[serde(deserialize_with = "up_to_three")]
    pub max_references: u64,
    /// How many candidates are listed where the client gives no limit.
    #[serde(deserialize_with = "positive_integer")]
    pub candidate_limit: u64,
    /// The most bytes of JSON that one cited session takes.
    #[serde(deserialize_with = "positive_integer")]
    pub max_reference_bytes: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { max_references: MOST_REFERENCES, candidate_limit: 50, max_reference_bytes: 65_536 }
    }
}

fn up_to_three<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    integer_up_to(MOST_REFERENCES, deserializer)
}

fn positive_integer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    integer_up_to(MAX_SAFE_INTEGER, deserializer)
}

/// An integer from 1 to `most`, however JSON spells it: `3.0` is one too.
fn integer_up_to<'de, D: Deserializer<'de>>(most: u64, deserializer: D) -> Result<u64, D::Error> {
    let number = serde_json::Number::deserialize(deserializer)?;
    let integer = number.as_u64().or_else(|| {
        let float = number.as_f64().filter(|float| float.fract() == 0.0 && *float >= 0.0)?;
        Some(float as u64)
    });
    integer
        .filter(|integer| (1..=most).contains(integer))
        .ok_or_else(|| serde::de::Error::custom(format!("{number} is no integer from 1 to {most}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_set_means_the_defaults() {
        assert_eq!(serde_json::from_str::<Config>("{}").unwrap(), Config::default());
    }

    #[test]
    fn a_setting_out_of_bounds_is_refused() {
        for json in [
            r#"{"maxReferences":0}"#,
            r#"{"maxReferences":4}"#,
            r#"{"maxReferences":1.5}"#,
            r#"{"maxReferences":"2"}"#,
            r#"{"candidateLimit":-1}"#,
            r#"{"maxReferenceBytes":9007199254740992}"#,
            r#"{"maxReferenceBytes":null}"#,
        ] {
            assert!(serde_json::from_str::<Config>(json).is_err(), "{json}");
        }
    }

    #[test]
    fn an_integer_can_be_spelled_as_a_fraction() {
        let config: Config = serde_json::from_str(r#"{"maxReferences":2.0}"#).unwrap();
        assert_eq!(config.max_references, 2);
    }
}
