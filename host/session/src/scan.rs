//! The lines of a log, one after the other: what is kept, what was cut short, what is damage (contracts §1.5).

use std::borrow::Cow;

use memchr::memchr;

use crate::fold::feed;
use crate::parts::Parts;
use crate::row::{Row, RowError};
use crate::{Events, Fold, LogError, Place, Replay};

/// The longest line that is read: 256 MiB, about what a JavaScript string can hold. What decodes to more is refused
/// before it is held.
pub(crate) const MAX_LINE: usize = 1 << 28;

/// Reads lines as they come in, and folds their events.
pub(crate) struct Scanner<'f> {
    replay: Replay,
    fold: &'f mut dyn Fold,
    /// The beginning of a line whose end has not come yet.
    partial: Vec<u8>,
    line: u64,
    /// The end of the last good line, in bytes of the text.
    kept: u64,
    /// The end of the last line.
    read: u64,
    /// Where the frame that is being read begins; none in a raw log.
    frame: Option<u64>,
    /// The first bad line, after which none is good.
    issue: Option<LogError>,
    /// The events of a torn frame, where somebody wants them.
    recovered: Option<Events>,
    /// Kept for its memory.
    parts: Parts,
}

impl<'f> Scanner<'f> {
    /// Lines after a header of `header_bytes`, its newline included.
    pub(crate) fn new(replay: Replay, fold: &'f mut dyn Fold, header_bytes: u64) -> Self {
        Self {
            replay,
            fold,
            partial: Vec::new(),
            line: 1,
            kept: header_bytes,
            read: header_bytes,
            frame: None,
            issue: None,
            recovered: None,
            parts: Parts::default(),
        }
    }

    /// What follows lies in the frame that begins at `byte`.
    pub(crate) fn enter_frame(&mut self, byte: u64) {
        self.frame = Some(byte);
    }

    /// What follows lies in a torn frame: keep its events aside too.
    pub(crate) fn enter_torn_frame(&mut self, byte: u64) {
        self.frame = Some(byte);
        self.recovered = Some(Events::default());
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// When they show that the log is damaged.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> Result<(), LogError> {
        while let Some(end) = memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end);
            bytes = rest.get(1..).unwrap_or_default();
            if self.partial.is_empty() {
                self.take(line)?;
            } else {
                self.hold(line)?;
                let mut line = std::mem::take(&mut self.partial);
                self.take(&line)?;
                line.clear();
                self.partial = line;
            }
        }
        self.hold(bytes)
    }

    fn hold(&mut self, bytes: &[u8]) -> Result<(), LogError> {
        if self.partial.len() + bytes.len() > MAX_LINE {
            return Err(LogError::LongLine(self.place(self.line + 1)));
        }
        self.partial.extend_from_slice(bytes);
        Ok(())
    }

    fn take(&mut self, line: &[u8]) -> Result<(), LogError> {
        let mut parts = std::mem::take(&mut self.parts);
        let taken = self.take_with(line, &mut parts);
        self.parts = parts;
        taken
    }

    fn take_with(&mut self, line: &[u8], parts: &mut Parts) -> Result<(), LogError> {
        // Looking for damage first takes a fraction of the time that mending does.
        let text = match simdutf8::basic::from_utf8(line) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(line),
        };
        let place = self.place(self.line + 1);
        self.line += 1;
        self.read += line.len() as u64 + 1;
        let found = Row::parse(&text, parts);
        let why = match (found, &self.issue) {
            (Err(RowError::Null), _) => return Err(LogError::Row { place, why: RowError::Null }),
            (Err(_), Some(_)) => return Ok(()),
            (Err(why), None) => why,
            (Ok(row), Some(_)) if row.ends_turn() => return self.damaged(),
            (Ok(_), Some(_)) => return Ok(()),
            (Ok(row), None) => {
                let expected = self.replay.next_seq();
                let found = row.seq();
                if found == Some(expected) {
                    self.accept(row).map_err(|why| LogError::Row { place, why })?;
                    self.kept = self.read;
                    return Ok(());
                }
                let why = RowError::Gap { expected, found };
                if row.ends_turn() {
                    return Err(LogError::Row { place, why });
                }
                why
            }
        };
        self.issue = Some(LogError::Row { place, why });
        Ok(())
    }

    fn accept(&mut self, row: Row<'_>) -> Result<(), RowError> {
        let Self { replay, fold, recovered, .. } = self;
        let wanted = fold.wants_chunks();
        match row {
            Row::Packed(row) => {
                replay.packed(&row);
                if let Some(recovered) = recovered {
                    recovered.packed(&row);
                }
                if wanted {
                    fold.packed(&row);
                }
            }
            Row::Event(row) if !wanted && recovered.is_none() && row.is_chunk() => {
                let seq = replay.next_seq();
                replay.pass_chunk(&row).map_err(|why| RowError::Event { seq, why })?;
            }
            Row::Event(row) => {
                let seq = replay.next_seq();
                let (event, _) =
                    replay.envelope(row).map_err(|why| RowError::Event { seq, why })?;
                feed(*fold, &event);
                if let Some(recovered) = recovered {
                    recovered.push(event);
                }
            }
        }
        Ok(())
    }

    fn damaged(&mut self) -> Result<(), LogError> {
        self.issue.take().map_or(Ok(()), Err)
    }

    /// All whole frames have been read: unlike a raw log, they cannot end in the middle of anything.
    pub(crate) fn whole_frames_end(&mut self) -> Result<(), LogError> {
        self.damaged()?;
        match self.partial.is_empty() {
            true => Ok(()),
            false => Err(LogError::TornLine(self.place(self.line + 1))),
        }
    }

    /// Everything has been read.
    pub(crate) fn finish(self) -> Scanned {
        let Self { replay, kept, recovered, .. } = self;
        Scanned { replay, kept, recovered: recovered.unwrap_or_default() }
    }

    fn place(&self, line: u64) -> Place {
        Place { line, byte: self.frame.unwrap_or(self.read) }
    }
}

