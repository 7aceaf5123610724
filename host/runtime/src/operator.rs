//! The operator's file: which plugins run, in which order, with what granted and how they are set.

use std::ops::Range;

use serde::Deserialize;
use serde_json::{Map, Value};
use toml::Spanned;

use crate::grants::{Capabilities, GRANTED_IMPORTS, Grants, RESERVED_KINDS};
use crate::limits::Limits;
use crate::manifest::Manifest;
use crate::policy::{FaultPolicy, OnFault};
use crate::scope::{Scope, SessionScopes};
use crate::settings::Settings;

/// The operator's file, checked as far as it can be without the plugins' manifests.
///
/// ```toml
/// # Plugins stand in this order, the first outermost.
/// [[plugin]]
/// id = "session-reference"
/// settings = { maxReferences = 2 }
/// # Left out, it runs.
/// enabled = true
/// # Caps; a key that is left out caps at its default.
/// limits = { cpu-ms = 500 }
/// on-fault = { pre-step = "skip" }
///
/// [plugin.grants]
/// imports = ["dsh:session/query"]
/// message-kinds = ["session-reference"]
/// rewrite-user = true
/// sessions = { titles = "all", texts = "same-cwd" }
/// ```
#[derive(Clone, Debug)]
pub struct OperatorFile {
    entries: Vec<Entry>,
}

/// One plugin's part of the file, with the line of each thing that a manifest can be at odds with.
#[derive(Clone, Debug)]
struct Entry {
    id: String,
    enabled: bool,
    imports: Vec<(String, usize)>,
    message_kinds: Vec<(String, usize)>,
    rewrite_user: Option<(bool, usize)>,
    append_system: Option<(bool, usize)>,
    wasi_empty: Option<(bool, usize)>,
    titles: Option<(Scope, usize)>,
    texts: Option<(Scope, usize)>,
    limits: Limits,
    on_fault: FaultText,
    settings: Settings,
}

