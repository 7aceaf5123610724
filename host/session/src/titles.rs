//! The titles of many sessions at once: those that are open from memory, then what the index knows, then the logs.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures::StreamExt as _;
use futures::stream;

use crate::query::{SIDE_BY_SIDE, blocking};
use crate::root::KnownTitle;
use crate::{QueryError, SessionId, Sessions, StoreError, Title, TitleError};

type Answer = Result<Result<Option<Title>, TitleError>, QueryError>;

impl Sessions {
    /// The latest title of each session, in the order asked. One unreadable log fails its own entry alone.
    ///
    /// The root is walked through once, whatever the number of ids; logs are opened only where the store's index does
    /// not know them.
    pub async fn titles(&self, ids: &[SessionId]) -> Vec<Result<Option<Title>, QueryError>> {
        let mut answers: HashMap<SessionId, Answer> = HashMap::with_capacity(ids.len());
        let mut cold = Vec::new();
        let mut met = HashSet::with_capacity(ids.len());
        for id in ids.iter().filter(|id| met.insert(*id)) {
            match self.live(id) {
                Some(live) => drop(answers.insert(id.clone(), Ok(live.title()))),
                None => cold.push(id.clone()),
            }
        }
        for (id, answer) in self.cold_titles(cold).await {
            // It may have been opened, or come to be, in the meantime; what is open is newer.
            let answer = self.live(&id).map_or(answer, |live| Ok(live.title()));
            answers.insert(id, answer);
        }
        let titles = ids.iter().map(|id| {
            let title = answers.get(id).cloned().unwrap_or(Err(QueryError::GivenUp))?;
            title.map_err(|why| QueryError::Title { id: id.clone(), why })
        });
        titles.collect()
    }

    async fn cold_titles(&self, ids: Vec<SessionId>) -> Vec<(SessionId, Answer)> {
        if ids.is_empty() {
            return Vec::new();
        }
        let store = self.store.clone();
        let wanted: Arc<[SessionId]> = ids.into();
        let asked = wanted.clone();
        let known = match blocking(move || store.known_titles(&asked)).await {
            Ok(known) => known,
            Err(error) => {
                let why = QueryError::from(error);
                return wanted.iter().map(|id| (id.clone(), Err(why.clone()))).collect();
            }
        };
        let mut answers = Vec::with_capacity(wanted.len());
        let mut reads = Vec::new();
        for (id, known) in wanted.iter().cloned().zip(known) {
            match known {
                KnownTitle::Is(title) => answers.push((id, Ok(title.title()))),
                KnownTitle::Not(why) => answers.push((id, Err(why.into()))),
                KnownTitle::In(log) => reads.push((id, log)),
            }
        }
        if reads.is_empty() {
            return answers;
        }
        let reads = reads.into_iter().map(|(id, log)| {
            let (store, wanted) = (self.store.clone(), id.clone());
            async move {
                let answer = blocking(move || store.read_title(&wanted, &log)).await;
                (id, answer.map_err(QueryError::from))
            }
        });
        let read: Vec<_> = stream::iter(reads).buffer_unordered(SIDE_BY_SIDE).collect().await;
        answers.extend(read);
        let store = self.store.clone();
        // Given up only when the runtime shuts down: then the next process reads the same logs again.
        let save = move || {
            store.save_index();
            Ok(())
        };
        drop::<Result<(), StoreError>>(blocking(save).await);
        answers
    }
}
