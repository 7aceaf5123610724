//! Text that is looked for whatever its case.

use memchr::memchr2_iter;

/// What a person has typed to find a session.
pub(crate) struct Query {
    lower: String,
}

impl Query {
    /// A search for `text`; the empty one finds everything.
    pub(crate) fn new(text: &str) -> Self {
        Self { lower: text.to_lowercase() }
    }

    /// Whether `text` holds it.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        // Only outside of ASCII does a text change its length with its case.
        if !text.is_ascii() {
            return text.to_lowercase().contains(&self.lower);
        }
        let Some((first, rest)) = self.lower.as_bytes().split_first() else { return true };
        let text = text.as_bytes();
        memchr2_iter(*first, first.to_ascii_uppercase(), text).any(|at| {
            let after = text.get(at + 1..).and_then(|after| after.get(..rest.len()));
            after.is_some_and(|after| after.eq_ignore_ascii_case(rest))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Query;

    #[test]
    fn case_makes_no_difference() {
        for (query, text) in [
            ("", ""),
            ("", "x"),
            ("fix", "Prefix"),
            ("FIX", "a fi fix"),
            ("ÄRGER", "viel ärger"),
            ("k", "\u{212a}"),
            ("\u{212a}", "ok"),
            ("i\u{307}", "\u{130}"),
        ] {
            assert!(Query::new(query).is_in(text), "{query:?} in {text:?}");
        }
        for (query, text) in [("fix", ""), ("fix", "fi"), ("fix", "xfi x"), ("ä", "a"), ("@", "`")]
        {
            assert!(!Query::new(query).is_in(text), "{query:?} in {text:?}");
        }
    }
}
