//! The standard plugins, compiled: what the binary holds, so that it works wherever it is moved.

/// One standard plugin.
#[derive(Debug, Clone, Copy)]
pub struct Standard {
    /// The text of its `plugin.toml`.
    pub manifest: &'static str,
    /// Its component.
    pub wasm: &'static [u8],
}

/// Brings a bounded snapshot of another session into the message that mentions it.
pub const SESSION_REFERENCE: Standard = Standard {
    manifest: include_str!("../reference/plugin.toml"),
    wasm: include_bytes!(env!("SESSION_REFERENCE")),
};

/// Asks on the side, in a forked session, and takes one short note back.
pub const SIDECHAT: Standard = Standard {
    manifest: include_str!("../sidechat/plugin.toml"),
    wasm: include_bytes!(env!("SIDECHAT")),
};

/// All of them, in the order in which a standard composition calls them.
pub const ALL: [Standard; 2] = [SESSION_REFERENCE, SIDECHAT];
