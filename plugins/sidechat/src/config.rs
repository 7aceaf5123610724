//! The plugin's settings.

use serde::Deserialize;

/// The settings, whose bounds the manifest's schema has checked.
///
/// `contextEvent` is not here: the host reads it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Config {
    /// The most bytes of a note, heading and notice included.
    pub handback_bytes: usize,
    /// Whether a session without a completed turn has no side sessions.
    pub refuse_without_turn: bool,
    /// Tools that may run in a side session though they are not read-only.
    pub exceptions: Vec<String>,
    /// What the model of a side session reads first; none for [`framing::TEXT`](crate::framing::TEXT).
    pub framing: Option<String>,
    /// Whether the framing stands in the system prompt too.
    pub system_prompt: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            handback_bytes: 8192,
            refuse_without_turn: false,
            exceptions: Vec::new(),
            framing: None,
            system_prompt: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn side_settings_are_those_of_the_manifest() {
        assert_eq!(serde_json::from_str::<Config>("{}").expect("settings"), Config::default());
        let set = r#"{"handbackBytes": 512, "refuseWithoutTurn": true, "exceptions": ["bash"],
            "framing": "Look.", "systemPrompt": true, "contextEvent": "context/message"}"#;
        let set: Config = serde_json::from_str(set).expect("settings");
        assert_eq!((set.handback_bytes, set.refuse_without_turn), (512, true));
        assert_eq!((set.exceptions, set.system_prompt), (vec!["bash".to_owned()], true));
        assert_eq!(set.framing.as_deref(), Some("Look."));
    }
}
