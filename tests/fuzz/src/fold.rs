//! The rows of a log, one on a line: each is taken, or refused without a trace; what was taken can be taken again as
//! events, and what closes an interrupted turn does close it.

use dsh_session::{Events, Replay, SessionId};

/// Every line of `bytes` is a row.
pub fn holds(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (mut read, mut again) = (replay(), replay());
    let mut held = Events::default();
    for row in text.lines() {
        let (seq, surface, title) = (read.next_seq(), read.surface(), read.title());
        match read.row(row) {
            Ok((event, replacement)) => {
                assert_eq!(event.seq, seq);
                assert_eq!(again.event(&event).expect("an event that was read"), replacement);
                held.push(event);
            }
            Err(_) => {
                assert_eq!(read.next_seq(), seq);
                assert_eq!(read.surface(), surface);
                assert_eq!(read.title(), title);
            }
        }
    }
    assert_eq!(read.surface(), again.surface());
    assert_eq!(read.title(), again.title());
    // And all of them at once.
    let mut at_once = replay();
    at_once.events(&held).expect("events that were read");
    assert_eq!(read.surface(), at_once.surface());
    assert_eq!(read.title(), at_once.title());
    assert_eq!(read.closers(), at_once.closers());
    let closers = read.closers();
    // A turn whose own facts nobody writes cannot be closed, and its log is refused for that.
    if closers.iter().all(|closer| read.event(closer).is_ok()) {
        assert!(!read.turn_is_open());
    }
}

fn replay() -> Replay {
    Replay::new(SessionId::new("s"))
}
