//! The side sessions of a session, with what became of each.

/// What became of a side session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// No note of it stands in the session that it was opened on.
    Open,
    /// A note of it does.
    Merged,
    /// Its last note was withdrawn.
    Withdrawn,
}

impl Mark {
    /// The mark of a side session with these notes, in order, of each whether it was withdrawn.
    pub fn of(withdrawn: impl Iterator<Item = bool>) -> Self {
        match withdrawn.last() {
            None => Self::Open,
            Some(false) => Self::Merged,
            Some(true) => Self::Withdrawn,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Merged => "merged",
            Self::Withdrawn => "withdrawn",
        }
    }
}

/// A side session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its id.
    pub session: String,
    /// Its title; none where it has none.
    pub title: Option<String>,
    /// What became of it.
    pub mark: Mark,
}

/// The list as a person reads it, one line for each.
pub fn text(listed: &[Listed]) -> String {
    if listed.is_empty() {
        return "There is no side session of this session; /side opens one.".to_owned();
    }
    let line = |Listed { session, title, mark }: &Listed| {
        // A title is one line, whatever a model made of it.
        let title = title.as_deref().unwrap_or("(no title)").replace(['\n', '\r'], " ");
        format!("{:<10} {session}  {title}", mark.word())
    };
    listed.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn side_session_is_marked_by_its_last_note() {
        assert_eq!(Mark::of([].into_iter()), Mark::Open);
        assert_eq!(Mark::of([false].into_iter()), Mark::Merged);
        assert_eq!(Mark::of([false, true].into_iter()), Mark::Withdrawn);
        assert_eq!(Mark::of([true, false].into_iter()), Mark::Merged);
    }

    #[test]
    fn side_sessions_are_listed_one_a_line() {
        let listed = |session: &str, title: Option<&str>, mark| Listed {
            session: session.to_owned(),
            title: title.map(str::to_owned),
            mark,
        };
        let text = text(&[
            listed("s1", Some("Why\nso slow"), Mark::Merged),
            listed("s2", None, Mark::Open),
        ]);
        assert_eq!(text, "merged     s1  Why so slow\nopen       s2  (no title)");
        assert!(super::text(&[]).contains("/side"));
    }
}
