//! A store behind the scopes that were granted: where they are enforced, and nowhere else.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use async_trait::async_trait;

use crate::error::Failure;
use crate::scope::{Scope, SessionScopes};
use crate::session::{Asker, Header, OwnNote, Sessions, Surface};

/// The embedder's sessions, as far as a plugin's scopes reach.
///
/// What is out of scope is never asked of the store, and neither is what does not exist where the scope is narrower
/// than all: the two take the same way and give the same answer. The store's own words for a session that it does not
/// have are replaced, for they would tell it from one that is only hidden.
pub(crate) struct Scoped {
    sessions: Arc<dyn Sessions>,
    scopes: SessionScopes,
}

/// The sessions that a read reaches.
enum Reach {
    All,
    These(HashSet<String>),
}

impl Reach {
    fn has(&self, id: &str) -> bool {
        match self {
            Reach::All => true,
            Reach::These(ids) => ids.contains(id),
        }
    }

    /// Those of `ids` that it reaches, in their order.
    fn among<'a>(&self, ids: &'a [String]) -> Cow<'a, [String]> {
        match self {
            Reach::All => Cow::Borrowed(ids),
            Reach::These(_) => ids.iter().filter(|id| self.has(id)).cloned().collect(),
        }
    }
}

impl Scoped {
    pub(crate) fn new(sessions: Arc<dyn Sessions>, scopes: SessionScopes) -> Scoped {
        Scoped { sessions, scopes }
    }

    /// How far `scope` reaches for `asker`. Headers are read only where they decide it.
    async fn reach(&self, scope: Scope, asker: &Asker) -> Result<Reach, Failure> {
        match (scope, &asker.session) {
            (Scope::Lineage | Scope::SameCwd, Some(_)) => {
                Ok(reach(scope, asker, &self.sessions.list(asker).await?))
            }
            _ => Ok(reach(scope, asker, &[])),
        }
    }
}

/// How far `scope` reaches for `asker` in a store with these sessions.
fn reach(scope: Scope, asker: &Asker, headers: &[Header]) -> Reach {
    let ids = match (scope, &asker.session) {
        (Scope::All, _) => return Reach::All,
        (Scope::None, _) | (_, None) => HashSet::new(),
        (Scope::Own, Some(own)) => [own.clone()].into(),
        (Scope::Lineage, Some(own)) => lineage(own, headers),
        (Scope::SameCwd, Some(own)) => same_cwd(own, headers),
    };
    Reach::These(ids)
}

/// `own`, its ancestors and its descendants. Headers that name each other as parents are no endless way.
fn lineage(own: &str, headers: &[Header]) -> HashSet<String> {
    let (mut parents, mut forks) = (HashMap::new(), HashMap::<&str, Vec<&str>>::new());
    for header in headers {
        if let Some(parent) = &header.parent {
            parents.insert(header.id.as_str(), parent.as_str());
            forks.entry(parent).or_default().push(&header.id);
        }
    }
    let mut ancestors = HashSet::new();
    let mut next = Some(own);
    while let Some(id) = next.filter(|id| ancestors.insert(*id)) {
        next = parents.get(id).copied();
    }
    let mut descendants = HashSet::new();
    let mut unseen = vec![own];
    while let Some(id) = unseen.pop() {
        if descendants.insert(id) {
            unseen.extend(forks.get(id).into_iter().flatten());
        }
    }
    ancestors.union(&descendants).map(|id| (*id).to_owned()).collect()
}

/// `own`, and whatever has its working directory.
fn same_cwd(own: &str, headers: &[Header]) -> HashSet<String> {
    let cwd = headers.iter().find(|header| header.id == own).and_then(|header| header.cwd.as_ref());
    let same = headers.iter().filter(|header| cwd.is_some() && header.cwd.as_ref() == cwd);
    same.map(|header| header.id.clone()).chain([own.to_owned()]).collect()
}

