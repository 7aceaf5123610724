//! The process that writes until it is stopped.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use dsh_session::{Draft, Encoding, Header, Json, Live, SessionId, Store, StoreError};

/// The session that it writes.
pub(crate) fn session() -> SessionId {
    SessionId::new("written")
}

/// How often a writer whose disk refuses tries again, before it gives up.
const TRIES: usize = 3;

pub(crate) fn store(root: &Path, encoding: &str) -> Store {
    let encoding = if encoding == "raw" { Encoding::Raw } else { Encoding::Zstd };
    Store::new(root, encoding, Arc::new(|| 1_800_000_000_000))
}

/// The message at place `seq`: some are long enough to leave the file system's page.
pub(crate) fn text(seq: u64) -> String {
    format!("{seq} ").repeat(1 + (seq * 7919 % 1500) as usize)
}

/// Opens the session, or makes it, and writes a batch after the other; tells the number of events after each.
pub(crate) fn write(root: &Path, encoding: &str) {
    let store = store(root, encoding);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let live = match store.open(&session(), &mut ()) {
        Err(StoreError::NotFound(_)) => {
            store.create(Header::new(session(), 7, Some("/w".into())), None).unwrap()
        }
        opened => opened.unwrap(),
    };
    tell("open");
    let mut failures = 0;
    while failures < TRIES {
        for _ in 0..1 + live.next_seq() % 3 {
            append(&live);
        }
        match runtime.block_on(live.commit()) {
            Ok(()) => tell(&live.next_seq().to_string()),
            Err(error) => {
                tell(&format!("failed: {error}"));
                failures += 1;
            }
        }
    }
}

pub(crate) fn append(live: &Live) {
    let seq = live.next_seq();
    let text = serde_json::Value::from(text(seq));
    let data = format!(
        r#"{{"content":[{{"type":"text","text":{text}}}],"source":{{"kind":"user"}},"role":"user","id":"m{seq}"}}"#
    );
    live.append(Draft::node("user/message", Json::parse(&data).unwrap(), None)).unwrap();
}

fn tell(line: &str) {
    let mut out = std::io::stdout().lock();
    // Whoever listens may be gone.
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}