/// What is wrong with the operator's file. Every sentence begins with the line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OperatorError {
    /// The text is not the TOML that it should be: an unknown key, for one.
    #[error("not an operator's file: {reason}")]
    Malformed {
        /// What the parser found, and where.
        reason: String,
    },
    /// A plugin is there twice.
    #[error("line {line}: the plugin {id:?} is there already")]
    Twice {
        /// From one.
        line: usize,
        /// The plugin's id.
        id: String,
    },
    /// It grants what no plugin can have.
    #[error("line {line}: {what} cannot be granted (what can be is {known})")]
    Unknown {
        /// From one.
        line: usize,
        /// The grant as written.
        what: String,
        /// What there is instead.
        known: String,
    },
    /// It grants what the plugin does not ask for.
    #[error(
        "line {line}: {plugin} does not declare {what} (take the grant out, or get a version that asks for it)"
    )]
    Undeclared {
        /// From one.
        line: usize,
        /// The plugin's id.
        plugin: String,
        /// The grant as written.
        what: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    #[serde(default, rename = "plugin")]
    plugins: Vec<EntryText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct EntryText {
    id: Spanned<String>,
    enabled: Option<bool>,
    #[serde(default)]
    grants: GrantsText,
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    on_fault: FaultText,
    #[serde(default)]
    settings: Map<String, Value>,
}

/// A [`FaultPolicy`] as far as the file has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct FaultText {
    pre_step: Option<OnFault>,
    tool_gate: Option<OnFault>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct GrantsText {
    imports: Vec<Spanned<String>>,
    message_kinds: Vec<Spanned<String>>,
    rewrite_user: Option<Spanned<bool>>,
    append_system: Option<Spanned<bool>>,
    wasi_empty: Option<Spanned<bool>>,
    sessions: ScopesText,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct ScopesText {
    titles: Option<Spanned<Scope>>,
    texts: Option<Spanned<Scope>>,
}

impl OperatorFile {
    /// Reads the file's text.
    ///
    /// # Errors
    ///
    /// An unknown key, a plugin that is there twice, an import or a message kind that nobody can be granted; each
    /// with its line.
    pub fn parse(text: &str) -> Result<OperatorFile, OperatorError> {
        let Text { plugins } = toml::from_str(text)
            .map_err(|err| OperatorError::Malformed { reason: err.to_string() })?;
        let mut entries: Vec<Entry> = Vec::with_capacity(plugins.len());
        for plugin in plugins {
            let line = line(text, plugin.id.span());
            let entry = Entry::of(text, plugin);
            entry.check_known()?;
            if entries.iter().any(|before| before.id == entry.id) {
                return Err(OperatorError::Twice { line, id: entry.id });
            }
            entries.push(entry);
        }
        Ok(OperatorFile { entries })
    }

    /// The plugins' ids in the order of the chain.
    pub fn order(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.id.as_str())
    }

    /// Whether the plugin with this id runs; none where the file does not name it.
    #[must_use]
    pub fn enabled(&self, id: &str) -> Option<bool> {
        self.entries.iter().find(|entry| entry.id == id).map(|entry| entry.enabled)
    }

    /// What the plugin with this id is granted, whatever it declares; none where the file does not name it.
    #[must_use]
    pub fn granted(&self, id: &str) -> Option<Capabilities> {
        let entry = self.entries.iter().find(|entry| entry.id == id);
        entry.map(|entry| entry.grants().capabilities)
    }

    /// What the plugin of `manifest` is granted and set to; none where the file does not name it.
    ///
    /// # Errors
    ///
    /// [`OperatorError::Undeclared`]: a grant for what the manifest does not ask for does nothing, and would be
    /// forgotten until a later version asks.
    pub fn terms(&self, manifest: &Manifest) -> Result<Option<(Grants, Settings)>, OperatorError> {
        let Some(entry) = self.entries.iter().find(|entry| entry.id == manifest.id) else {
            return Ok(None);
        };
        entry.check_declared(&manifest.declares)?;
        Ok(Some((entry.grants(), entry.settings.clone())))
    }

    /// What a fault of the plugin with this id does: as the file says, and where it says nothing, as `otherwise`.
    #[must_use]
    pub fn on_fault(&self, id: &str, otherwise: FaultPolicy) -> FaultPolicy {
        let entry = self.entries.iter().find(|entry| entry.id == id);
        entry.map_or(otherwise, |entry| entry.on_fault.over(otherwise))
    }
}

impl FaultText {
    fn over(self, otherwise: FaultPolicy) -> FaultPolicy {
        FaultPolicy {
            pre_step: self.pre_step.unwrap_or(otherwise.pre_step),
            tool_gate: self.tool_gate.unwrap_or(otherwise.tool_gate),
        }
    }
}

impl Entry {
    fn of(text: &str, plugin: EntryText) -> Entry {
        let EntryText { id, enabled, grants, limits, on_fault, settings } = plugin;
        let GrantsText {
            imports,
            message_kinds,
            rewrite_user,
            append_system,
            wasi_empty,
            sessions,
        } = grants;
        Entry {
            id: id.into_inner(),
            enabled: enabled.unwrap_or(true),
            imports: imports.into_iter().map(|import| placed(text, import)).collect(),
            message_kinds: message_kinds.into_iter().map(|kind| placed(text, kind)).collect(),
            rewrite_user: rewrite_user.map(|granted| placed(text, granted)),
            wasi_empty: wasi_empty.map(|granted| placed(text, granted)),
            append_system: append_system.map(|granted| placed(text, granted)),
            titles: sessions.titles.map(|scope| placed(text, scope)),
            texts: sessions.texts.map(|scope| placed(text, scope)),
            limits,
            on_fault,
            settings: Settings(settings),
        }
    }

    fn check_known(&self) -> Result<(), OperatorError> {
        let known = |import: &&(String, usize)| !GRANTED_IMPORTS.contains(&import.0.as_str());
        if let Some((import, line)) = self.imports.iter().find(known) {
            let (what, known) = (format!("the import {import:?}"), GRANTED_IMPORTS.join(", "));
            return Err(OperatorError::Unknown { line: *line, what, known });
        }
        let reserved = |kind: &&(String, usize)| RESERVED_KINDS.contains(&kind.0.as_str());
        if let Some((kind, line)) = self.message_kinds.iter().find(reserved) {
            let known = format!("any kind but {}", RESERVED_KINDS.join(", "));
            let what = format!("the message kind {kind:?}");
            return Err(OperatorError::Unknown { line: *line, what, known });
        }
        Ok(())
    }

    /// Looks for the first grant that `declared` does not hold.
    fn check_declared(&self, declared: &Capabilities) -> Result<(), OperatorError> {
        let imports = self.imports.iter().filter(|(name, _)| !declared.imports.contains(name));
        let imports = imports.map(|(name, line)| (*line, format!("the import {name:?}")));
        let kinds = self.message_kinds.iter();
        let kinds = kinds.filter(|(name, _)| !declared.message_kinds.contains(name));
        let kinds = kinds.map(|(name, line)| (*line, format!("the message kind {name:?}")));
        let flags = [
            (self.rewrite_user, declared.rewrite_user, "`rewrite-user`"),
            (self.append_system, declared.append_system, "`append-system`"),
            (self.wasi_empty, declared.wasi_empty, "`wasi-empty`"),
        ];
        let flags = flags.into_iter().filter_map(|(granted, declared, name)| match granted {
            Some((true, line)) if !declared => Some((line, name.to_owned())),
            _ => None,
        });
        let wider = |what: &'static str, granted: Option<(Scope, usize)>, declared: Scope| {
            let wider = granted.filter(|(granted, _)| granted.and(declared) != *granted);
            wider.map(|(scope, line)| (line, format!("the scope `{scope}` for {what}")))
        };
        let titles = wider("titles", self.titles, declared.sessions.titles);
        let texts = wider("texts", self.texts, declared.sessions.texts);
        let mut undeclared = imports.chain(kinds).chain(flags).chain(titles).chain(texts);
        match undeclared.next() {
            Some((line, what)) => {
                Err(OperatorError::Undeclared { line, plugin: self.id.clone(), what })
            }
            None => Ok(()),
        }
    }

    fn grants(&self) -> Grants {
        let scope = |scope: Option<(Scope, usize)>| scope.map(|(scope, _)| scope);
        let titles = scope(self.titles).unwrap_or_default();
        let texts = scope(self.texts).unwrap_or_default();
        Grants {
            capabilities: Capabilities {
                imports: self.imports.iter().map(|(name, _)| name.clone()).collect(),
                message_kinds: self.message_kinds.iter().map(|(name, _)| name.clone()).collect(),
                rewrite_user: self.rewrite_user.is_some_and(|(granted, _)| granted),
                append_system: self.append_system.is_some_and(|(granted, _)| granted),
                wasi_empty: self.wasi_empty.is_some_and(|(granted, _)| granted),
                sessions: SessionScopes { titles, texts },
            },
            limits: self.limits.clone(),
            on_fault: self.on_fault.over(FaultPolicy::default()),
        }
    }
}

