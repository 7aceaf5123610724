//! Which root and which session a person means, and how both are named back.

use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dsh_session::{SessionId, Sessions};

use crate::args::Common;
use crate::home;
use crate::visible::Line;

const SCHEME: &str = "dsh-session:";

/// The folder of sessions.
pub(crate) fn root(common: &Common) -> anyhow::Result<PathBuf> {
    match &common.root {
        Some(root) => Ok(root.clone()),
        None => home::sessions(),
    }
}

/// The session that `said` names: its URI, its id, or the beginning of only one id.
pub(crate) async fn session(sessions: &Sessions, said: &str) -> anyhow::Result<SessionId> {
    let listing = sessions.list().await?;
    let ids = || listing.sessions.iter().map(|record| &record.header.id);
    if let Some(payload) = said.strip_prefix(SCHEME) {
        let Some(id) = decode(payload) else {
            anyhow::bail!(
                "{} names no session: it is not as any session's URI is written",
                Line(said)
            );
        };
        return match ids().find(|found| **found == id) {
            Some(id) => Ok(id.clone()),
            None => anyhow::bail!(
                "no session here has the URI {}; `dsh-wasm sessions` lists them",
                Line(said)
            ),
        };
    }
    if let Some(id) = ids().find(|id| id.to_string() == said) {
        return Ok(id.clone());
    }
    let mut begin = ids().filter(|id| id.to_string().starts_with(said));
    match (begin.next(), begin.next()) {
        (Some(id), None) => return Ok(id.clone()),
        (Some(one), Some(other)) => {
            let (one, other) = (one.to_string(), other.to_string());
            anyhow::bail!(
                "several sessions begin with {}: {}, {}; say more of it",
                Line(said),
                Line(&one),
                Line(&other)
            );
        }
        _ => {}
    }
    if let Some(broken) =
        listing.unreadable.iter().find(|broken| broken.path.to_string_lossy().contains(said))
    {
        anyhow::bail!("{} cannot be read: {}", broken.path.display(), broken.why);
    }
    anyhow::bail!("no session here is called {}; `dsh-wasm sessions` lists them", Line(said))
}

/// The URI of a session (contracts §8.2): it names any id without loss.
pub fn uri(id: &SessionId) -> String {
    format!("{SCHEME}{}", URL_SAFE_NO_PAD.encode(format!("\"{}\"", id.escaped())))
}

fn decode(payload: &str) -> Option<SessionId> {
    let json = String::from_utf8(URL_SAFE_NO_PAD.decode(payload).ok()?).ok()?;
    SessionId::from_escaped(json.strip_prefix('"')?.strip_suffix('"')?)
}

/// A mention of a session under a label.
pub fn mention(label: &str, id: &SessionId) -> String {
    let label = label.replace('\\', "\\\\").replace(']', "\\]");
    format!("@[{label}]({})", uri(id))
}

/// A time in UTC, to the minute.
pub(crate) fn date(milliseconds: u64) -> String {
    let time = UNIX_EPOCH.checked_add(Duration::from_millis(milliseconds));
    // What lies past the year 9999 has no such form.
    let known = time.filter(|_| milliseconds < 253_402_300_800_000);
    let Some(time) = known else { return format!("{milliseconds} ms") };
    let text = humantime::format_rfc3339_seconds(time).to_string();
    text.get(..16).unwrap_or(&text).replace('T', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(units: &[u16], expected: &str) {
        let id = SessionId::from_units(units);
        assert_eq!(uri(&id), expected);
        assert_eq!(decode(expected.strip_prefix(SCHEME).unwrap()), Some(id));
    }

    #[test]
    fn a_uri_names_any_id() {
        check(&"abc".encode_utf16().collect::<Vec<_>>(), "dsh-session:ImFiYyI");
        check(&"a\"b\n".encode_utf16().collect::<Vec<_>>(), "dsh-session:ImFcImJcbiI");
        check(&[0xd800], "dsh-session:Ilx1ZDgwMCI");
    }

    #[test]
    fn another_spelling_names_none() {
        for payload in ["", "MQ", "IiJ", "ImFiYyI=", "IlxuMDA0MSI"] {
            assert_eq!(decode(payload), None, "{payload}");
        }
    }

    #[test]
    fn dates_are_short() {
        assert_eq!(date(1_796_074_134_794), "2026-11-30 21:28");
        assert_eq!(date(u64::MAX), "18446744073709551615 ms");
    }
}
