//! Frames of a long log, decoded on a thread of their own a little ahead of who reads their lines.
//!
//! Decompressing takes about as long as reading what comes out, so a long log opens in little more than half the time.

use std::io::{Read, Seek};
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use crate::LogError;
use crate::frames::{Frames, Span};
use crate::scan::Scanner;

/// Bytes of a file from which it is worth a thread.
pub(crate) const LONG: u64 = 1 << 16;

/// Bytes of text that are handed over at once.
const BATCH: usize = 1 << 16;

/// Batches that wait to be read. With those in work, they are all the memory that it takes.
const AHEAD: usize = 4;

/// Text of frames that follow each other.
#[derive(Default)]
struct Batch {
    text: Vec<u8>,
    /// Where each frame begins in the file, and where in `text` its bytes end.
    frames: Vec<(u64, usize)>,
}

/// Why the decoding thread stops before the end.
enum Stop {
    /// Nobody reads any more.
    Unread,
    Damaged(LogError),
}

/// Reads every whole frame; gives the torn one after them. None where there is no thread to be had, and nothing is
/// read.
///
/// # Errors
/// As reading them one after the other: the first error in the file is the one that is told.
pub(crate) fn whole_frames<R: Read + Seek + Send>(
    frames: &mut Frames<R>,
    scanner: &mut Scanner<'_>,
) -> Option<Result<Option<Span>, LogError>> {
    thread::scope(|scope| {
        let (full, batches) = sync_channel(AHEAD);
        let (read, empty) = channel();
        let decode = move || Decoding { batch: Batch::default(), full, empty }.run(frames);
        let decoding = thread::Builder::new().name("log-frames".to_owned());
        let decoding = decoding.spawn_scoped(scope, decode).ok()?;
        if let Err(why) = take(batches, &read, scanner) {
            return Some(Err(why));
        }
        Some(match decoding.join().unwrap_or_else(|panic| resume_unwind(panic)) {
            Ok(torn) => Ok(torn),
            Err(Stop::Damaged(why)) => Err(why),
            Err(Stop::Unread) => Ok(None),
        })
    })
}

fn take(
    batches: Receiver<Batch>,
    read: &Sender<Batch>,
    scanner: &mut Scanner<'_>,
) -> Result<(), LogError> {
    for batch in batches {
        let mut at = 0;
        for (start, end) in &batch.frames {
            scanner.enter_frame(*start);
            scanner.write(batch.text.get(at..*end).unwrap_or_default())?;
            at = *end;
        }
        // Whether another one is needed is the other side's to know.
        let _ = read.send(batch);
    }
    Ok(())
}

struct Decoding {
    batch: Batch,
    full: SyncSender<Batch>,
    /// Batches that were read, to be filled again.
    empty: Receiver<Batch>,
}

impl Decoding {
    /// Decodes to the end. What was decoded before an error is handed over all the same.
    fn run<R: Read + Seek>(mut self, frames: &mut Frames<R>) -> Result<Option<Span>, Stop> {
        let damaged = |byte, why| Stop::Damaged(LogError::Frame { byte, why });
        let ended = frames.each_whole(damaged, |start, piece| self.piece(start, piece));
        self.hand_over()?;
        ended
    }

    fn piece(&mut self, start: u64, piece: &[u8]) -> Result<(), Stop> {
        let Batch { text, frames } = &mut self.batch;
        text.extend_from_slice(piece);
        match frames.last_mut() {
            Some((frame, end)) if *frame == start => *end = text.len(),
            _ => frames.push((start, text.len())),
        }
        if text.len() < BATCH { Ok(()) } else { self.hand_over() }
    }

    fn hand_over(&mut self) -> Result<(), Stop> {
        let mut next = self.empty.try_recv().unwrap_or_default();
        next.text.clear();
        next.frames.clear();
        let full = std::mem::replace(&mut self.batch, next);
        self.full.send(full).map_err(|_| Stop::Unread)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::compressor::Compressor;
    use crate::log::frame_by_frame;
    use crate::{Replay, SessionId};

    /// Frames of one event to two hundred, a line that is longer than a batch among them.
    fn log() -> Vec<u8> {
        let mut compressor = Compressor::new().unwrap();
        let (mut bytes, mut seq) = (Vec::new(), 0);
        for frame in 0..40 {
            let mut text = String::new();
            for _ in 0..=frame * 5 {
                let long = if frame == 9 { 150_000 } else { 3 };
                text += &format!(
                    "{{\"type\":\"x/y\",\"seq\":{seq},\"time\":1,\"ignorable\":true,\"data\":{{\"a\":\"{}\"}}}}\n",
                    "é".repeat(long)
                );
                seq += 1;
            }
            bytes.extend(compressor.frame(text.as_bytes()).unwrap());
        }
        bytes
    }

    type Read<'a> =
        &'a dyn Fn(&mut Frames<Cursor<&[u8]>>, &mut Scanner<'_>) -> Result<Option<Span>, LogError>;

    /// What reading comes to, in words.
    fn outcome(bytes: &[u8], read: Read<'_>) -> String {
        let mut frames = Frames::new(Cursor::new(bytes), bytes.len() as u64).unwrap();
        let mut nobody = ();
        let mut scanner = Scanner::new(Replay::new(SessionId::new("s")), &mut nobody, 0);
        let torn = read(&mut frames, &mut scanner).map_err(|why| why.to_string());
        let ended = scanner.whole_frames_end().map_err(|why| why.to_string());
        let scanned = scanner.finish();
        format!("{torn:?} {ended:?} {} {}", scanned.replay.next_seq(), scanned.kept)
    }

    #[track_caller]
    fn reads_the_same(bytes: &[u8]) -> String {
        let one_by_one = outcome(bytes, &|frames, scanner| frame_by_frame(frames, scanner));
        let ahead = outcome(bytes, &|frames, scanner| whole_frames(frames, scanner).unwrap());
        assert_eq!(ahead, one_by_one);
        ahead
    }

    #[test]
    fn a_log_reads_the_same_on_two_threads() {
        let bytes = log();
        let whole = reads_the_same(&bytes);
        assert!(whole.starts_with("Ok(None) Ok(()) 3940 "), "{whole}");
        let mut kinds = std::collections::BTreeSet::new();
        for at in (0..bytes.len()).step_by(97) {
            reads_the_same(&bytes[..at]);
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            kinds.insert(reads_the_same(&flipped).starts_with("Err"));
        }
        assert_eq!(kinds.len(), 2, "some are damaged, and some only cut short");
    }

    #[test]
    fn a_bad_line_ends_it_however_much_follows() {
        let mut compressor = Compressor::new().unwrap();
        let stray = b"{\"type\":\"x/y\",\"seq\":0,\"time\":1,\"x\":1,\"data\":{}}\n";
        let mut bytes = compressor.frame(stray).unwrap();
        (0..20).for_each(|_| bytes.extend(compressor.frame(&[b'a'; 1 << 20]).unwrap()));
        let said = reads_the_same(&bytes);
        assert!(said.starts_with("Err(\"line 2 at byte 0: event 0: "), "{said}");
    }
}
