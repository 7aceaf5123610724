//! What must never be shown, and how it is kept out of what is.

use std::fmt;

/// A key, or the value of a header: sent, and never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// Shorter values are in ordinary words; hiding them would make nonsense of every text.
const SHORTEST: usize = 6;

impl Secret {
    /// Hides this text. White space around it is dropped: files and commands end it with a newline.
    pub fn new(text: impl AsRef<str>) -> Self {
        Self(text.as_ref().trim().to_owned())
    }

    /// Whether there is nothing to hide.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text itself, for the one place that sends it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// The text without this secret: services quote a key that they refuse.
    pub(crate) fn hide(&self, text: String) -> String {
        if self.0.len() < SHORTEST || !text.contains(&self.0) {
            return text;
        }
        text.replace(&self.0, "<hidden>")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(<hidden>)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_never_printed() {
        let secret = Secret::new("sk-very-secret\n");
        assert_eq!(
            format!("{secret:?} {:?}", Some(&secret)),
            "Secret(<hidden>) Some(Secret(<hidden>))"
        );
        let said = secret.hide("no such key: sk-very-secret.".into());
        assert_eq!(said, "no such key: <hidden>.");
        assert_eq!(secret.reveal(), "sk-very-secret");
    }

    #[test]
    fn nothing_to_hide_hides_nothing() {
        assert_eq!(Secret::new(" ").hide("a b".into()), "a b");
        assert_eq!(Secret::new("no").hide("no, not now".into()), "no, not now");
    }
}
