//! Titles: the latest of a log, and how a title is made of a text (contracts §4.4).

use thiserror::Error;

use crate::number::safe_count;
use crate::{Event, Json, Object};

/// A session's title as its log tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Title {
    /// What it reads; logged as it is, so it may be empty or hold control characters.
    pub title: String,
    /// The events of the messages that it was made from.
    pub messages: Vec<u64>,
    /// Who made it.
    pub source: TitleSource,
    /// The event that set it.
    pub seq: u64,
    /// When, in milliseconds since the Unix epoch.
    pub updated_at: i64,
}

/// Who made a title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TitleSource {
    /// The first words of the first prompt.
    Fallback,
    /// A model.
    Provider {
        /// Whose.
        provider: String,
        /// Which, where the log says so: its provider and its name.
        model: Option<(String, String)>,
    },
    /// The person, by renaming: no later automatic title replaces it.
    User,
}

/// The latest title of a log cannot be read.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the title of event {0} has a shape that nobody writes")]
pub struct TitleError(u64);

/// The latest title, event by event.
#[derive(Clone, Debug, Default)]
pub(crate) struct TitleFold {
    latest: Option<(u64, i64, Json)>,
}

impl TitleFold {
    pub(crate) fn push(&mut self, event: &Event) {
        if &*event.kind == "session/title" {
            self.latest = Some((event.seq, event.time, event.data.clone()));
        }
    }

    /// Where, when and as what the latest title was logged.
    pub(crate) fn latest(&self) -> Option<&(u64, i64, Json)> {
        self.latest.as_ref()
    }

    /// The latest title, whoever made it.
    pub(crate) fn title(&self) -> Result<Option<Title>, TitleError> {
        let Some((seq, time, data)) = &self.latest else { return Ok(None) };
        read(*seq, *time, data).map(Some).ok_or(TitleError(*seq))
    }
}

impl From<Option<(u64, i64, Json)>> for TitleFold {
    fn from(latest: Option<(u64, i64, Json)>) -> Self {
        Self { latest }
    }
}

fn read(seq: u64, updated_at: i64, data: &Json) -> Option<Title> {
    let data = data.object().ok()?;
    let seqs = data.get("messageSeqs")?;
    // Whatever JavaScript can spread, of which only places mean anything.
    let seqs = if seqs.is_string() { Vec::new() } else { data.list("messageSeqs")? };
    Some(Title {
        title: data.text("title")?.as_ref().to_owned(),
        messages: seqs.iter().filter_map(|seq| safe_count(seq.as_str())).collect(),
        source: source(&data.object("source")?)?,
        seq,
        updated_at,
    })
}

fn source(source: &Object<'_>) -> Option<TitleSource> {
    Some(match &*source.text("kind")? {
        "fallback" => TitleSource::Fallback,
        "user" => TitleSource::User,
        "provider" => TitleSource::Provider {
            provider: source.text("provider")?.as_ref().to_owned(),
            model: source.get("model").and_then(|model| {
                let model = model.object()?;
                Some((model.text("provider")?.to_string(), model.text("model")?.to_string()))
            }),
        },
        _ => return None,
    })
}

/// `text` as a title of at most `max_bytes` UTF-8 bytes: one line, without controls and escape sequences.
///
/// What would let a shown title deceive (direction marks, characters without width) goes too.
pub fn normalize_title(text: &str, max_bytes: usize) -> String {
    cut(&clean(text), max_bytes)
}

/// The first `max_words` words of `text` as a title of at most `max_bytes` UTF-8 bytes.
pub fn fallback_title(text: &str, max_words: usize, max_bytes: usize) -> String {
    let text = clean(text);
    let words: Vec<&str> =
        text.split(' ').filter(|word| !word.is_empty()).take(max_words).collect();
    cut(&words.join(" "), max_bytes)
}

fn cut(text: &str, max_bytes: usize) -> String {
    let end = text
        .char_indices()
        .map(|(at, char)| at + char.len_utf8())
        .take_while(|end| *end <= max_bytes);
    let text = text.get(..end.last().unwrap_or(0)).unwrap_or_default();
    text.trim_end_matches(is_space).to_owned()
}