/// The answers at the places of the ids that were asked, and one and the same for every id that has none to give.
fn placed<T>(
    ids: &[String],
    reach: &Reach,
    answers: Vec<Result<T, Failure>>,
) -> Vec<Result<T, Failure>> {
    let mut answers = answers.into_iter();
    let place = |id: &String| {
        if !reach.has(id) {
            return Err(not_found(id));
        }
        answers.next().unwrap_or_else(|| Err(unanswered())).map_err(|err| hidden(id, err))
    };
    ids.iter().map(place).collect()
}

fn not_found(id: &str) -> Failure {
    Failure::new("not-found", format!("there is no session \"{id}\""))
}

/// The store's failure, in the host's words where there is no such session.
fn hidden(id: &str, failure: Failure) -> Failure {
    if failure.code == "not-found" { not_found(id) } else { failure }
}

/// What a store that is not there, or that leaves an entry out, comes down to.
pub(crate) fn unanswered() -> Failure {
    Failure::new("unavailable", "the session store gave no answer")
}

#[async_trait]
impl Sessions for Scoped {
    async fn list(&self, asker: &Asker) -> Result<Vec<Header>, Failure> {
        if self.scopes.titles == Scope::None {
            return Ok(Vec::new());
        }
        let mut headers = self.sessions.list(asker).await?;
        let reach = reach(self.scopes.titles, asker, &headers);
        headers.retain(|header| reach.has(&header.id));
        Ok(headers)
    }

    async fn titles(&self, asker: &Asker, ids: &[String]) -> Vec<Result<Option<String>, Failure>> {
        let reach = match self.reach(self.scopes.titles, asker).await {
            Ok(reach) => reach,
            Err(failure) => return vec![Err(failure); ids.len()],
        };
        let asked = reach.among(ids);
        let titles =
            if asked.is_empty() { Vec::new() } else { self.sessions.titles(asker, &asked).await };
        placed(ids, &reach, titles)
    }

    async fn surfaces(
        &self,
        asker: &Asker,
        ids: &[String],
    ) -> Vec<Result<Arc<dyn Surface>, Failure>> {
        let reach = match self.reach(self.scopes.texts, asker).await {
            Ok(reach) => reach,
            Err(failure) => return ids.iter().map(|_| Err(failure.clone())).collect(),
        };
        let asked = reach.among(ids);
        let surfaces =
            if asked.is_empty() { Vec::new() } else { self.sessions.surfaces(asker, &asked).await };
        placed(ids, &reach, surfaces)
    }

    async fn own_notes(&self, asker: &Asker, id: &str) -> Result<Vec<OwnNote>, Failure> {
        if !self.reach(self.scopes.texts, asker).await?.has(id) {
            return Err(not_found(id));
        }
        self.sessions.own_notes(asker, id).await.map_err(|err| hidden(id, err))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(id: &str, parent: Option<&str>) -> Header {
        Header { id: id.to_owned(), parent: parent.map(str::to_owned), ..Header::default() }
    }

    #[test]
    fn a_lineage_has_ancestors_and_descendants_and_no_siblings() {
        let headers = [
            header("me", Some("mother")),
            header("mother", Some("grandmother")),
            header("grandmother", None),
            header("sister", Some("mother")),
            header("child", Some("me")),
            header("grandchild", Some("child")),
        ];
        let expected = ["me", "mother", "grandmother", "child", "grandchild"].map(str::to_owned);
        assert_eq!(lineage("me", &headers), HashSet::from(expected));
    }

    #[test]
    fn sessions_that_are_each_others_parents_are_one_lineage() {
        let headers = [header("a", Some("b")), header("b", Some("a")), header("c", Some("c"))];
        assert_eq!(lineage("a", &headers), ["a", "b"].map(str::to_owned).into());
        assert_eq!(lineage("c", &headers), ["c".to_owned()].into());
    }

    #[test]
    fn sessions_without_a_directory_have_none_in_common() {
        let headers = [header("a", None), header("b", None)];
        assert_eq!(same_cwd("a", &headers), ["a".to_owned()].into());
    }
}
