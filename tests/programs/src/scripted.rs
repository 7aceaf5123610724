//! A store of sessions that lives in memory and can be made to wait, and a log that is kept.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use dsh_plugin_host::{
    Asker, Failure, Header, Level, Log, LogEntry, Node, OwnNote, Role, Services, Sessions, Source,
    Surface,
};
use tokio::sync::Notify;

/// Two sessions, `a` and `b`; `b` has a title and `a` has a surface of two nodes and two notes. A third, `big`, is
/// not listed and has one node of 1 MiB.
#[derive(Default)]
pub struct Scripted {
    /// Everyone who asked, in order.
    pub askers: Mutex<Vec<Asker>>,
    /// How many reads were begun and not yet dropped.
    pub open: Arc<AtomicU64>,
    /// Told when a read begins.
    pub begun: Notify,
    /// What a read does before it answers.
    pub delay: Delay,
    /// Whether batched reads answer nothing, as a broken store might.
    pub mute: bool,
}

/// What a read does before it answers.
#[derive(Default)]
pub enum Delay {
    /// Nothing.
    #[default]
    None,
    /// Waits on the runtime's clock, for so many milliseconds.
    Sleep(u64),
    /// Waits for ever.
    Hang,
    /// Keeps the thread busy until it has used so many milliseconds of its CPU time.
    Work(i64),
}

/// A read that is going on.
struct Open(Arc<AtomicU64>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Scripted {
    /// A store whose reads are delayed.
    #[must_use]
    pub fn delayed(delay: Delay) -> Scripted {
        Scripted { delay, ..Scripted::default() }
    }

    async fn begin(&self, asker: &Asker) -> Open {
        self.open.fetch_add(1, Ordering::SeqCst);
        let open = Open(self.open.clone());
        self.askers.lock().unwrap_or_else(PoisonError::into_inner).push(asker.clone());
        self.begun.notify_one();
        match self.delay {
            Delay::None => {}
            Delay::Sleep(ms) => tokio::time::sleep(std::time::Duration::from_millis(ms)).await,
            Delay::Hang => std::future::pending().await,
            Delay::Work(ms) => work(ms),
        }
        open
    }
}

/// Uses up so much of the thread's CPU time, however long that takes.
fn work(ms: i64) {
    let used = || {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        now.tv_sec * 1000 + now.tv_nsec / 1_000_000
    };
    let until = used() + ms;
    while used() < until {
        for n in 0..100_000u64 {
            std::hint::black_box(n);
        }
    }
}

#[async_trait]
impl Sessions for Scripted {
    async fn list(&self, asker: &Asker) -> Result<Vec<Header>, Failure> {
        let _open = self.begin(asker).await;
        Ok(["b", "a"].map(header).to_vec())
    }

    async fn titles(&self, asker: &Asker, ids: &[String]) -> Vec<Result<Option<String>, Failure>> {
        let _open = self.begin(asker).await;
        let title = |id: &String| match id.as_str() {
            "a" => Ok(None),
            "b" => Ok(Some("Title".to_owned())),
            _ => Err(Failure::new("not-found", id)),
        };
        if self.mute {
            return Vec::new();
        }
        ids.iter().map(title).collect()
    }

    async fn surfaces(
        &self,
        asker: &Asker,
        ids: &[String],
    ) -> Vec<Result<Arc<dyn Surface>, Failure>> {
        let _open = self.begin(asker).await;
        let surface = |id: &String| match id.as_str() {
            "a" => Ok(Arc::new(Memory::new("a", ["héllo", "world"])) as Arc<dyn Surface>),
            "big" => Ok(Arc::new(Memory::new("big", ["x".repeat(1 << 20)])) as Arc<dyn Surface>),
            _ => Err(Failure::new("not-found", id)),
        };
        ids.iter().map(surface).collect()
    }

    async fn own_notes(&self, asker: &Asker, id: &str) -> Result<Vec<OwnNote>, Failure> {
        let _open = self.begin(asker).await;
        let note = |seq, message: &str| OwnNote {
            seq,
            message: message.to_owned(),
            facts: "{}".to_owned(),
        };
        match id {
            "a" => Ok(vec![note(Some(3), "n1"), note(None, "n2")]),
            _ => Err(Failure::new("not-found", id)),
        }
    }
}

fn header(id: &str) -> Header {
    Header { id: id.to_owned(), created_at: 1, ..Header::default() }
}

/// A surface in memory: prompts of the user, one node each.
pub struct Memory {
    header: Header,
    texts: Vec<String>,
}

impl Memory {
    /// A surface of session `id` with one prompt for each text.
    pub fn new<T: Into<String>>(id: &str, texts: impl IntoIterator<Item = T>) -> Memory {
        Memory::of(header(id), texts)
    }

    /// A surface of the session that `header` is of, with one prompt for each text.
    pub fn of<T: Into<String>>(header: Header, texts: impl IntoIterator<Item = T>) -> Memory {
        Memory { header, texts: texts.into_iter().map(Into::into).collect() }
    }
}

impl Surface for Memory {
    fn header(&self) -> &Header {
        &self.header
    }

    fn captured_through(&self) -> Option<u64> {
        Some(7)
    }

    fn length(&self) -> u32 {
        u32::try_from(self.texts.len()).unwrap_or(u32::MAX)
    }

    fn node(&self, index: u32) -> Option<Node> {
        let text_bytes = self.texts.get(index as usize)?.len() as u64;
        Some(Node { seq: u64::from(index), role: Role::User, source: Source::User, text_bytes })
    }

    fn text(&self, index: u32) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(self.texts.get(index as usize)?))
    }
}

/// A log that is kept.
#[derive(Default)]
pub struct Kept(Mutex<Vec<(String, Level, String)>>);

impl Kept {
    /// Plugin, level and text of every entry so far.
    #[must_use]
    pub fn entries(&self) -> Vec<(String, Level, String)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Log for Kept {
    fn write(&self, entry: &LogEntry<'_>) {
        let entry = (entry.plugin.to_owned(), entry.level, entry.text.to_owned());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    }
}

/// Services with a store of their own, a log and ids that count from `c0`.
#[must_use]
pub fn services(sessions: Scripted) -> (Services, Arc<Scripted>, Arc<Kept>) {
    services_with(sessions)
}

/// As [`services`], with any store.
#[must_use]
pub fn services_with<S: Sessions + 'static>(sessions: S) -> (Services, Arc<S>, Arc<Kept>) {
    let (sessions, log, next) = (Arc::new(sessions), Arc::new(Kept::default()), AtomicU64::new(0));
    let new_id = move || format!("c{}", next.fetch_add(1, Ordering::SeqCst));
    (Services::new(sessions.clone(), log.clone(), Arc::new(new_id)), sessions, log)
}