fn clean(text: &str) -> String {
    let text = without_osc(text);
    let text = without_csi(&text);
    let text = without_escapes(&text);
    let mut clean = String::with_capacity(text.len());
    let visible = text.chars().filter(|char| !is_control(*char) && !is_invisible(*char));
    for char in visible {
        match is_space(char) {
            false => clean.push(char),
            true if clean.is_empty() || clean.ends_with(' ') => {}
            true => clean.push(' '),
        }
    }
    clean.truncate(clean.trim_end_matches(' ').len());
    clean
}

/// Without operating system commands, which reach to their end or to that of the text.
fn without_osc(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, body)) = split(rest, '\u{9d}', ']') {
        kept.push_str(before);
        rest = split(body, '\u{7}', '\\').map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    kept
}

/// What stands before and after the first control, which is either `single` or an escape with `second`.
fn split(text: &str, single: char, second: char) -> Option<(&str, &str)> {
    text.match_indices([single, '\u{1b}']).find_map(|(at, found)| {
        let (before, control) = text.split_at(at);
        let after = control.strip_prefix(found)?;
        match found.starts_with(single) {
            true => Some((before, after)),
            false => Some((before, after.strip_prefix(second)?)),
        }
    })
}

/// Without control sequences such as colours.
fn without_csi(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let body = rest.strip_prefix("\u{1b}[").or_else(|| rest.strip_prefix('\u{9b}'));
        if let Some(after) = body.and_then(after_csi) {
            rest = after;
        } else {
            kept.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
        }
    }
    kept
}

/// What follows the sequence whose introducer stood before `body`; none where it has no end.
fn after_csi(body: &str) -> Option<&str> {
    let body = body.trim_start_matches(|char| matches!(char, '0'..='?'));
    let body = body.trim_start_matches(|char| matches!(char, ' '..='/'));
    body.strip_prefix(|char| matches!(char, '@'..='~'))
}

/// Without the escape sequences of two characters that are left.
fn without_escapes(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        if char != '\u{1b}' || chars.next_if(|next| matches!(next, '@'..='_')).is_none() {
            kept.push(char);
        }
    }
    kept
}

/// A control that is no white space.
fn is_control(char: char) -> bool {
    matches!(char, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{9f}')
}

fn is_invisible(char: char) -> bool {
    matches!(
        char,
        '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}'
            | '\u{2066}'..='\u{206f}' | '\u{feff}'
    )
}

/// White space as JavaScript's `\s` has it, of which U+FEFF is not left here and U+0085 never was.
fn is_space(char: char) -> bool {
    char.is_whitespace() && char != '\u{85}'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, max_bytes: usize, title: &str) {
        assert_eq!(normalize_title(text, max_bytes), title);
    }

    #[test]
    fn a_title_is_one_visible_line() {
        check("  a \n b\t c ", 80, "a b c");
        check("\u{1b}[31mred\u{1b}[0m", 80, "red");
        check("\u{1b}]0;window\u{7}a", 80, "a");
        check("\u{1b}]0;never ends", 80, "");
        check("a\u{9d}x\u{1b}\\b\u{1b}Mc", 80, "abc");
        check("\u{202e}a\u{200b}b\u{feff}\0", 80, "ab");
        check("a\u{85}b", 80, "ab");
    }

    #[test]
    fn a_long_title_ends_on_a_character() {
        check("日本語テキスト", 8, "日本");
        check("😀😀", 5, "😀");
        check("ab cd", 3, "ab");
    }

    #[test]
    fn the_first_words_make_a_title() {
        assert_eq!(fallback_title("one two three four five six", 5, 40), "one two three four five");
        assert_eq!(fallback_title(&"x".repeat(60), 5, 40).len(), 40);
        assert_eq!(fallback_title("これは長い日本語の文章です、区切りなし", 5, 40).len(), 39);
    }
}
