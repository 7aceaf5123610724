//! The programs' components, and what their tests share: a host, a scripted store, a log that is kept.

mod living;
mod scripted;
mod stored;

pub use living::{Event, Living, Reply, Session, fact};
pub use scripted::{Delay, Kept, Memory, Scripted, services, services_with};
pub use stored::{Stored, StoredSession};

use dsh_plugin_host::{
    Block, CallError, Capabilities, Chain, Decision, Grants, HostOptions, LoadError, Manifest,
    Message, Plugin, PluginHost, PreStepCall, Scope, Services, SessionScopes, Settings, Source,
};

include!(concat!(env!("OUT_DIR"), "/programs.rs"));

/// Everything that a plugin can be granted.
#[must_use]
pub fn everything() -> Capabilities {
    let mut all = Capabilities::default();
    all.imports = ["dsh:session/query", "dsh:agent/agents"].map(str::to_owned).into();
    all.message_kinds = ["note".to_owned()].into();
    all.rewrite_user = true;
    all.append_system = true;
    all.wasi_empty = true;
    all.sessions = SessionScopes::new(Scope::All, Scope::All);
    all
}

/// What every program declares: everything. Its limits are the default ones.
///
/// # Panics
///
/// Never, but for a manifest format that changed.
#[must_use]
pub fn manifest(id: &str) -> Manifest {
    let text = format!(
        "id = {id:?}\nversion = \"1\"\n[declares]\n\
         imports = [\"dsh:session/query\", \"dsh:agent/agents\"]\n\
         message-kinds = [\"note\"]\nrewrite-user = true\nappend-system = true\n\
         wasi-empty = true\n\
         sessions = {{ titles = \"all\", texts = \"all\" }}\n"
    );
    Manifest::parse(&text).expect("a manifest")
}

/// A host without a cache.
///
/// # Panics
///
/// If there can be no engine on this machine.
#[must_use]
pub fn host() -> PluginHost {
    PluginHost::new(HostOptions::default()).expect("an engine")
}

/// Loads the program at `path` as a plugin named after it, with `capabilities` granted.
///
/// # Errors
///
/// As [`PluginHost::load`].
///
/// # Panics
///
/// If the program was not built.
pub async fn load(
    host: &PluginHost,
    path: &str,
    capabilities: Capabilities,
) -> Result<Plugin, LoadError> {
    let wasm = std::fs::read(path).expect("a program that was built");
    let name =
        std::path::Path::new(path).file_stem().and_then(|name| name.to_str()).expect("a name");
    host.load(manifest(name), &wasm, Settings::default(), &Grants::new(capabilities)).await
}

/// Loads programs with everything granted and makes a chain of them, the first outermost.
///
/// # Panics
///
/// If one does not load.
pub async fn chain(paths: &[&str]) -> Chain {
    let host = host();
    let mut plugins = Vec::new();
    for path in paths {
        plugins.push(load(&host, path, everything()).await.unwrap_or_else(|err| panic!("{err}")));
    }
    Chain::new(plugins)
}

/// As [`chain`] of one program, with nothing granted but reads, which some programs cannot link without.
///
/// # Panics
///
/// If it does not load.
pub async fn ungranted(path: &str) -> Chain {
    let mut reads = Capabilities::default();
    reads.imports = everything().imports;
    reads.sessions = everything().sessions;
    Chain::new([load(&host(), path, reads).await.unwrap_or_else(|err| panic!("{err}"))])
}

/// A prompt of the user.
#[must_use]
pub fn prompt(id: &str, text: &str) -> Message {
    Message::new(id, Source::User, r#"{"kind":"user"}"#, vec![Block::text(text)])
}

/// A call with the prompts `m0`, which says `hello`, and `m1`, which says `world`.
#[must_use]
pub fn call() -> PreStepCall {
    PreStepCall::new("session", 1, 1, vec![prompt("m0", "hello"), prompt("m1", "world")])
}

/// Passes [`call`] through a chain.
///
/// # Errors
///
/// As [`Chain::pre_step`].
pub async fn run(chain: &Chain, services: &Services) -> Result<Decision, CallError> {
    chain.pre_step(services, call()).await
}
