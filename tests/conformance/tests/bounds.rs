//! However large the sessions that are cited, the plugin stays within its limits and 8 MiB of memory.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use dsh_plugin_host::{
    Asker, Failure, Grants, Header, HostOptions, Manifest, Node, OwnNote, Plugin, PluginHost,
    Reference, Role, Services, Sessions, Settings, Snapshot, Source, Surface, Target,
};

const MIB: usize = 1 << 20;

/// A session of `length` nodes, of which `node` says each one's role, source and text.
struct Synthetic<F> {
    header: Header,
    length: u32,
    node: F,
    /// Bytes of text that were handed out.
    read: Arc<AtomicU64>,
}

impl<F: Fn(u32) -> (Role, Source, &'static str) + Send + Sync> Surface for Synthetic<F> {
    fn header(&self) -> &Header {
        &self.header
    }

    fn captured_through(&self) -> Option<u64> {
        Some(self.length.into())
    }

    fn length(&self) -> u32 {
        self.length
    }

    fn node(&self, index: u32) -> Option<Node> {
        let (role, source, text) = (self.node)(index);
        Some(Node { seq: index.into(), role, source, text_bytes: text.len() as u64 })
    }

    fn text(&self, index: u32) -> Option<Cow<'_, str>> {
        let (_, _, text) = (self.node)(index);
        self.read.fetch_add(text.len() as u64, Ordering::Relaxed);
        Some(Cow::Borrowed(text))
    }

    fn text_part(&self, index: u32, start: u64, limit: u32) -> Option<Cow<'_, str>> {
        let (_, _, text) = (self.node)(index);
        let part = dsh_plugin_host::part(text, start, limit);
        self.read.fetch_add(part.len() as u64, Ordering::Relaxed);
        Some(Cow::Borrowed(part))
    }
}

/// Some sessions with surfaces, and a list of many without.
#[derive(Default)]
struct Store {
    surfaces: BTreeMap<String, Arc<dyn Surface>>,
    list: Vec<Header>,
}

#[async_trait]
impl Sessions for Store {
    async fn list(&self, _: &Asker) -> Result<Vec<Header>, Failure> {
        Ok(self.list.clone())
    }

    async fn titles(&self, _: &Asker, ids: &[String]) -> Vec<Result<Option<String>, Failure>> {
        ids.iter().map(|id| Ok(Some(format!("The Title Of {id}")))).collect()
    }

    async fn surfaces(&self, _: &Asker, ids: &[String]) -> Vec<Result<Arc<dyn Surface>, Failure>> {
        let unknown = || Failure::new("not-found", "no such session");
        ids.iter().map(|id| self.surfaces.get(id).cloned().ok_or_else(unknown)).collect()
    }

    async fn own_notes(&self, _: &Asker, _: &str) -> Result<Vec<OwnNote>, Failure> {
        Ok(Vec::new())
    }
}

/// The plugin with 8 MiB of memory, and the default for every other limit but
/// time, of which an unoptimized host takes some for itself.
async fn plugin() -> Plugin {
    let host = PluginHost::new(HostOptions::default()).expect("a host");
    let manifest = Manifest::parse(dsh_plugins::SESSION_REFERENCE.manifest);
    let mut manifest = manifest.expect("a manifest");
    manifest.limits.cpu_ms = 10_000;
    let mut grants = Grants::new(manifest.declares.clone());
    grants.limits.cpu_ms = 10_000;
    grants.limits.memory_bytes = 8 * MIB as u64;
    let wasm = dsh_plugins::SESSION_REFERENCE.wasm;
    host.load(manifest, wasm, Settings::default(), &grants).await.expect("to load")
}

fn services(store: Store) -> Services {
    Services::new(Arc::new(store), Arc::new(()), Arc::new(|| "new".to_owned()))
}

/// Cites three such sessions at once; gives the snapshot and how many bytes of text were read for it.
async fn cite_three(
    length: u32,
    node: impl Fn(u32) -> (Role, Source, &'static str) + Send + Sync + Copy + 'static,
) -> (Result<Snapshot, String>, u64) {
    let read = Arc::new(AtomicU64::new(0));
    let mut store = Store::default();
    for id in ["a", "b", "c"] {
        let header = Header { id: id.to_owned(), ..Header::default() };
        let surface = Synthetic { header, length, node, read: read.clone() };
        store.surfaces.insert(id.to_owned(), Arc::new(surface));
    }
    let cited = ["a", "b", "c"].map(|id| Reference { session: id.to_owned(), label: None });
    let (plugin, services) = (plugin().await, services(store));
    let prepared = plugin.prepare(&services, "me", &[], &cited).await;
    let snapshot = prepared.map(|prepared| prepared.snapshot.expect("a snapshot"));
    (snapshot.map_err(|error| error.to_string()), read.load(Ordering::Relaxed))
}

fn text(snapshot: &Snapshot) -> &str {
    match &*snapshot.content {
        [dsh_plugin_host::Block::Text(text)] => text,
        other => panic!("{other:?}"),
    }
}

fn leaked(piece: &str, bytes: usize) -> &'static str {
    piece.repeat(bytes.div_ceil(piece.len())).leak()
}

