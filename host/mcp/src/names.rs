//! Names of tools, as every provider takes them.

use std::collections::HashSet;

use sha2::{Digest as _, Sha256};

/// Most characters of a name: what providers agree on, beside letters, digits, `_` and `-`.
const LONGEST: usize = 64;

/// The names that are taken.
#[derive(Debug, Default)]
pub(crate) struct Names(HashSet<String>);

impl Names {
    /// A name for a tool of a server: `server__tool` where that is a name and free, else one that ends in some digits
    /// of a digest of both, so that it is the same every time.
    pub(crate) fn claim(&mut self, server: &str, tool: &str) -> String {
        let plain = format!("{}__{}", fitting(server), fitting(tool));
        let exact = plain == format!("{server}__{tool}") && plain.len() <= LONGEST;
        if exact && self.0.insert(plain.clone()) {
            return plain;
        }
        let digest = Sha256::digest(format!("{}:{server}{tool}", server.len()));
        let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        // A longer end until it is free: the same tool may be there twice.
        (8..=digits.len())
            .filter_map(|length| {
                let end = digits.get(..length)?;
                let head = plain.get(..plain.len().min(LONGEST.saturating_sub(length + 1)))?;
                Some(format!("{head}_{end}"))
            })
            .find(|name| name.len() <= LONGEST && self.0.insert(name.clone()))
            .unwrap_or(digits)
    }
}

fn fitting(name: &str) -> String {
    let fits = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
    name.chars().map(|char| if fits(char) { char } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_name_stays() {
        assert_eq!(Names::default().claim("github", "create-issue"), "github__create-issue");
    }

    #[test]
    fn other_names_fit_and_stay_apart() {
        let mut names = Names::default();
        let long = "x".repeat(100);
        let claimed: Vec<String> = [
            ("a", "b.c"),
            ("a", "b/c"),
            ("a", "b_c"),
            ("a", "b_c"),
            ("a_", "_b_c"),
            ("日", "本"),
            ("a", &long),
            ("a", ""),
        ]
        .map(|(server, tool)| names.claim(server, tool))
        .into();
        for name in &claimed {
            assert!(name.len() <= 64, "{name}");
            assert!(
                name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)),
                "{name}"
            );
        }
        let apart: HashSet<&String> = claimed.iter().collect();
        assert_eq!(apart.len(), claimed.len(), "{claimed:?}");
        assert_eq!(claimed[2], "a__b_c");
        assert!(claimed[0].starts_with("a__b_c_"), "{claimed:?}");
    }

    #[test]
    fn a_name_is_the_same_every_time() {
        assert_eq!(Names::default().claim("a", "b.c"), Names::default().claim("a", "b.c"));
    }
}
