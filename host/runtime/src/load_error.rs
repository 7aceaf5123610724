//! Why a plugin could not be loaded, and what to do about it.

use crate::error::Cause;

/// A plugin could not be loaded. Whoever installed it has to act.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The engine itself could not be made, the cache's directory for one.
    #[error("the plugin engine could not be made: {reason}")]
    Engine {
        /// What the engine said.
        reason: String,
    },
    /// The bytes are no component.
    #[error(
        "{plugin}: {found}, not a component (a Rust plugin becomes one with `linker = \"wasm-component-ld\"`)"
    )]
    NotAComponent {
        /// The plugin's id.
        plugin: String,
        /// What they are instead.
        found: &'static str,
    },
    /// The bytes are a component that the engine does not take.
    #[error("{plugin}: not a valid component: {reason}")]
    Compile {
        /// The plugin's id.
        plugin: String,
        /// What the compiler said.
        reason: String,
    },
    /// It speaks another version of an interface.
    #[error(
        "{plugin}: speaks `{interface}` in version {wanted}, and this host in {offered} (build it against the host's wit)"
    )]
    Version {
        /// The plugin's id.
        plugin: String,
        /// The interface, without version.
        interface: String,
        /// What the component was built against.
        wanted: String,
        /// Every version that this host speaks.
        offered: String,
    },
    /// It imports a part of WASI that it did not ask for, was not granted, or that there is not.
    #[error(
        "{plugin}: imports `{interface}`, and {why} (or build it without WASI: for wasm32-unknown-unknown, or let your toolchain stub it)"
    )]
    Wasi {
        /// The plugin's id.
        plugin: String,
        /// The interface as imported.
        interface: String,
        /// What is in the way, and what to do about it.
        why: &'static str,
    },
    /// It imports what this host has never heard of.
    #[error("{plugin}: imports `{import}`, which is no part of this host's contract")]
    UnknownImport {
        /// The plugin's id.
        plugin: String,
        /// The import's name.
        import: String,
    },
    /// It imports what its manifest does not ask for.
    #[error(
        "{plugin}: imports `{interface}`, which its manifest does not declare (add it to `imports` under [declares])"
    )]
    NotDeclared {
        /// The plugin's id.
        plugin: String,
        /// The interface with its version.
        interface: String,
    },
    /// It imports what the operator did not grant.
    #[error(
        "{plugin}: imports `{interface}`, which is declared and not granted (grant it, or do not load the plugin)"
    )]
    NotGranted {
        /// The plugin's id.
        plugin: String,
        /// The interface with its version.
        interface: String,
    },
    /// An interface has the right name and other types.
    #[error("{plugin}: `{interface}` does not fit this host's: {reason}")]
    Mismatch {
        /// The plugin's id.
        plugin: String,
        /// The interface with its version.
        interface: String,
        /// Which function or type, and what is wrong with it.
        reason: String,
    },
    /// It exports nothing that this host calls.
    #[error("{plugin}: exports no seam that this host calls (one of {}); it exports {exports}", crate::seam::NAMES.join(", "))]
    NoSeam {
        /// The plugin's id.
        plugin: String,
        /// What it does export, or `nothing`.
        exports: String,
    },
    /// It compiled and linked, and did not live through being instantiated once.
    #[error("{plugin}: did not start: {cause}")]
    Start {
        /// The plugin's id.
        plugin: String,
        /// What stopped it.
        cause: Cause,
    },
    /// Its settings do not match its manifest's schema. The operator has to act.
    #[error("{plugin}: the setting `{at}` is not allowed: {reason}")]
    Settings {
        /// The plugin's id.
        plugin: String,
        /// A JSON pointer into the settings; empty for the settings as a whole.
        at: String,
        /// What the schema wants.
        reason: String,
    },
    /// Its manifest's schema of the settings is none.
    #[error("{plugin}: the manifest's [settings] is no JSON Schema: {reason}")]
    Schema {
        /// The plugin's id.
        plugin: String,
        /// What is wrong with it.
        reason: String,
    },
}
