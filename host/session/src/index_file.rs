//! The index's file: a line that says what it is, then one for each log: a checksum and JSON. Damaged lines are dropped.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, BufRead, BufReader, BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::index::Entry;
use crate::stamp::Stamp;
use crate::title::TitleFold;
use crate::{Header, Json, Raw};

/// What the file begins with. A version that writes other lines changes it.
const FIRST: &str = "dsh-index 1\n";

/// The largest index: 64 MiB, some hundred thousand logs. What does not fit is read from the logs.
const MAX_BYTES: u64 = 64 << 20;

/// The longest line: a title of hostile length stays in its log.
const MAX_LINE: usize = 64 << 10;

/// After this long, whoever was writing an index has died.
const GIVEN_UP: Duration = Duration::from_secs(60);

#[derive(Serialize, Deserialize)]
struct Line<'a> {
    log: Box<str>,
    stamp: [i64; 6],
    #[serde(borrow)]
    header: &'a RawValue,
    /// Absent where only the header was read, empty where the log has none.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    titles: Option<Vec<(u64, i64, &'a RawValue)>>,
}

/// The file's stamp; none where there is no file that could be trusted: one of the root's own owner, whom nobody else
/// may write for.
pub(crate) fn stamp(path: &Path, root: &Path) -> Option<Stamp> {
    let meta = fs::symlink_metadata(path).ok()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let owner = fs::metadata(root).ok()?.uid();
        if meta.uid() != owner || meta.mode() & 0o022 != 0 {
            return None;
        }
    }
    Stamp::of(&meta)
}

/// What can be read of the file.
pub(crate) fn read(path: &Path) -> Vec<(Box<str>, Entry)> {
    let Ok(file) = File::open(path) else { return Vec::new() };
    let mut reader = BufReader::new(file.take(MAX_BYTES));
    let mut text = String::new();
    if reader.read_line(&mut text).is_err() || text != FIRST {
        return Vec::new();
    }
    let mut entries = Vec::new();
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        entries.extend(str::from_utf8(&line).ok().and_then(parse));
        line.clear();
    }
    entries
}

/// Why the file cannot be used as it is; none where it can, or is not there.
pub(crate) fn damage(path: &Path, root: &Path) -> Option<String> {
    fs::symlink_metadata(path).ok()?;
    if stamp(path, root).is_none() || !path.is_file() {
        return Some("it is no file of the root's owner alone".to_owned());
    }
    let mut reader = match File::open(path) {
        Ok(file) => BufReader::new(file.take(MAX_BYTES)),
        Err(error) => return Some(format!("it cannot be read: {error}")),
    };
    let mut line = Vec::new();
    if reader.read_until(b'\n', &mut line).is_err() || line != FIRST.as_bytes() {
        return Some("it does not begin as an index of this version does".to_owned());
    }
    let mut damaged = 0;
    line.clear();
    while reader.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        damaged += usize::from(str::from_utf8(&line).ok().and_then(parse).is_none());
        line.clear();
    }
    (damaged > 0).then(|| format!("{damaged} of its lines cannot be read"))
}

/// Writes the file aside, and gives it its name; whether it did.
pub(crate) fn write(path: &Path, entries: &HashMap<Box<str>, Entry>) -> bool {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".tmp");
    let aside = PathBuf::from(aside);
    // Somebody else writes just now: what is known here is written another time.
    let Ok(file) = create(&aside).or_else(|_| create_after_death(&aside)) else { return false };
    let written = write_lines(file, entries).and_then(|()| fs::rename(&aside, path));
    if written.is_err() {
        let _ = fs::remove_file(&aside);
    }
    written.is_ok()
}

fn write_lines(file: File, entries: &HashMap<Box<str>, Entry>) -> io::Result<()> {
    let mut file = BufWriter::new(file);
    file.write_all(FIRST.as_bytes())?;
    let mut bytes = FIRST.len() as u64;
    for line in entries.iter().filter_map(|(name, entry)| line(name, entry)) {
        bytes += line.len() as u64;
        if bytes > MAX_BYTES {
            break;
        }
        file.write_all(line.as_bytes())?;
    }
    file.flush()
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Takes the place of a writer that died. Should it live after all, then lines of two are mixed, and dropped.
fn create_after_death(path: &Path) -> io::Result<File> {
    let modified = fs::symlink_metadata(path)?.modified()?;
    match modified.elapsed() {
        Ok(age) if age < GIVEN_UP => Err(io::ErrorKind::AlreadyExists.into()),
        _ => fs::remove_file(path).and_then(|()| create(path)),
    }
}

fn line(name: &str, entry: &Entry) -> Option<String> {
    let header = entry.header.line();
    let titles = match entry.title.as_ref().map(TitleFold::latest) {
        None => None,
        Some(None) => Some(Vec::new()),
        Some(Some((seq, time, data))) => {
            Some(vec![(*seq, *time, serde_json::from_str(data.as_str()).ok()?)])
        }
    };
    let header = serde_json::from_str(&header).ok()?;
    let json =
        serde_json::to_string(&Line { log: name.into(), stamp: entry.stamp.parts, header, titles })
            .ok()?;
    let line = format!("{:016x} {json}\n", checksum(&json));
    (line.len() <= MAX_LINE && !json.contains('\n')).then_some(line)
}

fn parse(line: &str) -> Option<(Box<str>, Entry)> {
    let (sum, json) = line.strip_suffix('\n')?.split_once(' ')?;
    if u64::from_str_radix(sum, 16).ok()? != checksum(json) {
        return None;
    }
    let line: Line<'_> = serde_json::from_str(json).ok()?;
    let title = line.titles.map(|titles| {
        let latest = titles.into_iter().next();
        TitleFold::from(latest.map(|(seq, time, data)| (seq, time, Json::from(Raw::from(data)))))
    });
    let stamp = Stamp { parts: line.stamp };
    Some((line.log, Entry { stamp, header: Header::parse(line.header.get()).ok()?, title }))
}

/// May differ between versions of this program, to whom each other's lines are then damaged ones.
fn checksum(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    hasher.finish()
}
