//! What a key is: its kind, its default, who may set it, and what it is for.

use crate::ROWS;

/// One key.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Such as `model.base-url`; a `*` stands for a name that the person chooses.
    pub name: &'static str,
    /// What its value is.
    pub kind: Kind,
    /// What holds where nobody sets it, as TOML; none is nothing, or what `about` says.
    pub default: Option<&'static str>,
    /// Who may set it.
    pub guard: Guard,
    /// What it is for, in one sentence.
    pub about: &'static str,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Any text that is not empty.
    Text,
    /// A text that is never shown.
    Secret,
    /// An `http` or `https` URL without a user or a password in it.
    Url,
    /// A path; a relative one begins at the folder of the file, `~/` at the home folder.
    Path,
    /// One of these.
    Choice(&'static [&'static str]),
    /// `true` or `false`.
    Boolean,
    /// A whole number from the first to the second.
    Integer(u64, u64),
    /// A number between the two, both of them taken.
    Ratio(f64, f64),
    /// A command and its arguments, started as they are, without a shell.
    Command,
    /// Texts; a higher layer's list stands in place of a lower one's.
    List,
    /// Paths, each as [`Kind::Path`] has it.
    Paths,
    /// Approval rules; the lists of all layers hold together.
    Rules,
    /// Texts under names; the texts are never shown.
    Table,
}

/// Which layers may set a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Every layer: nothing outside the session depends on it.
    Open,
    /// A project's file only where the person trusts its folder.
    Trusted,
    /// Never a project's file.
    Person,
}

/// The largest file of settings that is read, in bytes.
pub const MAX_FILE: u64 = 256 << 10;

/// The row that a key falls under: `mcp.github.url` is one of `mcp.*.url`.
#[must_use]
pub fn row(key: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.is(key))
}

impl Row {
    /// Whether `key` falls under this row.
    #[must_use]
    pub fn is(&self, key: &str) -> bool {
        let mut parts = key.split('.');
        self.name.split('.').all(|wanted| parts.next().is_some_and(|part| matches(wanted, part)))
            && parts.next().is_none()
    }

    /// Whether `prefix`, the parts of a key so far, leads to this row.
    pub(crate) fn begins(&self, prefix: &[&str]) -> bool {
        let mut names = self.name.split('.');
        prefix.iter().all(|part| names.next().is_some_and(|wanted| matches(wanted, part)))
    }

    /// The environment variable that sets it; none where the person chooses a part of the name.
    #[must_use]
    pub fn variable(&self) -> Option<String> {
        if self.name.contains('*') {
            return None;
        }
        Some(format!("{VARIABLES}{}", self.name.replace(['.', '-'], "_").to_uppercase()))
    }
}

/// How every variable of settings begins.
pub const VARIABLES: &str = "DSH_WASM_";

/// Most characters of a name that the person chooses.
const MAX_NAME: usize = 64;

fn matches(wanted: &str, part: &str) -> bool {
    wanted == part || wanted == "*" && is_name(part)
}

/// Whether a person can choose this name: letters, digits, `-` and `_`, at most 64.
pub(crate) fn is_name(part: &str) -> bool {
    let plain = |char: char| char.is_ascii_alphanumeric() || char == '-' || char == '_';
    !part.is_empty() && part.len() <= MAX_NAME && part.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_one_name() {
        assert_eq!(row("mcp.git-hub_2.url").map(|row| row.name), Some("mcp.*.url"));
        for none in ["mcp.url", "mcp.a.b.url", "mcp..url", "mcp.a b.url", "model", "model.name.x"] {
            assert!(row(none).is_none(), "{none}");
        }
    }

    #[test]
    fn a_key_is_there_once_and_its_variable_too() {
        let mut seen = std::collections::BTreeSet::new();
        for row in ROWS {
            assert!(seen.insert(row.name.to_owned()), "{}", row.name);
            assert!(row.variable().is_none_or(|variable| seen.insert(variable)), "{}", row.name);
        }
        assert_eq!(row("model.base-url").unwrap().variable().unwrap(), "DSH_WASM_MODEL_BASE_URL");
    }

    /// The table of the trust prompt is complete only if nothing that starts a process, sends a request, or lets a
    /// tool run is open to everybody.
    #[test]
    fn what_reaches_outside_is_guarded() {
        for row in ROWS {
            let reaches = matches!(
                row.kind,
                Kind::Url
                    | Kind::Command
                    | Kind::Secret
                    | Kind::Rules
                    | Kind::Table
                    | Kind::Path
                    | Kind::Paths
            );
            let named = ["mcp.", "approval.", "plugins."];
            let named = named.iter().any(|prefix| row.name.starts_with(prefix));
            assert!(!(reaches || named) || row.guard != Guard::Open, "{}", row.name);
        }
    }
}
