//! `plugin.toml`: who a plugin is and what it asks for.

use std::path::PathBuf;

use serde::Deserialize;

use crate::grants::{Capabilities, GRANTED_IMPORTS, RESERVED_KINDS};
use crate::limits::Limits;

/// A plugin's manifest, checked.
///
/// ```toml
/// id = "session-reference"
/// version = "0.1.0"
/// # Where its component is: a path from this file's folder, or `oci://` and a reference.
/// component = "target/wasm32-unknown-unknown/release/session_reference.wasm"
///
/// [declares]
/// imports = ["dsh:session/query"]
/// message-kinds = ["session-reference"]
/// rewrite-user = true
/// append-system = true
/// # Each one of `none`, `self`, `lineage`, `same-cwd` and `all`.
/// sessions = { titles = "all", texts = "lineage" }
///
/// [limits]
/// cpu-ms = 100
///
/// # The settings' JSON Schema, written as TOML.
/// [settings]
/// type = "object"
/// additionalProperties = false
/// properties.maxReferences = { type = "integer", minimum = 1, maximum = 3 }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Manifest {
    /// Names the plugin in logs, in sources of its messages and in every error.
    pub id: String,
    /// The plugin's own version, as its author writes it.
    pub version: String,
    /// Where its component is, for whoever installs it; none where the component carries the manifest.
    pub component: Option<ComponentPlace>,
    /// The SHA-256 of its component, 64 lower-case hexadecimal digits; none where its author pins none.
    pub sha256: Option<String>,
    /// What it asks to be able to do.
    pub declares: Capabilities,
    /// What it needs for one call, where the default does not fit.
    pub limits: Limits,
    /// The JSON Schema that its settings have to match; none where it takes anything.
    pub settings: Option<serde_json::Value>,
}

/// Where a manifest says that its component is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComponentPlace {
    /// A file; a relative path goes from the manifest's folder.
    Path(PathBuf),
    /// A reference in an OCI registry, without the `oci://` that it is written with.
    Reference(String),
}