/// What the lines of a log came to.
pub(crate) struct Scanned {
    pub(crate) replay: Replay,
    /// The end of the last good line, in bytes of the text.
    pub(crate) kept: u64,
    /// The events of a torn frame.
    pub(crate) recovered: Events,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SessionId;

    const S: &str = r#"{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}"#;
    const E: &str =
        r#"{"type":"turn/end","seq":1,"time":1,"data":{"turn":1,"reason":{"kind":"completed"}}}"#;
    const STEP: &str = r#"{"type":"step/start","seq":1,"time":1,"data":{"turn":1,"step":1}}"#;
    const PACKED: &str = r#"{"type":"text-chunks","seq0":0,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[1,1],"texts":["a","b","c"]}}"#;

    /// Scans a body, in pieces of every length: how many events it gives, and how many of its bytes stay.
    fn scan(body: &str) -> Result<(u64, u64), LogError> {
        let scanned = |piece| {
            let mut nobody = ();
            let mut scanner = Scanner::new(Replay::new(SessionId::new("s")), &mut nobody, 0);
            body.as_bytes().chunks(piece).try_for_each(|bytes| scanner.write(bytes))?;
            let scanned = scanner.finish();
            Ok((scanned.replay.next_seq(), scanned.kept))
        };
        let whole: Result<_, LogError> = scanned(usize::MAX);
        for piece in [1, 2, 7, 50] {
            let again = scanned(piece).map_err(|error| error.to_string());
            assert_eq!(again, whole.as_ref().map_err(LogError::to_string).copied(), "{body}");
        }
        whole
    }

    #[track_caller]
    fn keeps(body: &str, events: u64, of: &str) {
        assert_eq!(scan(body).unwrap(), (events, of.len() as u64));
    }

    #[track_caller]
    fn damaged(body: &str, why: &str) {
        assert_eq!(scan(body).unwrap_err().to_string(), why);
    }

    #[test]
    fn whole_lines_are_kept() {
        let log = format!("{S}\n{E}\n");
        keeps(&log, 2, &log);
        keeps("", 0, "");
        let crlf = format!("{S}\r\n{E}\r\n");
        keeps(&crlf, 2, &crlf);
        let spaced = format!(" {} \n", S.replace(':', " : ").replace("0,", "0.0,"));
        keeps(&spaced, 1, &spaced);
        let packed = format!("{PACKED}\n{}\n", STEP.replace("\"seq\":1", "\"seq\":3"));
        keeps(&packed, 4, &packed);
    }

    #[test]
    fn a_torn_tail_is_cut() {
        let kept = format!("{S}\n");
        for tail in [
            E.to_owned(),
            r#"{"type":"turn/en"#.to_owned(),
            "garbage\n".to_owned(),
            format!("garbage\n{STEP}\n"),
            "\n".to_owned(),
            "[1]\n".to_owned(),
            "3\n".to_owned(),
            format!("{}\n", STEP.replace("\"seq\":1", "\"seq\":2")),
            format!("{PACKED}\n"),
            format!("{}\n", PACKED.replace("\"seq0\":0", "\"seq0\":1").replace("[1,1]", "[1]")),
        ] {
            keeps(&format!("{kept}{tail}"), 1, &kept);
        }
    }

    #[test]
    fn a_turn_that_ends_after_the_break_is_damage() {
        damaged(&format!("{S}\ngarbage\n{E}\n"), "line 3 at byte 57: the line is not JSON");
        damaged(&format!("{S}\n\n{E}\n"), "line 3 at byte 57: the line is not JSON");
        damaged(&format!("{E}\n"), "line 2 at byte 0: event 0 is missing: the line holds event 1");
        damaged(
            &format!("{S}\n{S}\n{E}\n"),
            "line 3 at byte 57: event 1 is missing: the line holds event 0",
        );
        damaged("null\n", "line 2 at byte 0: the line is `null`");
    }

    #[test]
    fn an_event_that_cannot_be_in_a_log_is_damage_wherever_it_stands() {
        let stray = S.replace("\"time\"", "\"x\":1,\"time\"");
        damaged(
            &format!("{stray}\n"),
            "line 2 at byte 0: event 0: its envelope has the unknown member `x`",
        );
        let half_packed = S.replace("\"time\"", "\"seq0\":0,\"time\"");
        damaged(
            &format!("{half_packed}\n"),
            "line 2 at byte 0: event 0: its envelope has the unknown member `seq0`",
        );
        let late = S.replace("\"time\":1", "\"time\":1.5");
        damaged(
            &format!("{late}\n"),
            "line 2 at byte 0: event 0: its time is no integer within 2^53 - 1",
        );
        let mode = S.replace("turn/start", "mode/set");
        damaged(&format!("{mode}\n"), "line 2 at byte 0: event 0: its type `mode/set` was retired");
    }

    #[test]
    fn of_repeated_members_the_last_one_counts() {
        let twice = format!("{}\n", S.replace("\"seq\":0", "\"seq\":7,\"seq\":0"));
        keeps(&twice, 1, &twice);
    }
}
