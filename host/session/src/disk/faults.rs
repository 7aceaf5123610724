//! A disk that fails: at each of its operations in turn, in every way, once or from then on.
//!
//! Whatever fails and whenever, three things hold: what was acknowledged is there, a log can always be read, and when
//! the disk is well again the session goes on as if nothing had been.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

use rustix::io::Errno;

use super::*;
use crate::{Draft, Encoding, Event, Header, Json, Live, SessionId, Store, WriteError};

/// How one operation fails.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Harm {
    /// With this error; nothing is done.
    Error(Errno),
    /// As before, but a write has put half of its bytes there.
    Half(Errno),
    /// A write says that it wrote half, and did; anything else is done.
    Short,
}

/// When operations fail, counted from zero.
#[derive(Clone, Copy, Debug)]
enum When {
    Once(u64),
    From(u64),
}

#[derive(Debug)]
struct Faulty {
    count: AtomicU64,
    plan: Mutex<Option<(When, Harm)>>,
    /// Operations that this disk does not know.
    unknown: &'static [&'static str],
    /// Makes up a new number for a file at every look.
    flapping: bool,
}

impl Faulty {
    fn new(plan: Option<(When, Harm)>) -> Self {
        Self { count: AtomicU64::new(0), plan: Mutex::new(plan), unknown: &[], flapping: false }
    }

