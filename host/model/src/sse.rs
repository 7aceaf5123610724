//! Server-sent events, read from bytes that may be cut anywhere.
//!
//! Written here because `eventsource-stream` 0.2 panics at a byte order mark, keeps lines of any length, and looks at
//! an unfinished line again from its beginning with every piece of it that arrives.

use std::collections::VecDeque;

use memchr::memchr2;

/// The longest line, and the most data of one event, in bytes.
const LONGEST: usize = 8 * 1024 * 1024;

/// Most characters of a stray line that are kept.
const STRAY: usize = 200;

/// One event; those without data are none.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// Its name; empty for most.
    pub(crate) name: String,
    /// Its lines of data, joined by newlines.
    pub(crate) data: String,
}

/// A line, or the data of an event, is longer than anybody sends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// Reads a stream of events (<https://html.spec.whatwg.org/multipage/server-sent-events.html>).
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    line: Vec<u8>,
    /// Whether the last byte was a CR: a LF right after it ends no further line.
    after_cr: bool,
    begun: bool,
    name: String,
    data: Vec<u8>,
    has_data: bool,
    stray: Option<String>,
}

impl Decoder {
    /// Takes what has arrived; whole events go to `events`.
    pub(crate) fn push(
        &mut self,
        mut bytes: &[u8],
        events: &mut VecDeque<Event>,
    ) -> Result<(), TooLong> {
        while let Some((first, rest)) = bytes.split_first() {
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                bytes = rest;
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', bytes) else {
                return self.grow(bytes);
            };
            let (line, rest) = bytes.split_at(end);
            self.grow(line)?;
            self.after_cr = rest.first() == Some(&b'\r');
            bytes = rest.get(1..).unwrap_or_default();
            self.end_line(events)?;
        }
        Ok(())
    }

    /// What is left where the stream ends without the empty line that ends an event.
    pub(crate) fn finish(mut self) -> Option<Event> {
        let mut events = VecDeque::new();
        self.end_line(&mut events).ok()?;
        self.end_event(&mut events);
        events.pop_back()
    }

    /// The beginning of the first line that belongs to no event: what a server or a proxy said in plain text.
    pub(crate) fn stray(&self) -> Option<&str> {
        self.stray.as_deref()
    }

    fn grow(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.line.len() + bytes.len() > LONGEST {
            return Err(TooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, events: &mut VecDeque<Event>) -> Result<(), TooLong> {
        let line = std::mem::take(&mut self.line);
        let mark =
            if std::mem::replace(&mut self.begun, true) { &[][..] } else { "\u{feff}".as_bytes() };
        let text = line.strip_prefix(mark).unwrap_or(&line);
        let done = self.read_line(text, events);
        // The room is kept for the next line.
        self.line = line;
        self.line.clear();
        done
    }

    fn read_line(&mut self, line: &[u8], events: &mut VecDeque<Event>) -> Result<(), TooLong> {
        if line.is_empty() {
            self.end_event(events);
            return Ok(());
        }
        let colon = memchr::memchr(b':', line);
        let (field, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.data.len() + value.len() > LONGEST {
                    return Err(TooLong);
                }
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            b"event" => self.name = lossy(value.to_vec()),
            // A comment, and what only matters to those who connect again.
            b"" | b"id" | b"retry" => {}
            _ => {
                self.stray.get_or_insert_with(|| {
                    String::from_utf8_lossy(line).chars().take(STRAY).collect()
                });
            }
        }
        Ok(())
    }

    fn end_event(&mut self, events: &mut VecDeque<Event>) {
        let (name, data) = (std::mem::take(&mut self.name), std::mem::take(&mut self.data));
        if std::mem::take(&mut self.has_data) {
            events.push_back(Event { name, data: lossy(data) });
        }
    }
}

fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The data of the events in these pieces, and what is left at the end.
    fn read(pieces: &[&[u8]]) -> (Vec<String>, Option<Event>, Option<String>) {
        let mut decoder = Decoder::default();
        let mut events = VecDeque::new();
        for piece in pieces {
            decoder.push(piece, &mut events).unwrap();
        }
        let stray = decoder.stray().map(str::to_owned);
        (events.into_iter().map(|event| event.data).collect(), decoder.finish(), stray)
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let bytes = text.as_bytes();
        assert_eq!(read(&[bytes]).0, expected, "whole");
        for cut in 0..=bytes.len() {
            let (before, after) = bytes.split_at(cut);
            assert_eq!(read(&[before, after]).0, expected, "cut at {cut}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(read(&single).0, expected, "byte by byte");
    }

    #[test]
    fn events_are_the_same_wherever_the_bytes_are_cut() {
        check("data: 漢字 \u{1F600}\n\ndata:two\n\n", &["漢字 \u{1F600}", "two"]);
        check("data: one\r\n\r\ndata: two\r\n\r\n", &["one", "two"]);
        check("data: one\r\rdata: two\r\r", &["one", "two"]);
        check("\u{feff}data: marked\n\n", &["marked"]);
        check(
            ": hi\nid: 7\nevent: e\ndata: a\ndata\ndata:  b\nretry: 1\n\n: bye\n\n",
            &["a\n\n b"],
        );
        check("event: nothing\n\n\n\n", &[]);
    }

    #[test]
    fn what_has_no_end_is_left() {
        let (events, rest, _) = read(&[b"data: a\n\ndata: [DONE]"]);
        assert_eq!(events, ["a"]);
        assert_eq!(rest.map(|event| event.data).as_deref(), Some("[DONE]"));
        assert_eq!(read(&[b": bye"]).1, None);
        assert_eq!(read(&[b"data: a\n\n"]).1, None);
    }

    #[test]
    fn what_is_no_event_is_remembered() {
        let (events, _, stray) = read(&[b"upstream error: read ECONNRESET\n\ndata: a\n\nmore\n"]);
        assert_eq!(events, ["a"]);
        assert_eq!(stray.as_deref(), Some("upstream error: read ECONNRESET"));
        assert_eq!(read(&[&b"\xff".repeat(999), b"\n"]).2.unwrap().chars().count(), STRAY);
    }

    #[test]
    fn bytes_that_are_no_text_cost_only_themselves() {
        let (events, ..) = read(&[b"data: a\xff\xfeb\n\n"]);
        assert_eq!(events, ["a\u{fffd}\u{fffd}b"]);
    }

    #[test]
    fn no_line_and_no_event_is_endless() {
        let (mut decoder, mut events) = (Decoder::default(), VecDeque::new());
        let piece = vec![b'x'; LONGEST / 2];
        assert_eq!(decoder.push(&piece, &mut events), Ok(()));
        assert_eq!(decoder.push(&piece, &mut events), Ok(()));
        assert_eq!(decoder.push(b"x", &mut events), Err(TooLong));
        let mut decoder = Decoder::default();
        let line = [b"data:", piece.as_slice(), b"\n"].concat();
        assert_eq!(decoder.push(&line, &mut events), Ok(()));
        assert_eq!(decoder.push(&line, &mut events), Ok(()));
        assert_eq!(decoder.push(&line, &mut events), Err(TooLong));
    }
}
