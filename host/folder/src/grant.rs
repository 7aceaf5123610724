//! One thing that a plugin can be granted, as people say and read it.

use std::fmt;
use std::str::FromStr;

use dsh_plugin_host::{Capabilities, GRANTED_IMPORTS, Limits, RESERVED_KINDS, Scope};

use crate::error::FolderError;

/// One thing that a plugin can be granted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Grant {
    /// An interface, by its name: `dsh:session/query`.
    Import(String),
    /// A kind of its context messages: `kind=NAME`.
    Kind(String),
    /// `rewrite-user`.
    RewriteUser,
    /// `append-system`.
    AppendSystem,
    /// `wasi-empty`.
    WasiEmpty,
    /// Whose titles it may read: `titles=SCOPE`.
    Titles(Scope),
    /// Whose texts it may read: `texts=SCOPE`.
    Texts(Scope),
    /// The most that it may use up of something in one call: `cpu-ms=500`.
    Limit {
        /// The limit's key.
        key: String,
        /// In the limit's own unit.
        figure: u64,
    },
}

impl Grant {
    /// Everything that `capabilities` holds, one by one.
    #[must_use]
    pub fn all(capabilities: &Capabilities) -> Vec<Grant> {
        Grant::beyond(capabilities, &Capabilities::default())
    }

    /// What `wanted` holds and `had` does not: what a person has to be asked about.
    #[must_use]
    pub fn beyond(wanted: &Capabilities, had: &Capabilities) -> Vec<Grant> {
        let imports = wanted.imports.difference(&had.imports).cloned().map(Grant::Import);
        let mut beyond: Vec<Grant> = imports.collect();
        beyond
            .extend(wanted.message_kinds.difference(&had.message_kinds).cloned().map(Grant::Kind));
        beyond.extend((wanted.rewrite_user && !had.rewrite_user).then_some(Grant::RewriteUser));
        beyond.extend((wanted.append_system && !had.append_system).then_some(Grant::AppendSystem));
        beyond.extend((wanted.wasi_empty && !had.wasi_empty).then_some(Grant::WasiEmpty));
        let wider = |wanted: Scope, had: Scope| (wanted.and(had) != wanted).then_some(wanted);
        beyond.extend(wider(wanted.sessions.titles, had.sessions.titles).map(Grant::Titles));
        beyond.extend(wider(wanted.sessions.texts, had.sessions.texts).map(Grant::Texts));
        beyond
    }

    /// Whether a manifest that declares `declared` asks for it.
    #[must_use]
    pub fn is_in(&self, declared: &Capabilities) -> bool {
        match self {
            Grant::Import(name) => declared.imports.contains(name),
            Grant::Kind(kind) => declared.message_kinds.contains(kind),
            Grant::RewriteUser => declared.rewrite_user,
            Grant::AppendSystem => declared.append_system,
            Grant::WasiEmpty => declared.wasi_empty,
            Grant::Titles(scope) => scope.and(declared.sessions.titles) == *scope,
            Grant::Texts(scope) => scope.and(declared.sessions.texts) == *scope,
            Grant::Limit { .. } => true,
        }
    }

    /// What it lets a plugin do, for people.
    #[must_use]
    pub fn meaning(&self) -> String {
        let whose = |scope: &Scope| match scope {
            Scope::None => "no session",
            Scope::Own => "the session that it works in",
            Scope::Lineage => "sessions that it was forked from or to",
            Scope::SameCwd => "sessions in the same working directory",
            Scope::All => "every session",
            _ => "other sessions",
        };
        match self {
            Grant::Import(name) => format!("import {name}"),
            Grant::Kind(kind) => format!("add messages of kind `{kind}`"),
            Grant::RewriteUser => {
                "change the texts of your messages (marked wherever they show)".to_owned()
            }
            Grant::AppendSystem => {
                "add to the system prompt of a session that it creates".to_owned()
            }
            Grant::WasiEmpty => "find a WASI with nothing in it".to_owned(),
            Grant::Titles(scope) => format!("read the titles of {}", whose(scope)),
            Grant::Texts(scope) => format!("read the texts of {}", whose(scope)),
            Grant::Limit { key, figure } => format!("use up to {figure} of `{key}` in a call"),
        }
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Grant::Import(name) => f.write_str(name),
            Grant::Kind(kind) => write!(f, "kind={kind}"),
            Grant::RewriteUser => f.write_str("rewrite-user"),
            Grant::AppendSystem => f.write_str("append-system"),
            Grant::WasiEmpty => f.write_str("wasi-empty"),
            Grant::Titles(scope) => write!(f, "titles={scope}"),
            Grant::Texts(scope) => write!(f, "texts={scope}"),
            Grant::Limit { key, figure } => write!(f, "{key}={figure}"),
        }
    }
}

