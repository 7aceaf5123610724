//! Mentions in text: `@[label](dsh-session:…)`, or a bare `dsh-session:…`.
//!
//! In a label `\` makes the next character literal (a line break cannot be
//! made so) and the first `]` without one ends it; the URI runs to the first
//! `)` without white space before it. What does not follow this is plain text,
//! in which a bare URI still counts.
//!
//! One pass: where a label or a URI ends does not depend on where it began, so
//! each end is looked for once, however many beginnings lie before it.

use std::borrow::Cow;

use memchr::{memchr_iter, memchr2};

use crate::error::Error;
use crate::id::SessionId;
use crate::uri::{self, SCHEME};

/// A session as a message cites it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The session.
    pub session: SessionId,
    /// What people read; none stands for the id.
    pub label: Option<String>,
}

impl Reference {
    /// What people read.
    pub fn label_text(&self) -> Cow<'_, str> {
        self.label.as_deref().map_or_else(|| self.session.to_text(), Cow::Borrowed)
    }
}

/// A text with its mentions made readable, and what they named, in order.
#[derive(Debug, PartialEq, Eq)]
pub struct Parsed<'a> {
    /// The text with `@label` for each mention; borrowed where there was none.
    pub text: Cow<'a, str>,
    /// What was named, repeats included.
    pub references: Vec<Reference>,
}

/// The canonical mention of a reference, which [`parse`] reads back as the same one.
pub fn format(reference: &Reference) -> String {
    let label = reference.label_text();
    let mut mention = String::from("@[");
    for char in label.chars() {
        if matches!(char, '\\' | ']') {
            mention.push('\\');
        }
        mention.push(char);
    }
    mention.push_str("](");
    mention.push_str(&uri::encode(&reference.session));
    mention.push(')');
    mention
}

/// Finds the mentions in a text.
///
/// # Errors
///
/// [`Error::Mention`] for the first mention whose URI names no session.
pub fn parse(text: &str) -> Result<Parsed<'_>, Error> {
    let mut scan = Scan::of(text);
    let mut readable = String::new();
    let mut references = Vec::new();
    let mut copied = 0;
    while let Some(found) = scan.next_mention() {
        let uri = between(text, found.uri.0, found.uri.1);
        let session = uri::decode(uri).ok_or_else(|| Error::Mention { uri: uri.to_owned() })?;
        let label = found.label.map(|(start, end)| unescape(between(text, start, end)));
        let reference = Reference { session, label };
        readable.push_str(between(text, copied, found.start));
        readable.push('@');
        readable.push_str(&reference.label_text());
        copied = found.end;
        references.push(reference);
    }
    if references.is_empty() {
        return Ok(Parsed { text: Cow::Borrowed(text), references });
    }
    readable.push_str(between(text, copied, text.len()));
    Ok(Parsed { text: Cow::Owned(readable), references })
}

/// The part of `text` from `start` to `end`, both of them character boundaries.
fn between(text: &str, start: usize, end: usize) -> &str {
    text.get(start..end).unwrap_or_default()
}

/// A label without its backslashes.
fn unescape(label: &str) -> String {
    let mut plain = String::with_capacity(label.len());
    let mut chars = label.chars();
    while let Some(char) = chars.next() {
        plain.push(if char == '\\' { chars.next().unwrap_or(char) } else { char });
    }
    plain
}

/// Where one mention stands, in bytes of the text.
struct Found {
    start: usize,
    end: usize,
    /// Between the brackets; none for a bare URI.
    label: Option<(usize, usize)>,
    uri: (usize, usize),
}

/// A pass over a text from its start to its end.
struct Scan<'a> {
    text: &'a str,
    position: usize,
    /// The next `@[` at or after `position`, if it has been looked for.
    opening: Ahead,
    /// The next scheme at or after `position`, if it has been looked for.
    scheme: Ahead,
    /// Where labels that begin before it stop.
    label_stop: Ahead,
    /// Where URIs in brackets that begin before it stop.
    uri_stop: Ahead,
}

/// The last answer of a search forward: still the answer for any start up to it.
#[derive(Clone, Copy)]
struct Ahead(usize);

impl Ahead {
    /// The answer for `start`, searched for only where the last one lies behind.
    fn find(&mut self, start: usize, search: impl FnOnce() -> usize) -> usize {
        if self.0 < start {
            self.0 = search();
        }
        self.0
    }
}

impl<'a> Scan<'a> {
    fn of(text: &'a str) -> Self {
        let opening = Ahead(next_opening(text, 0));
        let scheme = Ahead(next_scheme(text, 0));
        Self { text, position: 0, opening, scheme, label_stop: Ahead(0), uri_stop: Ahead(0) }
    }

    /// The next mention; none at the end of the text.
    fn next_mention(&mut self) -> Option<Found> {
        let Self { text, .. } = *self;
        loop {
            let start = self.position;
            let opening = self.opening.find(start, || next_opening(text, start));
            let scheme = self.scheme.find(start, || next_scheme(text, start));
            let (at, found) = if opening < scheme {
                (opening, self.labelled(opening))
            } else if scheme < text.len() {
                (scheme, self.bare(scheme))
            } else {
                return None;
            };
            // Both beginnings are one byte long at least, and that byte is a character.
            self.position = found.as_ref().map_or(at + 1, |found| found.end);
            if found.is_some() {
                return found;
            }
        }
    }