fn placed<T>(text: &str, value: Spanned<T>) -> (T, usize) {
    let line = line(text, value.span());
    (value.into_inner(), line)
}

/// The line in which a span begins, from one.
fn line(text: &str, span: Range<usize>) -> usize {
    text.bytes().take(span.start).filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRANTS: &str = r#"
[[plugin]]
id = "second"

[[plugin]]
id = "first"
settings = { n = 1 }
limits = { cpu-ms = 7 }
on-fault = { pre-step = "skip" }
[plugin.grants]
imports = [
    "dsh:session/query",
]
message-kinds = ["note"]
rewrite-user = true
sessions = { titles = "all", texts = "same-cwd" }
wasi-empty = true
"#;

    fn manifest(declares: &str) -> Manifest {
        let text = format!("id = \"first\"\nversion = \"1\"\n[declares]\n{declares}");
        Manifest::parse(&text).expect("a manifest")
    }

    const ALL: &str = "imports = [\"dsh:session/query\"]\nmessage-kinds = [\"note\"]\n\
                       rewrite-user = true\nwasi-empty = true\nsessions = { titles = \"all\", texts = \"all\" }\n";

    #[test]
    fn a_plugin_gets_what_the_file_grants_it_in_the_files_order() {
        let file = OperatorFile::parse(GRANTS).expect("a file");
        assert_eq!(file.order().collect::<Vec<_>>(), ["second", "first"]);
        let (grants, settings) = file.terms(&manifest(ALL)).expect("terms").expect("an entry");
        assert_eq!(settings.0.get("n"), Some(&1.into()));
        assert_eq!(grants.limits, Limits { cpu_ms: 7, ..Limits::default() });
        assert_eq!(grants.on_fault.pre_step, OnFault::Skip);
        let narrower = SessionScopes::new(Scope::All, Scope::SameCwd);
        let declared = manifest(ALL).declares;
        assert_eq!(grants.capabilities, Capabilities { sessions: narrower, ..declared });
        let skips = FaultPolicy { tool_gate: OnFault::Skip, ..FaultPolicy::default() };
        assert_eq!(file.on_fault("second", skips), skips);
        let both = file.on_fault("first", skips);
        assert_eq!((both.pre_step, both.tool_gate), (OnFault::Skip, OnFault::Skip));
        let stranger = Manifest { id: "third".to_owned(), ..manifest(ALL) };
        assert_eq!(file.terms(&stranger), Ok(None));
    }

    #[test]
    fn a_grant_for_something_undeclared_is_refused_with_its_line() {
        let file = OperatorFile::parse(GRANTS).expect("a file");
        for (declared, line, what) in [
            ("imports = [\"dsh:session/query\"]", 12, "dsh:session/query"),
            ("message-kinds = [\"note\"]", 14, "\"note\""),
            ("rewrite-user = true", 15, "`rewrite-user`"),
            ("titles = \"all\"", 16, "`all` for titles"),
            ("texts = \"all\"", 16, "`same-cwd` for texts"),
            ("wasi-empty = true", 17, "`wasi-empty`"),
        ] {
            let narrow = match declared {
                "titles = \"all\"" => ALL.replace(declared, "titles = \"same-cwd\""),
                "texts = \"all\"" => ALL.replace(declared, "texts = \"lineage\""),
                declared => ALL.replace(declared, ""),
            };
            let said = file.terms(&manifest(&narrow)).expect_err("undeclared").to_string();
            assert!(said.starts_with(&format!("line {line}: first ")), "{said}");
            assert!(said.contains(what), "{said}");
        }
    }

    #[test]
    fn what_nobody_can_be_granted_is_refused_with_its_line() {
        let entry = "[[plugin]]\nid = \"a\"\n";
        for (text, line, what) in [
            ("grants.imports = [\"dsh:session/query\",\n\"wasi:cli/stdout\"]\n", 4, "wasi:cli"),
            ("grants.message-kinds = [\"user\"]\n", 3, "\"user\""),
            ("grants.network = true\n", 3, "network"),
            ("grants.sessions.notes = \"all\"\n", 3, "notes"),
            ("limits.cpu = 1\n", 3, "cpu"),
            ("on-fault.pre-step = \"ignore\"\n", 3, "ignore"),
            ("\n[[plugin]]\nid = \"a\"\n", 5, "there already"),
        ] {
            let said = OperatorFile::parse(&format!("{entry}{text}")).expect_err(what).to_string();
            assert!(said.contains(&format!("line {line}")) && said.contains(what), "{said}");
        }
    }
}
