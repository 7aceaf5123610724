//! Which sessions a plugin may read, titles and texts apart.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Which sessions a read reaches, seen from the session that the call belongs to.
///
/// What lies outside does not exist for the plugin: it is not listed, and asked for by its id it answers as an id
/// that no session has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Scope {
    /// None.
    #[default]
    None,
    /// That session alone. Written `self`.
    #[serde(rename = "self")]
    Own,
    /// That session, those it was forked from and those that were forked from it, over any number of forks. Two
    /// forks of one session are not of one lineage.
    Lineage,
    /// That session, and those with exactly its working directory where it has one.
    SameCwd,
    /// Every session.
    All,
}

/// How far a plugin's reads of sessions reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct SessionScopes {
    /// Which sessions are listed, with their headers, and tell their titles.
    pub titles: Scope,
    /// Which sessions show their surfaces, and the notes that the plugin left in them.
    pub texts: Scope,
}

impl Scope {
    /// The widest scope that lies in both. Of a lineage and a working directory that is the session itself.
    #[must_use]
    pub fn and(self, other: Scope) -> Scope {
        match (self, other) {
            (Scope::All, narrow) | (narrow, Scope::All) => narrow,
            (one, two) if one == two => one,
            (Scope::None, _) | (_, Scope::None) => Scope::None,
            _ => Scope::Own,
        }
    }

    /// As it is written in a manifest.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Scope::None => "none",
            Scope::Own => "self",
            Scope::Lineage => "lineage",
            Scope::SameCwd => "same-cwd",
            Scope::All => "all",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl SessionScopes {
    /// These scopes.
    #[must_use]
    pub fn new(titles: Scope, texts: Scope) -> SessionScopes {
        SessionScopes { titles, texts }
    }

    /// Both scopes, each narrowed to what lies in both.
    #[must_use]
    pub fn and(self, other: SessionScopes) -> SessionScopes {
        SessionScopes { titles: self.titles.and(other.titles), texts: self.texts.and(other.texts) }
    }
}

#[cfg(test)]
mod tests {
    use super::Scope::{self, All, Lineage, None, Own, SameCwd};

    #[test]
    fn the_narrower_of_two_scopes_holds() {
        for scope in [None, Own, Lineage, SameCwd, All] {
            assert_eq!(scope.and(scope), scope);
            assert_eq!((scope.and(All), All.and(scope)), (scope, scope));
            assert_eq!((scope.and(None), None.and(scope)), (None, None));
        }
        assert_eq!((Lineage.and(Own), Own.and(SameCwd)), (Own, Own));
        assert_eq!((Lineage.and(SameCwd), SameCwd.and(Lineage)), (Own, Own));
    }

    #[test]
    fn a_scope_is_written_by_its_name() {
        for scope in [None, Own, Lineage, SameCwd, All] {
            let written = serde_json::to_value(scope).expect("a name");
            assert_eq!(written, scope.name());
            assert_eq!(serde_json::from_value::<Scope>(written).expect("a scope"), scope);
        }
    }
}
