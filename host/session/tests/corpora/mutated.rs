//! Real logs with something changed at random: whatever it is, they are read, cut or refused, and never more.

use std::fs;

use dsh_session::{Encoding, Event, Header, SessionId, log_path};

use crate::{corpus, store, store_in};

/// How many logs each encoding's test changes. The same every time: what is found must be found again.
const ROUNDS: u64 = 1500;

/// A sequence that looks random.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }

    fn of<T: Copy>(&mut self, things: &[T]) -> T {
        things[self.below(things.len())]
    }
}

const BYTES: &[u8] = b"\"{}[],:\\\n0-9e\xff";
const PIECES: [&str; 8] =
    ["null", "\\ud83d", "1e400", "-0", "[]", "{}", "9007199254740993", "\"seq\":3,"];

/// Changes one thing behind the first `kept` bytes.
fn change(log: &mut Vec<u8>, kept: usize, dice: &mut Dice) {
    let at = kept + dice.below(log.len() - kept);
    match dice.below(6) {
        0 => log[at] ^= 1 << dice.below(8),
        1 => log[at] = dice.of(BYTES),
        2 => log.truncate(at),
        3 => {
            let end = (at + dice.below(40)).min(log.len());
            log.drain(at..end);
        }
        4 => {
            let piece = dice.of(&PIECES);
            log.splice(at..at, piece.bytes());
        }
        _ => {
            let mut lines: Vec<Vec<u8>> =
                log[kept..].split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
            let line = lines.remove(dice.below(lines.len()));
            if dice.below(2) == 0 {
                lines.insert(dice.below(lines.len() + 1), line);
            }
            log.truncate(kept);
            log.extend(lines.concat());
        }
    }
}

fn read_changed(encoding: Encoding, folder: &str) {
    let Some(root) = corpus(folder) else { return };
    let headers: Vec<Header> = store(&root).list().unwrap().sessions;
    let headers: Vec<Header> =
        headers.into_iter().filter(|header| !header.id.escaped().starts_with("small-")).collect();
    let dir = tempfile::tempdir().unwrap();
    let changed = store_in(dir.path(), encoding);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut dice = Dice(7);
    let (mut read, mut refused) = (0, 0);
    for round in 0..ROUNDS {
        let header = &headers[dice.below(headers.len())];
        let mut log = fs::read(log_path(&root, header, encoding).unwrap()).unwrap();
        // A raw log's header stays, so that its body is looked at.
        let kept = match encoding {
            Encoding::Raw => log.iter().position(|byte| *byte == b'\n').unwrap() + 1,
            Encoding::Zstd => 0,
        };
        for _ in 0..=dice.below(3) {
            if log.len() > kept {
                change(&mut log, kept, &mut dice);
            }
        }
        let path = log_path(dir.path(), header, encoding).unwrap();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &log).unwrap();
        let mut events: Vec<Event> = Vec::new();
        match changed.read(&header.id, &mut events) {
            Err(_) => refused += 1,
            Ok(found) => {
                read += 1;
                assert_eq!(events.len() as u64, found.committed + found.closers, "round {round}");
                if read % 20 == 0 {
                    goes_on(&changed, &header.id, &runtime, found.committed + found.closers);
                }
            }
        }
        fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }
    println!("{folder}: {read} read, {refused} refused");
    assert!(read > 0 && refused > 0);
}

/// Whatever could be read can be written on, and is clean then.
fn goes_on(
    store: &dsh_session::Store,
    id: &SessionId,
    runtime: &tokio::runtime::Runtime,
    events: u64,
) {
    let live = store.open(id, &mut ()).unwrap();
    runtime.block_on(live.commit()).unwrap();
    let next = live.next_seq();
    assert!(next >= events);
    drop(live);
    let again = store.read(id, &mut ()).unwrap();
    assert_eq!((again.committed, again.closers, again.torn), (next, 0, None));
}

#[test]
fn changed_lines_are_read_cut_or_refused() {
    read_changed(Encoding::Raw, "fixtures/recorded/raw");
}

#[test]
fn changed_frames_are_read_cut_or_refused() {
    read_changed(Encoding::Zstd, "fixtures/recorded/zstd");
}
