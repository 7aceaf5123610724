//! What a change does to a text, as a unified diff.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

/// How long the smallest difference is looked for; past it, a larger one is right too.
const PATIENCE: Duration = Duration::from_millis(500);

/// A unified diff with three lines of context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diff {
    /// From `---` to the last line; empty where nothing changes.
    pub text: String,
    /// Lines that come.
    pub added: usize,
    /// Lines that go.
    pub removed: usize,
}

impl Diff {
    /// What turns `before` into `after`; none before is a new file.
    ///
    /// Where every line of both ends in CRLF, the diff leaves that out.
    pub fn of(path: &str, before: Option<&str>, after: &str) -> Self {
        let old = before.unwrap_or_default();
        let plain = all_crlf(after) && before.is_none_or(all_crlf);
        let (old, new) = if plain {
            (old.replace("\r\n", "\n"), after.replace("\r\n", "\n"))
        } else {
            (old.to_owned(), after.to_owned())
        };
        let mut config = TextDiff::configure();
        let diff = config.timeout(PATIENCE).diff_lines(&old, &new);
        let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
        let from = before.map_or("/dev/null".to_owned(), |_| format!("a/{path}"));
        let text =
            diff.unified_diff().context_radius(3).header(&from, &format!("b/{path}")).to_string();
        Self { added: count(ChangeTag::Insert), removed: count(ChangeTag::Delete), text }
    }
}

/// Whether there are lines, and each ends in CRLF.
pub(crate) fn all_crlf(text: &str) -> bool {
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).count();
    ends > 0 && text.matches("\r\n").count() == ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: Option<&str>, after: &str, text: &str) {
        assert_eq!(Diff::of("f", before, after).text, text);
    }

    #[test]
    fn a_changed_line_shows_with_its_neighbours() {
        let expected = "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n";
        check(Some("a\nb\nc\n"), "a\nx\nc\n", expected);
    }

    #[test]
    fn a_missing_last_newline_shows() {
        let expected = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n";
        check(Some("a"), "a\n", expected);
    }

    #[test]
    fn a_new_file_comes_from_nowhere() {
        check(None, "é\n", "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+é\n");
    }

    #[test]
    fn a_file_in_crlf_differs_by_its_lines_only() {
        check(Some("a\r\nb\r\n"), "a\r\nx\r\n", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+x\n");
        let mixed = Diff::of("f", Some("a\r\nb\n"), "a\nb\n");
        assert!(mixed.text.contains("-a\r\n+a\n"), "{}", mixed.text);
    }

    #[test]
    fn lines_are_counted() {
        let diff = Diff::of("f", Some("a\nb\n"), "a\nc\nd\n");
        assert_eq!((diff.added, diff.removed), (2, 1));
        assert_eq!(Diff::of("f", Some("a\n"), "a\n").text, "");
    }
}
