//! `read`: the lines of a text file, with their numbers.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::sync::Arc;

use async_trait::async_trait;
use dsh_agent::{Call, Cancel, Tool, ToolError, ToolOutput, ToolSpec};
use serde::Deserialize;

use crate::FileError;
use crate::change::{Files, counted};
use crate::place::Place;
use crate::spec::{arguments, blocking, cancelled, spec};

/// Most lines without a limit of the caller's.
const LINES: u64 = 2000;

/// Most bytes of a reply.
const MOST: usize = 64 << 10;

/// Most bytes of one line that are shown.
const LINE: usize = 2000;

const DESCRIPTION: &str = "Read a text file. \
Lines come as number, tab, text; the numbers are not part of the file. \
At most 2000 lines or 64 KiB come at once: offset and limit choose which. Lines are cut after 2000 bytes.";

const PARAMETERS: &str = r#"{
  "type": "object",
  "properties": {
    "file_path": {"type": "string", "description": "Path of the file, relative to the working directory or absolute."},
    "offset": {"type": "integer", "minimum": 1, "description": "The first line, from 1. Default: 1."},
    "limit": {"type": "integer", "minimum": 1, "description": "How many lines. Default: 2000."}
  },
  "required": ["file_path"],
  "additionalProperties": false
}"#;

/// Reads files.
pub(crate) struct Read {
    spec: ToolSpec,
    files: Arc<Files>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    file_path: String,
    offset: Option<u64>,
    limit: Option<u64>,
}

impl Read {
    pub(crate) fn new(files: Arc<Files>) -> Result<Self, serde_json::Error> {
        Ok(Self { spec: spec("read", DESCRIPTION, PARAMETERS)?, files })
    }
}

#[async_trait]
impl Tool for Read {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn read_only(&self) -> bool {
        true
    }

    fn parallel(&self) -> bool {
        true
    }

    async fn run(&self, call: Call, cancel: Cancel) -> Result<ToolOutput, ToolError> {
        let files = Arc::clone(&self.files);
        blocking(move || {
            let Arguments { file_path, offset, limit } = arguments(&call)?;
            let (first, limit) = (offset.unwrap_or(1), limit.unwrap_or(LINES));
            if first == 0 || limit == 0 {
                return Err(ToolError::arguments("`offset` and `limit` begin at 1"));
            }
            let place = files.workspace.place(&file_path)?;
            let (file, stamp) = place.open()?;
            let reading = Reading {
                place: &place,
                file: BufReader::with_capacity(64 << 10, file),
                bytes: stamp.len,
            };
            let text = reading.lines(first, limit, &cancel)?;
            files.seen.note(&place.real, stamp);
            ToolOutput::text(&text)
        })
        .await
    }
}

struct Reading<'a> {
    place: &'a Place,
    file: BufReader<File>,
    bytes: u64,
}

/// One line, or what is shown of it.
#[derive(Default)]
struct Line {
    head: Vec<u8>,
    /// All of its bytes, without its end.
    bytes: usize,
    crlf: bool,
    ended: bool,
}

impl Reading<'_> {
    fn lines(mut self, first: u64, limit: u64, cancel: &Cancel) -> Result<String, ToolError> {
        let mut text = String::new();
        let mut notes = Vec::new();
        let (mut number, mut crlf, mut lf, mut unreadable) = (0, 0_u64, 0_u64, false);
        let last = first.saturating_add(limit);
        loop {
            let Some(line) = self.line(cancel)? else {
                if number == 0 {
                    notes.push("the file is empty".to_owned());
                } else if number < first {
                    notes.push(format!(
                        "the file has {} only",
                        counted(usize::try_from(number).unwrap_or(usize::MAX), "line")
                    ));
                }
                break;
            };
            number += 1;
            if number < first {
                continue;
            }
            if number >= last || text.len() > MOST {
                notes.push(format!("more follows: go on with offset {number}"));
                break;
            }
            *(if line.crlf { &mut crlf } else { &mut lf }) += u64::from(line.ended);
            unreadable |= self.show(&mut text, number, &line);
            if !line.ended {
                notes.push("the last line has no line break".to_owned());
            }
        }
        match (crlf, lf) {
            (0, _) => {}
            (_, 0) => notes.push("lines end in CRLF".to_owned()),
            _ => notes.push(format!("{crlf} of these lines end in CRLF, {lf} in LF")),
        }
        if unreadable {
            notes.push("not UTF-8: what is none shows as U+FFFD".to_owned());
        }
        for note in notes {
            text.push_str(&format!("[{note}]\n"));
        }
        text.truncate(text.trim_end_matches('\n').len());
        Ok(text)
    }

    /// Adds a line to `text`; whether some of it is no UTF-8.
    fn show(&self, text: &mut String, number: u64, line: &Line) -> bool {
        let cut = line.bytes > line.head.len();
        // What is cut may be cut within a character.
        let head = match std::str::from_utf8(&line.head) {
            Err(error) if cut && error.error_len().is_none() => {
                line.head.get(..error.valid_up_to()).unwrap_or_default()
            }
            _ => &line.head,
        };
        let shown = String::from_utf8_lossy(head);
        let shown =
            if number == 1 { shown.strip_prefix('\u{feff}').unwrap_or(&shown) } else { &shown };
        text.push_str(&format!("{number:>6}\t{shown}"));
        if cut {
            text.push_str(&format!(" [{} more bytes in this line]", line.bytes - head.len()));
        }
        text.push('\n');
        std::str::from_utf8(head).is_err()
    }

    /// The next line; memory holds its head only, however long it is.
    fn line(&mut self, cancel: &Cancel) -> Result<Option<Line>, ToolError> {
        let mut line = Line::default();
        loop {
            if cancel.cause().is_some() {
                return Err(cancelled());
            }
            let buffer =
                self.file.fill_buf().map_err(|error| FileError::io(&self.place.shown, error))?;
            if buffer.is_empty() {
                return Ok((line.bytes > 0).then_some(line));
            }
            if memchr::memchr(0, buffer).is_some() {
                return Err(FileError::Binary {
                    path: self.place.shown.clone(),
                    bytes: self.bytes,
                }
                .into());
            }
            let end = memchr::memchr(b'\n', buffer);
            let part = buffer.get(..end.unwrap_or(buffer.len())).unwrap_or_default();
            // One more than is shown, for a CR that is part of the line's end.
            let room = (LINE + 1).saturating_sub(line.head.len());
            line.head.extend(part.iter().take(room));
            line.bytes += part.len();
            line.crlf = part.last().map_or(line.crlf, |last| *last == b'\r');
            let used = part.len() + usize::from(end.is_some());
            self.file.consume(used);
            if end.is_some() {
                line.ended = true;
                if line.crlf {
                    line.bytes -= 1;
                }
                break;
            }
        }
        line.crlf &= line.ended;
        line.head.truncate(line.bytes.min(LINE));
        Ok(Some(line))
    }
}
