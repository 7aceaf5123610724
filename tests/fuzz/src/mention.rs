//! A text with mentions: it is parsed, or refused for a mention that it holds; what it names comes back from its URI and
//! from its canonical mention.

use session_reference::id::SessionId;
use session_reference::mention::{Reference, format, parse};
use session_reference::uri::{decode, encode};

/// `bytes` are a text, and also an id, and what follows a URI's scheme.
pub fn holds(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(parsed) = parse(&text) {
        for reference in &parsed.references {
            comes_back(reference);
        }
    }
    let uri = format!("dsh-session:{text}");
    if let Some(session) = decode(&uri) {
        assert_eq!(encode(&session), uri);
    }
    if let Some(session) = SessionId::from_json(&format!("\"{text}\"")) {
        assert_eq!(session.as_str(), text);
        comes_back(&Reference { session, label: None });
    }
}

fn comes_back(reference: &Reference) {
    let uri = encode(&reference.session);
    assert_eq!(decode(&uri).as_ref(), Some(&reference.session));
    let bare = parse(&uri).expect("a URI is a mention");
    assert_eq!(bare.references, [Reference { label: None, ..reference.clone() }]);
    let label = reference.label_text();
    // No label reaches over a line's end, which a session's id may hold.
    if label.contains(['\n', '\r', '\u{2028}', '\u{2029}']) {
        return;
    }
    let mention = format(reference);
    let parsed = parse(&mention).expect("a canonical mention is one");
    assert_eq!(parsed.text, format!("@{label}"));
    let label = Some(label.into_owned());
    assert_eq!(parsed.references, [Reference { label, ..reference.clone() }]);
}
