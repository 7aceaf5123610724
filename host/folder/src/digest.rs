//! The SHA-256 of what is installed: it names components on disk, and tells when one was changed.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

/// A SHA-256, as 64 lower-case hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Digest(String);

/// A text that is no digest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no SHA-256 of 64 lower-case hexadecimal digits")]
pub struct NoDigest(String);

impl Digest {
    /// The digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Digest {
        use fmt::Write as _;

        let mut digits = String::with_capacity(64);
        for byte in Sha256::digest(bytes) {
            // Writing to a string cannot fail.
            let _ = write!(digits, "{byte:02x}");
        }
        Digest(digits)
    }

    /// Its digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its first twelve digits: enough for people to tell two apart.
    #[must_use]
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or_default()
    }
}

impl FromStr for Digest {
    type Err = NoDigest;

    fn from_str(text: &str) -> Result<Digest, NoDigest> {
        Digest::try_from(text.to_owned())
    }
}

impl TryFrom<String> for Digest {
    type Error = NoDigest;

    fn try_from(text: String) -> Result<Digest, NoDigest> {
        let digit = |c: char| matches!(c, '0'..='9' | 'a'..='f');
        if text.len() == 64 && text.chars().all(digit) {
            Ok(Digest(text))
        } else {
            Err(NoDigest(text))
        }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_what_other_programs_say_it_is() {
        let digest = Digest::of(b"abc");
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest.as_str(), known);
        assert_eq!(known.parse(), Ok(digest));
        // A digest names a file: what is none must not become a path.
        for wrong in ["", "../../etc/passwd", &known[1..], &known.to_uppercase()] {
            assert!(wrong.parse::<Digest>().is_err(), "{wrong:?}");
        }
    }
}