/// Why a manifest was refused. The plugin's author has to act.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// The text is not the TOML that a manifest is; says the line.
    #[error("not a plugin manifest: {reason}")]
    Malformed {
        /// What the parser found, and where.
        reason: String,
    },
    /// The id cannot be a plugin's.
    #[error("the plugin id {id:?} {reason}")]
    Id {
        /// The id as given.
        id: String,
        /// Completes the sentence "the id ...".
        reason: &'static str,
    },
    /// Its digest cannot be a SHA-256.
    #[error("{plugin}: sha256 = {sha256:?} is not 64 lower-case hexadecimal digits")]
    Digest {
        /// The plugin's id.
        plugin: String,
        /// The digest as given.
        sha256: String,
    },
    /// It declares an import that this host has no grant for.
    #[error("{plugin}: declares the import {import:?}; what can be declared is {}", GRANTED_IMPORTS.join(", "))]
    UnknownImport {
        /// The plugin's id.
        plugin: String,
        /// The import as declared.
        import: String,
    },
    /// It declares a message kind that no plugin can have.
    #[error("{plugin}: declares the message kind {kind:?}, which speaks for somebody else")]
    ReservedKind {
        /// The plugin's id.
        plugin: String,
        /// The kind as declared.
        kind: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Text {
    id: String,
    version: String,
    component: Option<String>,
    sha256: Option<String>,
    #[serde(default)]
    declares: Capabilities,
    #[serde(default)]
    limits: Limits,
    settings: Option<serde_json::Value>,
}

impl Manifest {
    /// Reads and checks the text of a `plugin.toml`.
    ///
    /// # Errors
    ///
    /// An unknown key, a missing `id` or `version`, an id that belongs to somebody else, a digest that is none, an
    /// import or a message kind that cannot be granted.
    pub fn parse(text: &str) -> Result<Manifest, ManifestError> {
        let Text { id, version, component, sha256, declares, limits, settings } =
            toml::from_str(text)
                .map_err(|err| ManifestError::Malformed { reason: err.to_string() })?;
        if let Some(reason) = fault_of_id(&id) {
            return Err(ManifestError::Id { id, reason });
        }
        let digit = |c: char| matches!(c, '0'..='9' | 'a'..='f');
        let wrong = |sha256: &&String| sha256.len() != 64 || !sha256.chars().all(digit);
        if let Some(sha256) = sha256.as_ref().filter(wrong) {
            return Err(ManifestError::Digest { plugin: id, sha256: sha256.clone() });
        }
        let component = component.map(|place| match place.strip_prefix("oci://") {
            Some(reference) => ComponentPlace::Reference(reference.to_owned()),
            None => ComponentPlace::Path(place.into()),
        });
        let known = |import: &&String| !GRANTED_IMPORTS.contains(&import.as_str());
        if let Some(import) = declares.imports.iter().find(known) {
            return Err(ManifestError::UnknownImport { plugin: id, import: import.clone() });
        }
        let reserved = |kind: &&String| RESERVED_KINDS.contains(&kind.as_str());
        if let Some(kind) = declares.message_kinds.iter().find(reserved) {
            return Err(ManifestError::ReservedKind { plugin: id, kind: kind.clone() });
        }
        Ok(Manifest { id, version, component, sha256, declares, limits, settings })
    }
}

/// Completes "the id ..." for an id that no plugin can have.
fn fault_of_id(id: &str) -> Option<&'static str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./@".contains(c);
    if id.is_empty() || id.len() > 128 || !id.chars().all(plain) {
        return Some("must be 1 to 128 letters, digits and characters of -_./@");
    }
    // The client takes messages of these for its own, a checkpoint's among them.
    if id == "compact" || id.starts_with("@deepseek-ai/") {
        return Some("belongs to the harness itself");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::Scope;

    fn refusal(text: &str) -> String {
        Manifest::parse(text).expect_err("refused").to_string()
    }

    #[test]
    fn a_full_manifest_is_read() {
        let manifest = Manifest::parse(
            r#"
            id = "session-reference"
            version = "0.1.0"
            [declares]
            imports = ["dsh:session/query"]
            message-kinds = ["session-reference"]
            rewrite-user = true
            sessions = { titles = "all", texts = "same-cwd" }
            [limits]
            cpu-ms = 100
            [settings]
            type = "object"
            properties.maxReferences = { type = "integer", minimum = 1 }
            "#,
        )
        .expect("reads");
        assert_eq!(manifest.id, "session-reference");
        assert!(manifest.declares.rewrite_user);
        let scopes = manifest.declares.sessions;
        assert_eq!((scopes.titles, scopes.texts), (Scope::All, Scope::SameCwd));
        assert_eq!(manifest.limits, Limits { cpu_ms: 100, ..Limits::default() });
        let schema = manifest.settings.expect("a schema");
        assert_eq!(schema["properties"]["maxReferences"]["minimum"], 1);
    }

    #[test]
    fn an_unknown_key_is_refused_with_its_line() {
        let said = refusal("id = \"a\"\nversion = \"1\"\nnetwork = true\n");
        assert!(said.contains("line 3") && said.contains("network"), "{said}");
        let said = refusal("id = \"a\"\nversion = \"1\"\n[limits]\ncpu = 1\n");
        assert!(said.contains("line 4") && said.contains("cpu"), "{said}");
        let sessions = "id = \"a\"\nversion = \"1\"\n[declares.sessions]\n";
        let said = refusal(&format!("{sessions}titles = \"everybody's\"\n"));
        assert!(said.contains("line 4") && said.contains("same-cwd"), "{said}");
        let said = refusal(&format!("{sessions}notes = \"all\"\n"));
        assert!(said.contains("line 4") && said.contains("notes"), "{said}");
    }

    #[test]
    fn a_component_is_in_a_file_or_in_a_registry_and_its_digest_is_a_digest() {
        let base = "id = \"a\"\nversion = \"1\"\n";
        let place = |text: &str| {
            let manifest = Manifest::parse(&format!("{base}component = {text:?}\n"));
            manifest.expect("a manifest").component.expect("a place")
        };
        assert_eq!(place("out/a.wasm"), ComponentPlace::Path("out/a.wasm".into()));
        let reference = ComponentPlace::Reference("ghcr.io/a/b:1".to_owned());
        assert_eq!(place("oci://ghcr.io/a/b:1"), reference);
        let digest = "0123456789abcdef".repeat(4);
        let manifest = Manifest::parse(&format!("{base}sha256 = {digest:?}\n"));
        assert_eq!(manifest.expect("a manifest").sha256, Some(digest.clone()));
        for wrong in [&digest[1..], &digest.to_uppercase(), &format!("sha256:{digest}")] {
            let said = refusal(&format!("{base}sha256 = {wrong:?}\n"));
            assert!(said.starts_with("a: sha256"), "{said}");
        }
    }

    #[test]
    fn ids_of_the_harness_are_refused() {
        for id in ["compact", "@deepseek-ai/dsh", "", "a b", "a\\u0007"] {
            let said = refusal(&format!("id = \"{id}\"\nversion = \"1\"\n"));
            assert!(said.starts_with("the plugin id"), "{id:?}: {said}");
        }
    }

    #[test]
    fn what_cannot_be_granted_cannot_be_declared() {
        let base = "id = \"a\"\nversion = \"1\"\n[declares]\n";
        let said = refusal(&format!("{base}imports = [\"wasi:cli/stdout\"]\n"));
        assert!(said.contains("wasi:cli/stdout"), "{said}");
        let said = refusal(&format!("{base}message-kinds = [\"user\"]\n"));
        assert!(said.contains("\"user\""), "{said}");
    }
}