#[tokio::test]
async fn of_a_long_conversation_only_what_fits_is_read() {
    let message = leaked("a quarter of a KiB, more or less. ", 256);
    let (snapshot, read) = cite_three(4_096, move |_| (Role::User, Source::User, message)).await;
    let snapshot = snapshot.expect("a snapshot");
    // Each text once to measure it and once to keep it.
    assert!(read < 3 * 2 * 65_536 + 1_024, "{read}");
    assert!(text(&snapshot).len() > 3 * 65_000, "{}", text(&snapshot).len());
}

#[tokio::test]
async fn a_huge_message_is_read_in_parts() {
    let huge = leaked("nothing in this text needs an escape, ", 100 * MIB);
    let (snapshot, _) = cite_three(2, move |_| (Role::User, Source::User, huge)).await;
    let snapshot = snapshot.expect("a snapshot");
    assert!(text(&snapshot).contains("… omitted 10"), "{}", snapshot.facts);
    assert!(text(&snapshot).len() > 3 * 65_000, "{}", text(&snapshot).len());
}

#[tokio::test]
async fn a_huge_message_full_of_escapes_is_not_read_to_its_end() {
    let huge = leaked("two\nlines\n", 100 * MIB);
    let (snapshot, read) = cite_three(1, move |_| (Role::User, Source::User, huge)).await;
    assert!(text(&snapshot.expect("a snapshot")).contains(r#""text":"""#));
    assert!(read < 3 * MIB as u64, "{read}");
}

#[tokio::test]
async fn hundreds_of_thousands_of_small_messages_are_paged() {
    let of = |index: u32| match index % 4 {
        0 => (Role::User, Source::User, "ask"),
        1 => (Role::Assistant, Source::Other("model".into()), "reply"),
        2 => (Role::Tool, Source::Other("tool".into()), ""),
        _ => (Role::User, Source::Plugin("some-plugin-with-a-name".into()), "a note"),
    };
    let (snapshot, _) = cite_three(200_000, of).await;
    let snapshot = snapshot.expect("a snapshot");
    assert!(snapshot.facts.contains(r#""originalMessages":100000"#), "{}", snapshot.facts);
}

#[tokio::test]
async fn checkpoints_without_end_do_not_fit() {
    let of = |_: u32| (Role::User, Source::Checkpoint, "summary");
    let (snapshot, read) = cite_three(200_000, of).await;
    let refusal = snapshot.expect_err("a refusal");
    assert!(refusal.contains("SESSION_REFERENCE_BUDGET_EXCEEDED"), "{refusal}");
    assert_eq!(read, 0);
}

#[tokio::test]
async fn as_many_checkpoints_as_can_fit_are_shortened_one_by_one() {
    let of = |_: u32| (Role::User, Source::Checkpoint, "a summary with a\nbreak");
    let (snapshot, _) = cite_three(2_000, of).await;
    let snapshot = snapshot.expect("a snapshot");
    assert!(snapshot.facts.contains(r#""retainedMessages":2000"#), "{}", snapshot.facts);
}

#[tokio::test]
async fn a_text_of_nothing_but_beginnings_is_scanned_once() {
    let (plugin, services) = (plugin().await, services(Store::default()));
    for piece in ["@[", "@[](dsh-session:", "@[a\\"] {
        let text = piece.repeat(MIB / piece.len());
        let parsed = plugin.parse(&services, &text).await.expect("to be parsed");
        assert_eq!(parsed.references, []);
    }
}

#[tokio::test]
async fn ten_thousand_sessions_are_searched_page_by_page() {
    let header = |n: u32| Header {
        id: format!("{n:08x}-0000-4000-8000-000000000000"),
        cwd: Some(format!("/home/somebody/projects/number-{}", n % 100)),
        ..Header::default()
    };
    let list = (0..10_000).map(header).collect();
    let (plugin, services) = (plugin().await, services(Store { list, ..Store::default() }));
    let target = Target { session: "me".into(), cwd: None };
    let found = plugin.candidates(&services, &target, "TITLE OF 000003", Some(1_000)).await;
    assert_eq!(found.expect("candidates").len(), 256);
}
