//! The order in which sessions are listed (contracts §4.2).

use std::cmp::Ordering;

use icu_collator::{Collator, CollatorBorrowed, options::CollatorOptions};

use crate::{Header, SessionId};

/// Sorts sessions newest first, and those of one moment by id as people order words, not bytes.
///
/// Ids that no reader can tell apart keep the order in which they came.
pub fn newest_first<T>(sessions: &mut [T], header: impl Fn(&T) -> &Header) {
    let collator = collator();
    sessions.sort_by(|one, other| {
        let (one, other) = (header(one), header(other));
        other.created_at.cmp(&one.created_at).then_with(|| match &collator {
            Some(collator) => collator.compare(&sortable(&one.id), &sortable(&other.id)),
            None => Ordering::Equal,
        })
    });
}

/// The id with each lone surrogate as a character of its own.
///
/// The reference orders lone surrogates among themselves, by number and before U+FFFD, as it does characters that
/// nobody has assigned yet. No string holds the former, so some of the latter (from plane four) stand for them.
fn sortable(id: &SessionId) -> String {
    let units = id.units();
    let chars = char::decode_utf16(units).map(|char| {
        char.unwrap_or_else(|lone| {
            let stand_in = 0x4_0000 + u32::from(lone.unpaired_surrogate());
            char::from_u32(stand_in).unwrap_or(char::REPLACEMENT_CHARACTER)
        })
    });
    chars.collect()
}

/// The root collation, which is also that of English; its data is compiled in.
fn collator() -> Option<CollatorBorrowed<'static>> {
    Collator::try_new(Default::default(), CollatorOptions::default()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_ordered_as_people_do() {
        let order = [
            "-",
            "~",
            "1",
            "a",
            "B",
            "e",
            "é",
            "session_1",
            "session-10",
            "session-2",
            "Session-a",
            "session-b",
            "session-B",
            "z",
        ];
        let mut headers: Vec<Header> =
            order.iter().rev().map(|id| Header::new(SessionId::new(id), 5, None)).collect();
        headers.push(Header::new(SessionId::new("newest"), 6, None));
        newest_first(&mut headers, |header| header);
        let ids: Vec<String> = headers.iter().map(|header| header.id.to_string()).collect();
        assert_eq!(ids[0], "newest");
        assert_eq!(ids[1..], order);
    }
}