impl FromStr for Grant {
    type Err = FolderError;

    fn from_str(text: &str) -> Result<Grant, FolderError> {
        let refused = |reason: String| FolderError::Grant { what: text.to_owned(), reason };
        match text.split_once('=') {
            None if GRANTED_IMPORTS.contains(&text) => Ok(Grant::Import(text.to_owned())),
            None if text == "rewrite-user" => Ok(Grant::RewriteUser),
            None if text == "append-system" => Ok(Grant::AppendSystem),
            None if text == "wasi-empty" => Ok(Grant::WasiEmpty),
            None => Err(refused(format!("what can be is {}", known()))),
            Some(("kind", kind)) if RESERVED_KINDS.contains(&kind) || kind.is_empty() => {
                Err(refused(format!("any kind can be but {}", RESERVED_KINDS.join(", "))))
            }
            Some(("kind", kind)) => Ok(Grant::Kind(kind.to_owned())),
            Some(("titles", scope)) => scope_of(scope).map(Grant::Titles).map_err(refused),
            Some(("texts", scope)) => scope_of(scope).map(Grant::Texts).map_err(refused),
            Some((key, figure)) if limit_keys().iter().any(|known| known == key) => {
                let figure = figure.parse();
                let figure = figure.map_err(|_| refused(format!("{key} takes a whole number")))?;
                Ok(Grant::Limit { key: key.to_owned(), figure })
            }
            Some(_) => Err(refused(format!("what can be is {}", known()))),
        }
    }
}

fn scope_of(text: &str) -> Result<Scope, String> {
    let scopes = [Scope::None, Scope::Own, Scope::Lineage, Scope::SameCwd, Scope::All];
    let names = scopes.map(Scope::name);
    let found = scopes.into_iter().find(|scope| scope.name() == text);
    found.ok_or_else(|| format!("a scope is one of {}", names.join(", ")))
}

/// The keys of every limit, as they are written.
fn limit_keys() -> Vec<String> {
    let limits = serde_json::to_value(Limits::default());
    let keys = limits.ok().and_then(|limits| Some(limits.as_object()?.keys().cloned().collect()));
    keys.unwrap_or_default()
}

fn known() -> String {
    let imports = GRANTED_IMPORTS.join(", ");
    let limits = limit_keys().join("=N, ");
    format!(
        "{imports}, kind=NAME, rewrite-user, append-system, wasi-empty, titles=SCOPE, texts=SCOPE, {limits}=N, and `all`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(text: &str) -> Grant {
        text.parse().unwrap_or_else(|err| panic!("{text}: {err}"))
    }

    #[test]
    fn a_grant_is_read_as_it_is_written() {
        for text in [
            "dsh:session/query",
            "kind=note",
            "rewrite-user",
            "append-system",
            "wasi-empty",
            "titles=self",
            "texts=same-cwd",
            "cpu-ms=500",
            "memory-bytes=1048576",
        ] {
            assert_eq!(grant(text).to_string(), text);
        }
    }

    #[test]
    fn what_nobody_can_be_granted_is_refused_with_what_can_be() {
        for (text, what) in [
            ("network", "rewrite-user"),
            ("dsh:session/types", "dsh:session/query"),
            ("kind=user", "but user"),
            ("kind=", "but user"),
            ("titles=mine", "same-cwd"),
            ("cpu-ms=fast", "whole number"),
            ("cpu=1", "cpu-ms=N"),
        ] {
            let said = text.parse::<Grant>().expect_err(text).to_string();
            assert!(said.contains(text) && said.contains(what), "{said}");
        }
    }

    #[test]
    fn only_what_widens_is_beyond() {
        let mut had = Capabilities::default();
        had.imports = ["dsh:session/query".to_owned()].into();
        had.sessions.titles = Scope::All;
        had.sessions.texts = Scope::SameCwd;
        let mut wanted = had.clone();
        assert_eq!(Grant::beyond(&wanted, &had), []);
        wanted.sessions.titles = Scope::Own;
        wanted.sessions.texts = Scope::Lineage;
        wanted.rewrite_user = true;
        wanted.message_kinds = ["note".to_owned()].into();
        let beyond = [grant("kind=note"), grant("rewrite-user"), grant("texts=lineage")];
        assert_eq!(Grant::beyond(&wanted, &had), beyond);
        assert!(beyond.iter().all(|grant| grant.is_in(&wanted) && !grant.is_in(&had)));
    }
}
