//! One line: it is a row of JSON for us exactly when it is an object for serde_json, and says the same however it is
//! spelled.

use dsh_session::{Draft, EventError, Replay, SessionId};
use serde_json::value::RawValue;

/// The bytes are one line of a log.
pub fn holds(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let read = replay().row(&text);
    let is_object =
        serde_json::from_str::<&RawValue>(&text).is_ok_and(|raw| raw.get().starts_with('{'));
    let refused = matches!(read, Err(EventError::Envelope("text is no JSON object")));
    assert_eq!(refused, !is_object, "{text}");
    // Space around a row says nothing.
    let loose = replay().row(&format!("\t{text} "));
    assert_eq!(loose, read);
    // An event whose parts were written down while it was read is what one is that is looked at again.
    if let Ok((event, _)) = read {
        let (mut first, mut again) = (replay(), replay());
        first.event(&event).expect("an event that was read");
        let (seq, time) = (event.seq, event.time);
        again.event(&Draft::from(event).at(seq, time)).expect("an event that was read");
        assert_eq!(first.surface(), again.surface());
        assert_eq!(first.closers(), again.closers());
    }
}

fn replay() -> Replay {
    Replay::new(SessionId::new("s"))
}