    fn heal(&self) {
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn operations(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    fn harm(&self) -> Option<Harm> {
        let now = self.count.fetch_add(1, Ordering::Relaxed);
        let plan = *self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        plan.filter(|(when, _)| match when {
            When::Once(at) => now == *at,
            When::From(at) => now >= *at,
        })
        .map(|(_, harm)| harm)
    }

    fn try_to<T>(&self, name: &str, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        if self.unknown.contains(&name) {
            return Err(Errno::OPNOTSUPP.into());
        }
        match self.harm() {
            Some(Harm::Error(error) | Harm::Half(error)) => Err(error.into()),
            Some(Harm::Short) | None => work(),
        }
    }

    fn look(&self, look: io::Result<Identity>) -> io::Result<Identity> {
        let mut identity = look?;
        if self.flapping {
            identity.file = (0, self.operations());
        }
        Ok(identity)
    }
}

impl Disk for Faulty {
    fn make_dir(&self, dir: &Path) -> io::Result<()> {
        self.try_to("make_dir", || Files.make_dir(dir))
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.try_to("sync_dir", || Files.sync_dir(dir))
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        self.try_to("create", || Files.create(path))
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        self.try_to("open", || Files.open(path))
    }

    fn open_lock(&self, path: &Path) -> io::Result<File> {
        self.try_to("open_lock", || Files.open_lock(path))
    }

    fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<usize> {
        let (half, _) = bytes.split_at(bytes.len().div_ceil(2));
        match self.harm() {
            None => Files.write(file, bytes),
            Some(Harm::Short) => Files.write(file, half),
            Some(Harm::Error(error)) => Err(error.into()),
            Some(Harm::Half(error)) => {
                Files.write(file, half)?;
                Err(error.into())
            }
        }
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.try_to("sync", || Files.sync(file))
    }

    fn cut(&self, file: &File, length: u64) -> io::Result<()> {
        self.try_to("cut", || Files.cut(file, length))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.try_to("link", || Files.link(from, to))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.try_to("rename", || Files.rename(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.try_to("remove", || Files.remove(path))
    }

    fn named(&self, path: &Path) -> io::Result<Identity> {
        self.look(self.try_to("named", || Files.named(path)))
    }

    fn opened(&self, file: &File) -> io::Result<Identity> {
        self.look(self.try_to("opened", || Files.opened(file)))
    }
}

/// A root of its own.
struct Scratch {
    dir: tempfile::TempDir,
    encoding: Encoding,
}

const BOTH: [Encoding; 2] = [Encoding::Raw, Encoding::Zstd];

impl Scratch {
    fn new(encoding: Encoding) -> Self {
        Self { dir: tempfile::tempdir().unwrap(), encoding }
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("sessions")
    }

    fn store(&self, disk: Arc<dyn Disk>) -> Store {
        Store::new(self.root(), self.encoding, Arc::new(|| 1_800_000_000_000)).with_disk(disk)
    }

    fn log(&self) -> PathBuf {
        crate::log_path(&self.root(), &header(), self.encoding).unwrap()
    }

    /// The events on disk, as a healthy reader finds them; nothing where the session is not listed.
    fn on_disk(&self) -> Vec<Event> {
        let store = self.store(Arc::new(Files));
        let listing = store.list().unwrap();
        assert!(listing.unreadable.is_empty(), "{:?}", listing.unreadable);
        let mut events = Vec::new();
        if let [header] = &listing.sessions[..] {
            let read = store.read(&header.id, &mut events).unwrap();
            events.truncate(usize::try_from(read.committed).unwrap());
        }
        events
    }
}

fn header() -> Header {
    Header::new(SessionId::new("a"), 1_700_000_000_000, Some("/home/dev/app".into()))
}

fn prompt(id: usize) -> Draft {
    let data = format!(
        r#"{{"content":[{{"type":"text","text":"message {id}"}}],"source":{{"kind":"user"}},"role":"user","id":"m{id}"}}"#
    );
    Draft::node("user/message", Json::parse(&data).unwrap(), None)
}

/// Appends messages until there are `target`, committing each; gives how many were acknowledged.
fn write_until(live: &Live, target: usize) -> Result<(), WriteError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    while usize::try_from(live.next_seq()).unwrap() < target {
        live.append(prompt(usize::try_from(live.next_seq()).unwrap())).unwrap();
        runtime.block_on(live.commit())?;
    }
    runtime.block_on(live.commit())
}

fn acknowledged(live: &Live) -> usize {
    usize::try_from(live.next_seq()).unwrap() - live.pending()
}

fn seqs(events: &[Event]) -> Vec<u64> {
    events.iter().map(|event| event.seq).collect()
}

/// Every way to fail, at every operation of `work`, which gives whether it got through.
fn at_every_operation(mut work: impl FnMut(Arc<Faulty>) -> bool) -> u64 {
    let errors = [Errno::IO, Errno::NOSPC, Errno::ROFS, Errno::DQUOT];
    let harms = errors.into_iter().flat_map(|error| [Harm::Error(error), Harm::Half(error)]);
    let mut failures = 0;
    for harm in harms.chain([Harm::Short]) {
        for when in [When::Once as fn(u64) -> When, When::From] {
            for at in 0.. {
                let disk = Arc::new(Faulty::new(Some((when(at), harm))));
                failures += u64::from(!work(disk.clone()));
                if disk.operations() <= at {
                    break;
                }
            }
        }
    }
    failures
}

#[test]
fn a_new_session_survives_every_fault_of_the_disk() {
    for encoding in BOTH {
        let failures = at_every_operation(|disk| {
            let scratch = Scratch::new(encoding);
            let live = scratch.store(disk.clone()).create(header(), None).unwrap();
            let through = write_until(&live, 3);
            if let Err(error) = &through {
                assert!(matches!(error, WriteError::Io { .. }), "{error}");
            }
            let kept = acknowledged(&live);
            assert!(scratch.on_disk().len() >= kept, "acknowledged and lost: {disk:?}");

            disk.heal();
            write_until(&live, 4).unwrap();
            assert_eq!(seqs(&scratch.on_disk()), [0, 1, 2, 3], "{disk:?}");
            through.is_ok()
        });
        assert!(failures > 200, "only {failures} faults were met");
    }
}

/// Field report F20: a fork that fails leaves no mark in its source and no half session, whatever the disk does.
#[test]
fn a_session_that_is_born_of_another_survives_every_fault_of_the_disk() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for encoding in BOTH {
        let failures = at_every_operation(|disk| {
            let scratch = Scratch::new(encoding);
            let parent = scratch.store(Arc::new(Files)).create(header(), None).unwrap();
            write_until(&parent, 3).unwrap();
            drop(parent);
            let log = fs::read(scratch.log()).unwrap();
            let sessions = crate::Sessions::new(scratch.store(disk.clone()));
            let seed = crate::Seed::new(header(), scratch.on_disk().into(), None);
            let child = SessionId::new("child");
            let bear =
                || runtime.block_on(sessions.bear(child.clone(), seed.clone(), vec![prompt(9)]));
            let through = bear().is_ok();
            let ids = || {
                let listing = scratch.store(Arc::new(Files)).list().unwrap();
                assert!(listing.unreadable.is_empty(), "{:?}: {disk:?}", listing.unreadable);
                listing.sessions.len()
            };
            assert!(ids() > usize::from(through), "{disk:?}");
            assert_eq!(fs::read(scratch.log()).unwrap(), log, "{disk:?}");
            disk.heal();
            if ids() == 1 {
                bear().unwrap_or_else(|error| panic!("{error}: {disk:?}"));
            }
            assert_eq!(ids(), 2, "{disk:?}");
            assert_eq!(fs::read(scratch.log()).unwrap(), log, "{disk:?}");
            through
        });
        assert!(failures > 50, "only {failures} faults were met");
    }
}

#[test]
fn a_writer_that_dies_of_a_fault_leaves_a_log_that_goes_on() {
    for encoding in BOTH {
        at_every_operation(|disk| {
            let scratch = Scratch::new(encoding);
            let live = scratch.store(disk.clone()).create(header(), None).unwrap();
            let through = write_until(&live, 3).is_ok();
            let kept = acknowledged(&live);
            // Nothing is healed and nothing taken back: the process is gone.
            drop(live);
            let store = scratch.store(Arc::new(Files));
            let live = match store.open(&header().id, &mut ()) {
                Ok(live) => live,
                Err(crate::StoreError::NotFound(_)) if kept == 0 => {
                    store.create(header(), None).unwrap()
                }
                Err(error) => panic!("{error}: {disk:?}"),
            };
            assert!(usize::try_from(live.next_seq()).unwrap() >= kept, "{disk:?}");
            write_until(&live, 4).unwrap();
            assert_eq!(seqs(&scratch.on_disk()), [0, 1, 2, 3], "{disk:?}");
            through
        });
    }
}

#[test]
fn a_repair_survives_every_fault_of_the_disk() {
    for encoding in BOTH {
        let whole = Scratch::new(encoding);
        let live = whole.store(Arc::new(Files)).create(header(), None).unwrap();
        write_until(&live, 3).unwrap();
        drop(live);
        let log = fs::read(whole.log()).unwrap();
        let torn = &log[..log.len() - 5];
        let failures = at_every_operation(|disk| {
            let scratch = Scratch::new(encoding);
            fs::create_dir_all(scratch.log().parent().unwrap()).unwrap();
            fs::write(scratch.log(), torn).unwrap();
            let opened = scratch.store(disk.clone()).open(&header().id, &mut ());
            let through = opened.is_ok();
            drop(opened);
            assert!(scratch.on_disk().len() >= 2, "{disk:?}");
            let live = scratch.store(Arc::new(Files)).open(&header().id, &mut ()).unwrap();
            write_until(&live, 4).unwrap();
            assert_eq!(seqs(&scratch.on_disk()), [0, 1, 2, 3], "{disk:?}");
            through
        });
        assert!(failures > 20, "only {failures} faults were met");
    }
}

#[test]
fn a_root_without_hard_links_gets_its_logs_and_never_loses_one() {
    for encoding in BOTH {
        let scratch = Scratch::new(encoding);
        let disk = || Arc::new(Faulty { unknown: &["link"], ..Faulty::new(None) });
        let live = scratch.store(disk()).create(header(), None).unwrap();
        write_until(&live, 2).unwrap();
        drop(live);
        // Somebody who did not see the first one, as on a disk that answers late.
        let header = header();
        let lock = crate::lock::WriterLock::take(&Files, scratch.log().parent().unwrap()).unwrap();
        drop(lock);
        let mut late =
            crate::write::LogWriter::create(disk(), &scratch.root(), &header, encoding).unwrap();
        let events = scratch.on_disk();
        assert!(matches!(late.append(&events[..1].to_vec().into()), Err(WriteError::Exists(_))));
        assert_eq!(seqs(&scratch.on_disk()), [0, 1]);
        let names = fs::read_dir(scratch.log().parent().unwrap()).unwrap();
        assert_eq!(names.count(), 2, "the log and its lock");
    }
}

#[test]
fn a_mount_that_numbers_files_anew_at_every_look_ends_no_turn() {
    for encoding in BOTH {
        let scratch = Scratch::new(encoding);
        let disk = Arc::new(Faulty { flapping: true, ..Faulty::new(None) });
        let live = scratch.store(disk).create(header(), None).unwrap();
        write_until(&live, 5).unwrap();
        assert_eq!(seqs(&scratch.on_disk()), [0, 1, 2, 3, 4]);

        let log = fs::read(scratch.log()).unwrap();
        let mut other = log.clone();
        *other.last_mut().unwrap() ^= 1;
        // As long, with another end.
        fs::remove_file(scratch.log()).unwrap();
        fs::write(scratch.log(), &other).unwrap();
        assert!(matches!(write_until(&live, 6), Err(WriteError::Changed(_))));
        assert_eq!(fs::read(scratch.log()).unwrap(), other);
    }
}

#[test]
fn a_log_that_was_copied_back_goes_on_in_the_copy() {
    for encoding in BOTH {
        let scratch = Scratch::new(encoding);
        let live = scratch.store(Arc::new(Files)).create(header(), None).unwrap();
        write_until(&live, 2).unwrap();
        let copy = scratch.dir.path().join("copy");
        fs::copy(scratch.log(), &copy).unwrap();
        fs::rename(&copy, scratch.log()).unwrap();
        write_until(&live, 4).unwrap();
        assert_eq!(seqs(&scratch.on_disk()), [0, 1, 2, 3]);
    }
}

#[test]
fn a_root_that_cannot_be_written_is_read_and_says_so() {
    for encoding in BOTH {
        let scratch = Scratch::new(encoding);
        let live = scratch.store(Arc::new(Files)).create(header(), None).unwrap();
        write_until(&live, 2).unwrap();
        drop(live);
        let read_only = || Faulty::new(Some((When::From(0), Harm::Error(Errno::ROFS))));
        let store = scratch.store(Arc::new(read_only()));
        assert_eq!(store.list().unwrap().sessions.len(), 1);
        let mut events = Vec::<Event>::new();
        store.read(&header().id, &mut events).unwrap();
        assert_eq!(seqs(&events), [0, 1]);
        let refused = store.open(&header().id, &mut ()).unwrap_err().to_string();
        assert!(refused.contains("Read-only file system"), "{refused}");
        assert!(refused.contains(&*scratch.root().to_string_lossy()), "{refused}");
    }
}

#[test]
fn a_link_in_the_way_of_a_lock_or_a_log_is_not_written_through() {
    let scratch = Scratch::new(Encoding::Raw);
    let live = scratch.store(Arc::new(Files)).create(header(), None).unwrap();
    write_until(&live, 2).unwrap();
    drop(live);
    let victim = scratch.dir.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    let lock = scratch.log().with_file_name("writer.lock");
    fs::remove_file(&lock).unwrap();
    symlink(&victim, &lock).unwrap();
    let store = scratch.store(Arc::new(Files));
    let refused = store.open(&header().id, &mut ()).unwrap_err().to_string();
    assert!(refused.contains("cannot be written"), "{refused}");
    assert_eq!(fs::read(&victim).unwrap(), b"precious");

    fs::remove_file(&lock).unwrap();
    let live = store.open(&header().id, &mut ()).unwrap();
    fs::rename(scratch.log(), &victim).unwrap();
    symlink(&victim, scratch.log()).unwrap();
    let before = fs::read(&victim).unwrap();
    assert!(matches!(write_until(&live, 3), Err(WriteError::Changed(_))));
    assert_eq!(fs::read(&victim).unwrap(), before);
}
