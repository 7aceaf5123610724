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
    let ids: Vec<&SessionId> = listing.sessions.iter().map(|record| &record.header.id).collect();
    let chosen = |fits: &dyn Fn(&SessionId) -> bool| -> Vec<&SessionId> {
        ids.iter().copied().filter(|id| fits(id)).collect()
    };
    let mut meant = match said.strip_prefix(SCHEME) {
        Some(payload) => {
            let wanted = decode(payload);
            chosen(&|id| wanted.as_ref() == Some(id))
        }
        None => chosen(&|id| id.to_string() == said),
    };
    if meant.is_empty() && !said.is_empty() {
        meant = chosen(&|id| id.to_string().starts_with(said));
    }
    match meant.as_slice() {
        [id] => return Ok((*id).clone()),
        [] => {}
        several => {
            let uris: Vec<String> = several.iter().take(5).map(|id| uri(id)).collect();
            let (said, count, uris) = (Line(said), several.len(), uris.join(", "));
            anyhow::bail!(
                "{said} names {count} sessions; say more of it, or one of the URIs: {uris}"
            );
        }
    }
    let named = |id: &SessionId| id.to_string().starts_with(said) && !said.is_empty();
    if let Some(broken) = listing.unreadable.iter().find(|one| one.id.as_ref().is_some_and(named)) {
        anyhow::bail!("{} cannot be read: {}", broken.path.display(), broken.why);
    }
    let (root, said) = (sessions.store().root().display().to_string(), Line(said));
    anyhow::bail!("no session in {} is called {said}; `dsh-wasm sessions` lists them", Line(&root))
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
        for payload in ["", "MQ", "IiJ", "ImFiYyI=", "Ilx1MDA0MSI"] {
            assert_eq!(decode(payload), None, "{payload}");
        }
    }

    #[test]
    fn dates_are_short() {
        assert_eq!(date(1_796_074_134_794), "2026-11-30 21:28");
        assert_eq!(date(u64::MAX), "18446744073709551615 ms");
    }
}
