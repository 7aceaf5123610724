//! The reference URI: `dsh-session:` and the id's JSON in base64url without padding.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::id::SessionId;

/// What every reference URI begins with.
pub const SCHEME: &str = "dsh-session:";

/// The URI of a session.
pub fn encode(session: &SessionId) -> String {
    format!("{SCHEME}{}", URL_SAFE_NO_PAD.encode(session.to_json()))
}

/// The session that a URI names; none unless [`encode`] writes exactly this URI for it.
pub fn decode(uri: &str) -> Option<SessionId> {
    let bytes = URL_SAFE_NO_PAD.decode(uri.strip_prefix(SCHEME)?).ok()?;
    SessionId::from_json(str::from_utf8(&bytes).ok()?)
}

/// Whether the byte can stand in a URI's payload.
pub(crate) fn is_payload(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_comes_back_from_its_uri() {
        for (id, uri) in [
            ("abc", "dsh-session:ImFiYyI"),
            ("日本", "dsh-session:IuaXpeacrCI"),
            (r"\ud800", "dsh-session:Ilx1ZDgwMCI"),
            ("", "dsh-session:IiI"),
        ] {
            assert_eq!(encode(&SessionId::new(id)), uri);
            assert_eq!(decode(uri), Some(SessionId::new(id)));
        }
    }

    #[test]
    fn any_other_spelling_names_no_session() {
        for uri in [
            "dsh-session:",
            "dsh-session:ImFiYyI=",
            "dsh-session:ImFiYyJ",
            "Dsh-session:ImFiYyI",
            "dsh-session:MQ",
            "ImFiYyI",
        ] {
            assert_eq!(decode(uri), None, "{uri}");
        }
    }
}