    /// The mention with a label that begins at `start`, if one does.
    fn labelled(&mut self, start: usize) -> Option<Found> {
        let text = self.text;
        let label = start + 2;
        let stop = self.label_stop.find(label, || label_stop(text, label));
        let uri = stop + 2;
        if !text.get(stop..)?.strip_prefix("](")?.starts_with(SCHEME) {
            return None;
        }
        let payload = uri + SCHEME.len();
        let end = self.uri_stop.find(payload, || uri_stop(text, payload));
        (text.as_bytes().get(end) == Some(&b')')).then_some(Found {
            start,
            end: end + 1,
            label: Some((label, stop)),
            uri: (uri, end),
        })
    }

    /// The bare URI that begins at `start`, if it has a payload.
    fn bare(&self, start: usize) -> Option<Found> {
        let payload = self.text.as_bytes().get(start + SCHEME.len()..)?;
        let length = payload.iter().take_while(|byte| uri::is_payload(**byte)).count();
        let end = start + SCHEME.len() + length;
        (length > 0).then_some(Found { start, end, label: None, uri: (start, end) })
    }
}

/// Where the first `@[` at or after `start` is, or the end of the text.
fn next_opening(text: &str, start: usize) -> usize {
    let rest = between(text, start, text.len()).as_bytes();
    let mut ats = memchr_iter(b'@', rest);
    let opening = ats.find(|at| rest.get(at + 1) == Some(&b'['));
    opening.map_or(text.len(), |at| start + at)
}

/// Where the first scheme at or after `start` is, or the end of the text. Looks for its colon, which is rarer in a
/// text than any of its letters.
fn next_scheme(text: &str, start: usize) -> usize {
    let rest = between(text, start, text.len()).as_bytes();
    let mut ends = memchr_iter(b':', rest).map(|colon| colon + 1);
    let holds = |end: &usize| rest.get(..*end).is_some_and(|to| to.ends_with(SCHEME.as_bytes()));
    ends.find(holds).map_or(text.len(), |end| start + end - SCHEME.len())
}

/// Where a label that begins at `start` stops: at its `]`, at a backslash that
/// cannot stand there, or at the end of the text.
fn label_stop(text: &str, start: usize) -> usize {
    let mut from = start;
    while let Some(found) = memchr2(b']', b'\\', between(text, from, text.len()).as_bytes()) {
        let at = from + found;
        let mut chars = between(text, at, text.len()).chars();
        let escaped = chars.next().filter(|char| *char == '\\').and_then(|_| chars.next());
        match escaped {
            None | Some('\n' | '\r' | '\u{2028}' | '\u{2029}') => return at,
            Some(escaped) => from = at + 1 + escaped.len_utf8(),
        }
    }
    text.len()
}

/// Where a URI in brackets that begins before `start` stops: at its `)`, at
/// white space, or at the end of the text.
fn uri_stop(text: &str, start: usize) -> usize {
    let rest = between(text, start, text.len());
    rest.find(|char| char == ')' || is_space(char)).map_or(text.len(), |at| start + at)
}

/// White space as JavaScript's regular expressions see it.
fn is_space(char: char) -> bool {
    char == '\u{feff}' || (char.is_whitespace() && char != '\u{85}')
}

#[cfg(test)]
mod tests {
    use super::*;

    const U: &str = "dsh-session:ImFiYyI";

    fn readable(text: &str) -> String {
        parse(&text.replace('U', U)).unwrap().text.into_owned()
    }

    #[test]
    fn a_mention_reads_as_its_label() {
        assert_eq!(readable("see @[My chat](U) please"), "see @My chat please");
        assert_eq!(readable("see U, ok"), "see @abc, ok");
        assert_eq!(readable(r"@[a\]b](U)@[](U)"), "@a]b@");
    }

    #[test]
    fn what_is_no_mention_stays_text() {
        for text in ["@[x](https://a)", "dsh-session:", "dsh-session:%%%", "@[", r"@[a\"] {
            let parsed = parse(text).unwrap();
            assert!(matches!(parsed.text, Cow::Borrowed(same) if same == text));
            assert_eq!(parsed.references, []);
        }
    }

    #[test]
    fn a_failed_mention_still_holds_the_bare_uri_and_the_next_mention() {
        assert_eq!(readable("@[a] (U)"), "@[a] (@abc)");
        assert_eq!(readable("@[a](U @[b](U)"), "@[a](@abc @b");
        assert_eq!(readable("@[a\\\nb](U) @[c](U)"), "@[a\\\nb](@abc) @c");
    }

    #[test]
    fn a_uri_that_names_no_session_is_an_error() {
        for text in ["@[bad](dsh-session:%%%)", "dsh-session:IiJ", "UU"] {
            let text = text.replace('U', U);
            assert!(matches!(parse(&text), Err(Error::Mention { .. })), "{text}");
        }
    }

    #[test]
    fn a_formatted_mention_is_read_back() {
        for label in ["", "a]b", r"a\b", "](x)", "two\nlines", "@[in](dsh-session:IiI)"] {
            let reference =
                Reference { session: SessionId::new("abc"), label: Some(label.to_owned()) };
            assert_eq!(parse(&format(&reference)).unwrap().references, [reference]);
        }
    }

    /// A scanner that starts over at every beginning would look at thousands
    /// of millions of bytes here, and the test run would be noticed to hang.
    #[test]
    fn a_text_of_nothing_but_beginnings_is_read_once() {
        for piece in ["@[", "@[](dsh-session:", r"@[\a", "@[a](dsh-session:%", "dsh-session:."] {
            let text = piece.repeat((1 << 20) / piece.len());
            assert_eq!(parse(&text).unwrap().references, [], "{piece}");
        }
    }
}
