//! What a plugin declares and what the operator grants: only what is both runs.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::limits::Limits;
use crate::policy::FaultPolicy;
use crate::scope::SessionScopes;

/// Imports that have to be declared and granted. Every other import of the contract needs no grant: it reaches no
/// further than what the call brought with it.
pub const GRANTED_IMPORTS: [&str; 2] = ["dsh:session/query", "dsh:agent/agents"];

/// Kinds of a message's source that no plugin may give its context: they speak for somebody else.
pub const RESERVED_KINDS: [&str; 3] = ["user", "model", "tool"];

/// What a plugin can do beyond looking at what it is handed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Capabilities {
    /// Interfaces, without version; each one of [`GRANTED_IMPORTS`].
    pub imports: BTreeSet<String>,
    /// Kinds that its context messages may carry besides `plugin`; none of [`RESERVED_KINDS`].
    pub message_kinds: BTreeSet<String>,
    /// Whether it may change a user's text or leave a user message out.
    pub rewrite_user: bool,
    /// Whether it may add to the system prompt of a session that it creates.
    pub append_system: bool,
    /// Whether the parts of WASI 0.2 that it imports are linked, each with nothing behind it: no file, variable,
    /// argument, terminal or network; clocks stand still, chance is seeded for each call, and what it writes to its
    /// standard streams goes to its log.
    pub wasi_empty: bool,
    /// How far `dsh:session/query` reaches. Without the import the scopes are nothing to it.
    pub sessions: SessionScopes,
}

impl Capabilities {
    /// What is in both.
    #[must_use]
    pub fn and(&self, other: &Capabilities) -> Capabilities {
        Capabilities {
            imports: &self.imports & &other.imports,
            message_kinds: &self.message_kinds & &other.message_kinds,
            rewrite_user: self.rewrite_user && other.rewrite_user,
            append_system: self.append_system && other.append_system,
            wasi_empty: self.wasi_empty && other.wasi_empty,
            sessions: self.sessions.and(other.sessions),
        }
    }
}

/// What the operator allows one plugin.
///
/// The default grants no capability and caps every limit at its default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Grants {
    /// Of what the plugin declares, what it gets.
    pub capabilities: Capabilities,
    /// The most that its manifest can ask for.
    pub limits: Limits,
    /// What becomes of a turn when it faults.
    pub on_fault: FaultPolicy,
}

impl Grants {
    /// Grants `capabilities` and caps every limit at its default.
    #[must_use]
    pub fn new(capabilities: Capabilities) -> Grants {
        Grants { capabilities, ..Grants::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::Scope;

    #[test]
    fn only_what_is_declared_and_granted_is_there() {
        let declared = Capabilities {
            message_kinds: ["a".to_owned(), "b".to_owned()].into(),
            rewrite_user: true,
            sessions: SessionScopes { titles: Scope::All, texts: Scope::Lineage },
            ..Capabilities::default()
        };
        let granted = Capabilities {
            message_kinds: ["b".to_owned(), "c".to_owned()].into(),
            sessions: SessionScopes { titles: Scope::SameCwd, texts: Scope::None },
            ..Capabilities::default()
        };
        let both = declared.and(&granted);
        assert_eq!(both.message_kinds, ["b".to_owned()].into());
        assert!(!both.rewrite_user);
        assert_eq!((both.sessions.titles, both.sessions.texts), (Scope::SameCwd, Scope::None));
    }
}
