//! The seam `mentions`: what a person can complete with `@`.

use crate::bindings::exports::mentions as wit;
use crate::error::{CallError, Cause};
use crate::plugin::Plugin;
use crate::services::Services;

const CANDIDATES: &str = "dsh:agent/mentions.candidates";

/// The session that is being written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its id.
    pub session: String,
    /// Its absolute working directory.
    pub cwd: Option<String>,
}

/// A session that can be mentioned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its id.
    pub session: String,
    /// Its title, or its id where it has none. Text of a session: show it with control characters made visible.
    pub label: String,
    /// Its absolute working directory.
    pub cwd: Option<String>,
    /// Milliseconds since the Unix epoch.
    pub created_at: u64,
    /// What goes into the prompt.
    pub mention: String,
}

impl Plugin {
    /// Sessions that match `query`, best first, at most `limit` (the plugin's own number where none is given).
    ///
    /// # Errors
    ///
    /// The plugin's own failure, or whatever else ended the call.
    pub async fn candidates(
        &self,
        services: &Services,
        target: &Target,
        query: &str,
        limit: Option<u32>,
    ) -> Result<Vec<Candidate>, CallError> {
        let session = target.session.clone();
        let target = wit::Target { session: target.session.clone(), cwd: target.cwd.clone() };
        let (this, query) = (self.clone(), query.to_owned());
        let found = self
            .call(
                self.state(services, Some(&session)),
                services,
                CANDIDATES,
                move |store, instance| {
                    Box::pin(async move {
                        let Some(seam) = &this.seams().mentions else {
                            return Ok(Err(Cause::NotExported));
                        };
                        let guest = seam.load(&mut *store, &instance)?;
                        let found =
                            guest.call_candidates(&mut *store, &target, &query, limit).await?;
                        let state = store.data_mut();
                        match found {
                            Ok(found) => {
                                state.output(found.iter().map(bytes).sum())?;
                                Ok(Ok(found))
                            }
                            Err(failure) => Ok(Err(Cause::Failed(state.failure(failure)?))),
                        }
                    })
                },
            )
            .await?;
        Ok(found.into_iter().map(Candidate::from).collect())
    }
}

fn bytes(candidate: &wit::Candidate) -> usize {
    let wit::Candidate { session, label, cwd, mention, .. } = candidate;
    let texts = [session, label, mention].into_iter().chain(cwd);
    size_of::<wit::Candidate>() + texts.map(String::len).sum::<usize>()
}

impl From<wit::Candidate> for Candidate {
    fn from(candidate: wit::Candidate) -> Candidate {
        let wit::Candidate { session, label, cwd, created_at, mention } = candidate;
        Candidate { session, label, cwd, created_at, mention }
    }
}
