//! What is measured on: roots of sessions, made once and read by both sides.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use dsh_session::{Encoding, Header, SessionId, log_path};
use zstd::stream::Encoder;
use zstd::zstd_safe::CParameter;

use crate::conversation::{BORN, Conversation};

/// Changes whenever what is made does, so that old inputs are made anew.
const EDITION: &str = "1";

/// How many sessions the large root holds.
pub const MANY: u64 = 10_000;

/// Directories that are there once they were made.
#[derive(Clone, Debug)]
pub struct Inputs {
    dir: PathBuf,
}

impl Inputs {
    /// The inputs under `dir`, made if they are not there: about 220 MB.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn make(dir: impl Into<PathBuf>) -> Result<Self> {
        let inputs = Self { dir: dir.into() };
        let edition = inputs.dir.join("edition");
        if fs::read_to_string(&edition).is_ok_and(|made| made == EDITION) {
            return Ok(inputs);
        }
        if inputs.dir.exists() {
            fs::remove_dir_all(&inputs.dir)?;
        }
        for (id, events) in [("10k", 10_000), ("1m", 1_000_000)] {
            let log = Conversation::new(id, "/w", BORN, "A long day", events);
            write(&inputs.root(Encoding::Raw), id, "/w", &log, Encoding::Raw)?;
            write(&inputs.root(Encoding::Zstd), id, "/w", &log, Encoding::Zstd)?;
        }
        for number in 0..MANY {
            let (id, cwd) = (format!("session-{number}"), format!("/w/{}", number % 21));
            let log = Conversation::new(&id, &cwd, BORN - number, &title(number), 1);
            write(&inputs.many(), &id, &cwd, &log, Encoding::Zstd)?;
        }
        fs::write(edition, EDITION)?;
        Ok(inputs)
    }

    /// A root with the sessions `10k` and `1m`, named after how many events they hold at least.
    pub fn root(&self, encoding: Encoding) -> PathBuf {
        self.dir.join(match encoding {
            Encoding::Raw => "raw",
            Encoding::Zstd => "zstd",
        })
    }

    /// A root of [`MANY`] sessions of one turn each, in zstd.
    pub fn many(&self) -> PathBuf {
        self.dir.join("many")
    }

    /// The file of the session `id` of [`root`](Self::root).
    ///
    /// # Errors
    /// When it has no place.
    pub fn log(&self, id: &str, encoding: Encoding) -> Result<PathBuf> {
        place(&self.root(encoding), id, "/w", encoding)
    }
}

/// The title of a session of the large root.
pub fn title(number: u64) -> String {
    let about = match number % 4 {
        0 => "parser",
        1 => "İstanbul build",
        2 => "straße lookup",
        _ => "会话 panel",
    };
    format!("Fix the {about} number {number}")
}

fn place(root: &Path, id: &str, cwd: &str, encoding: Encoding) -> Result<PathBuf> {
    let header = Header::new(SessionId::new(id), BORN, Some(cwd.into()));
    log_path(root, &header, encoding).context("a session without a place")
}

fn write(root: &Path, id: &str, cwd: &str, log: &Conversation, encoding: Encoding) -> Result<()> {
    let path = place(root, id, cwd, encoding)?;
    fs::create_dir_all(path.parent().context("a log in no directory")?)?;
    let bytes = match encoding {
        Encoding::Raw => log.text().into_bytes(),
        Encoding::Zstd => {
            let mut bytes = frame(&log.header)?;
            for batch in &log.batches {
                bytes.extend(frame(batch)?);
            }
            bytes
        }
    };
    Ok(fs::write(path, bytes)?)
}

/// A frame as dsh writes it: level 3, with a checksum and without its content's size.
fn frame(text: &str) -> Result<Vec<u8>> {
    let mut encoder = Encoder::new(Vec::new(), 3)?;
    encoder.set_parameter(CParameter::ChecksumFlag(true))?;
    encoder.set_parameter(CParameter::ContentSizeFlag(false))?;
    std::io::Write::write_all(&mut encoder, text.as_bytes())?;
    Ok(encoder.finish()?)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dsh_session::Store;

    use super::*;

    #[test]
    fn what_is_made_reads_as_a_log_in_either_encoding() {
        let root = tempfile::tempdir().unwrap();
        let log = Conversation::new("made", "/w", BORN, "Made", 20_000);
        let read = |encoding, name| {
            let root = root.path().join(name);
            write(&root, "made", "/w", &log, encoding).unwrap();
            let store = Store::new(root, encoding, Arc::new(|| 0));
            store.read(&SessionId::new("made"), &mut ()).unwrap()
        };
        let raw = read(Encoding::Raw, "raw");
        assert_eq!((raw.committed, raw.closers, raw.torn), (log.events, 0, None));
        assert_eq!(raw.title.unwrap().unwrap().title, "Made");
        assert!(raw.surface.generation() > 0, "it was never compacted");
        assert!(log.text().matches("\"seq0\"").count() > 100, "hardly any packed rows");
        assert_eq!(read(Encoding::Zstd, "zstd").surface, raw.surface);
    }
}
