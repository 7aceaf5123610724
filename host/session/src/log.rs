//! The file of a log, read in either encoding without holding it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use crate::ahead;
use crate::frames::{Frames, Next, Span};
use crate::scan::Scanner;
use crate::{Encoding, Events, Fold, Header, LogError, Replay};

/// Bytes that are read at once.
const BUFFER: usize = 1 << 17;

/// The longest header: 1 MiB. Listings read headers, and must not hold what a hostile one decodes to.
const MAX_HEADER: usize = 1 << 20;

/// A log that was read to its end.
pub(crate) struct ReadLog {
    pub(crate) header: Header,
    pub(crate) replay: Replay,
    /// The file's length when it was opened.
    pub(crate) length: u64,
    /// What must happen to the file before anything is appended; none where its end is clean.
    pub(crate) torn: Option<Torn>,
}

/// The end of a file that a write did not finish.
pub(crate) struct Torn {
    /// The file's length without it.
    pub(crate) keep: u64,
    /// Events that can be read in it, and are lost when it is cut unless they are written again.
    pub(crate) recovered: Events,
}

/// Reads a log's header alone.
pub(crate) fn read_header(path: &Path, encoding: Encoding) -> Result<Header, LogError> {
    LogFile::open(path, encoding)?.header().map(|(header, _)| header)
}

/// Reads a log whole; `fold` takes its events.
pub(crate) fn read(
    path: &Path,
    encoding: Encoding,
    fold: &mut dyn Fold,
) -> Result<ReadLog, LogError> {
    let mut log = LogFile::open(path, encoding)?;
    let (header, header_bytes) = log.header()?;
    let scanner = Scanner::new(Replay::new(header.id.clone()), fold, header_bytes);
    let length = log.length;
    let (replay, torn) = log.body(scanner)?;
    Ok(ReadLog { header, replay, length, torn })
}

struct LogFile {
    path: PathBuf,
    length: u64,
    body: Body,
}

enum Body {
    Raw(BufReader<File>),
    Zstd(Box<Frames<BufReader<File>>>),
}

impl LogFile {
    fn open(path: &Path, encoding: Encoding) -> Result<Self, LogError> {
        let failed = |why| LogError::Io { path: path.into(), why };
        let named = fs::symlink_metadata(path).map_err(failed)?;
        if named.is_symlink() {
            return Err(LogError::Link(path.into()));
        }
        if !named.is_file() {
            return Err(LogError::NoFile(path.into()));
        }
        let file = open_plain(path).map_err(failed)?;
        let meta = file.metadata().map_err(failed)?;
        // It may have become another thing since it was looked at.
        if !meta.is_file() {
            return Err(LogError::NoFile(path.into()));
        }
        let length = meta.len();
        let wanted = usize::try_from(length).unwrap_or(BUFFER).clamp(1, BUFFER);
        let reader = BufReader::with_capacity(wanted, file);
        let body = match encoding {
            Encoding::Raw => Body::Raw(reader),
            Encoding::Zstd => Body::Zstd(Box::new(Frames::new(reader, length).map_err(failed)?)),
        };
        Ok(Self { path: path.into(), length, body })
    }

    /// The header, and the bytes of its line.
    fn header(&mut self) -> Result<(Header, u64), LogError> {
        let mut line = Vec::new();
        match &mut self.body {
            Body::Raw(reader) => {
                let read = reader.take(MAX_HEADER as u64).read_until(b'\n', &mut line);
                read.map_err(|why| LogError::Io { path: self.path.clone(), why })?;
            }
            Body::Zstd(frames) => {
                let found = frames.find().map_err(|why| LogError::Frame { byte: 0, why })?;
                let Next::Frame(span) = found else { return Err(LogError::NoHeader) };
                decode(frames, span, |piece| {
                    line.extend_from_slice(piece);
                    if line.len() > MAX_HEADER { Err(LogError::HeaderFrame) } else { Ok(()) }
                })?;
                if memchr::memchr(b'\n', &line).map(|end| end + 1) != Some(line.len()) {
                    return Err(LogError::HeaderFrame);
                }
            }
        }
        let bytes = line.len() as u64;
        if line.pop() != Some(b'\n') {
            return Err(LogError::NoHeader);
        }
        Ok((Header::parse(&String::from_utf8_lossy(&line))?, bytes))
    }

    fn body(self, mut scanner: Scanner<'_>) -> Result<(Replay, Option<Torn>), LogError> {
        match self.body {
            Body::Raw(reader) => {
                let failed = |why| LogError::Io { path: self.path.clone(), why };
                copy(reader, &mut scanner, failed)?;
                let scanned = scanner.finish();
                let torn = (scanned.kept < self.length)
                    .then_some(Torn { keep: scanned.kept, recovered: Events::default() });
                Ok((scanned.replay, torn))
            }
            Body::Zstd(mut frames) => {
                let long = self.length >= ahead::LONG;
                let read = long.then(|| ahead::whole_frames(&mut frames, &mut scanner)).flatten();
                let torn = read.unwrap_or_else(|| frame_by_frame(&mut frames, &mut scanner))?;
                scanner.whole_frames_end()?;
                if let Some(span) = torn {
                    scanner.enter_torn_frame(span.start);
                    // A torn frame whose blocks are damaged gives nothing at all, so look before taking.
                    if decode(&mut frames, span, |_| Ok(())).is_ok() {
                        decode(&mut frames, span, |piece| scanner.write(piece))?;
                    }
                }
                let scanned = scanner.finish();
                let torn = torn.map(|span| Torn { keep: span.start, recovered: scanned.recovered });
                Ok((scanned.replay, torn))
            }
        }
    }
}

/// Opens a file without following a link, and without waiting for whoever would write into a pipe.
fn open_plain(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.custom_flags(flags.bits().cast_signed());
    }
    options.read(true).open(path)
}

/// Reads every whole frame; gives the torn one after them.
pub(crate) fn frame_by_frame<R: Read + Seek>(
    frames: &mut Frames<R>,
    scanner: &mut Scanner<'_>,
) -> Result<Option<Span>, LogError> {
    let failed = |byte, why| LogError::Frame { byte, why };
    frames.each_whole(failed, |start, piece| {
        scanner.enter_frame(start);
        scanner.write(piece)
    })
}

fn decode(
    frames: &mut Frames<BufReader<File>>,
    span: Span,
    take: impl FnMut(&[u8]) -> Result<(), LogError>,
) -> Result<(), LogError> {
    frames.decode(span, |why| LogError::Frame { byte: span.start, why }, take)
}

fn copy(
    mut reader: BufReader<File>,
    scanner: &mut Scanner<'_>,
    failed: impl Fn(io::Error) -> LogError,
) -> Result<(), LogError> {
    loop {
        let bytes = reader.fill_buf().map_err(&failed)?;
        if bytes.is_empty() {
            return Ok(());
        }
        let count = bytes.len();
        scanner.write(bytes)?;
        reader.consume(count);
    }
}
