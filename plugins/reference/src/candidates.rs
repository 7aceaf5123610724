//! Sessions that a person can mention, the likeliest first.

use crate::id::SessionId;
use crate::mention::{self, Reference};
use crate::search::Query;

/// Most sessions whose titles are asked for at once.
const PAGE: usize = 256;

/// A session that could be mentioned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Its absolute working directory; none where it has none.
    pub cwd: Option<String>,
    /// Milliseconds since the Unix epoch.
    pub created_at: u64,
}

/// A session to offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The session.
    pub session: Session,
    /// Its title; none where it has none, or none that can be read: its id stands for it.
    pub title: Option<String>,
}

impl Candidate {
    /// Its title, or its id where it has none.
    pub fn label(&self) -> String {
        self.title.clone().unwrap_or_else(|| self.session.id.to_text().into_owned())
    }

    /// The text that a client puts into the prompt.
    pub fn mention(&self) -> String {
        mention::format(&Reference { session: self.session.id.clone(), label: self.title.clone() })
    }

    /// Whether its id, directory or title holds what `query` looks for.
    fn holds(&self, query: &Query) -> bool {
        query.is_in(&self.session.id.to_text())
            || self.session.cwd.as_deref().is_some_and(|cwd| query.is_in(cwd))
            || self.title.as_deref().is_some_and(|title| query.is_in(title))
    }
}

/// At most `limit` sessions of `sessions` whose id, directory or title holds
/// `query`, whatever its case: those of the target's directory first, then
/// those without one, then the others, each in the order given. The target
/// itself is none. `titles` reads a page of titles, in the order asked.
pub fn candidates(
    target: &Session,
    mut sessions: Vec<Session>,
    query: &str,
    limit: usize,
    mut titles: impl FnMut(&[Session]) -> Vec<Option<String>>,
) -> Vec<Candidate> {
    sessions.retain(|session| session.id != target.id);
    if query.is_empty() {
        sessions = likeliest(sessions, limit, |session| rank(target, session));
    }
    let query = Query::new(query);
    let mut found = Vec::new();
    let mut rest = sessions.into_iter();
    loop {
        let page: Vec<_> = rest.by_ref().take(PAGE).collect();
        if page.is_empty() {
            break;
        }
        let titles = titles(&page);
        let page =
            page.into_iter().zip(titles).map(|(session, title)| Candidate { session, title });
        found.extend(page.filter(|candidate| candidate.holds(&query)));
    }
    likeliest(found, limit, |candidate| rank(target, &candidate.session))
}

/// How likely a session is meant while `target` is written to.
enum Rank {
    /// In the target's directory.
    Beside,
    /// In none.
    Nowhere,
    /// In another one.
    Elsewhere,
}

fn rank(target: &Session, session: &Session) -> Rank {
    match &session.cwd {
        Some(cwd) if target.cwd.as_ref() == Some(cwd) => Rank::Beside,
        None => Rank::Nowhere,
        Some(_) => Rank::Elsewhere,
    }
}

/// At most `limit` of `all`, the likeliest first, and of equally likely ones the first. A rank is asked for once:
/// to sort thousands would compare their directories over and over.
fn likeliest<T>(all: Vec<T>, limit: usize, rank: impl Fn(&T) -> Rank) -> Vec<T> {
    let [mut beside, mut nowhere, mut elsewhere] = [const { Vec::new() }; 3];
    for each in all {
        let equals = match rank(&each) {
            Rank::Beside => &mut beside,
            Rank::Nowhere => &mut nowhere,
            Rank::Elsewhere => &mut elsewhere,
        };
        if equals.len() < limit {
            equals.push(each);
        }
    }
    beside.into_iter().chain(nowhere).chain(elsewhere).take(limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(id: &str, cwd: Option<&str>) -> Session {
        Session { id: SessionId::new(id), cwd: cwd.map(str::to_owned), created_at: 0 }
    }

    fn ids(found: &[Candidate]) -> Vec<&str> {
        found.iter().map(|candidate| candidate.session.id.as_str()).collect()
    }

    #[test]
    fn the_same_directory_comes_first_and_the_target_never() {
        let target = session("me", Some("/w"));
        let all = vec![
            session("other", Some("/x")),
            session("none", None),
            target.clone(),
            session("same", Some("/w")),
        ];
        let found = candidates(&target, all.clone(), "", 9, |page| vec![None; page.len()]);
        assert_eq!(ids(&found), ["same", "none", "other"]);
        let homeless = session("me", None);
        let found = candidates(&homeless, all, "", 9, |page| vec![None; page.len()]);
        assert_eq!(ids(&found), ["none", "other", "same"]);
    }

    #[test]
    fn of_equally_likely_sessions_the_first_are_kept() {
        let target = session("me", Some("/w"));
        let cwds = [None, Some("/w"), Some("/x")];
        let named = |n: usize| session(&format!("s{n}"), cwds[n % 3]);
        let all: Vec<_> = (0..9).map(named).collect();
        for query in ["", "s"] {
            let found = candidates(&target, all.clone(), query, 5, |page| vec![None; page.len()]);
            assert_eq!(ids(&found), ["s1", "s4", "s7", "s0", "s3"], "{query:?}");
        }
    }

    #[test]
    fn titles_are_read_page_by_page_and_only_as_needed() {
        let all: Vec<_> = (0..1_000).map(|n| session(&format!("s{n}"), None)).collect();
        let mut pages = Vec::new();
        let mut read = |page: &[Session]| {
            pages.push(page.len());
            page.iter().map(|session| Some(format!("Title of {}", session.id.as_str()))).collect()
        };
        let target = session("me", None);
        assert_eq!(candidates(&target, all.clone(), "", 3, &mut read).len(), 3);
        let found = candidates(&target, all, "TITLE OF S99", 50, &mut read);
        assert_eq!(found.len(), 11);
        assert_eq!(pages, [3, 256, 256, 256, 232]);
    }
}
