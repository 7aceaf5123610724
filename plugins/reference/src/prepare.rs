//! From references to snapshots, for several messages at once: all of it or nothing.

use std::collections::BTreeSet;

use crate::config::Config;
use crate::error::Error;
use crate::id::SessionId;
use crate::mention::Reference;
use crate::snapshot::{Snapshot, snapshot};
use crate::surface::Surface;

/// Where surfaces are read.
pub trait Sessions {
    /// One observation of a session.
    type Surface: Surface;
    /// One observation of each session, in the order asked, or what the host
    /// said why there is none.
    fn read_surfaces(&self, sessions: &[SessionId]) -> Vec<Result<Self::Surface, String>>;
}

/// The snapshot of each message's references, with all sessions read at once;
/// none for a message without references.
///
/// # Errors
///
/// The first refusal: of a message's references, then of a read, then of a budget.
pub fn prepare<S: Sessions>(
    sessions: &S,
    target: &SessionId,
    messages: Vec<Vec<Reference>>,
    config: &Config,
) -> Result<Vec<Option<Snapshot>>, Error> {
    let messages = messages.into_iter().map(|cited| normalize(target, cited, config));
    let messages = messages.collect::<Result<Vec<_>, _>>()?;
    let cited: Vec<_> = messages.iter().flatten().map(|cited| cited.session.clone()).collect();
    if cited.is_empty() {
        return Ok(messages.iter().map(|_| None).collect());
    }
    let mut surfaces = Vec::with_capacity(cited.len());
    for (reference, read) in messages.iter().flatten().zip(sessions.read_surfaces(&cited)) {
        let label = || reference.label_text().into_owned();
        surfaces.push(read.map_err(|cause| Error::Read { label: label(), cause })?);
    }
    let mut surfaces = surfaces.into_iter();
    let snapshots = messages.into_iter().map(|cited| {
        // A session that is cited again has another observation: each is used once.
        let cited: Vec<_> = cited.into_iter().zip(surfaces.by_ref()).collect();
        let some = !cited.is_empty();
        some.then(|| snapshot(cited, config.max_reference_bytes)).transpose()
    });
    snapshots.collect()
}

/// The distinct references of one message: of several to a session the first stands.
fn normalize(
    target: &SessionId,
    cited: Vec<Reference>,
    config: &Config,
) -> Result<Vec<Reference>, Error> {
    let mut seen = BTreeSet::new();
    let mut distinct = Vec::new();
    for reference in cited {
        if reference.session == *target {
            return Err(Error::Itself);
        }
        if seen.insert(reference.session.clone()) {
            distinct.push(reference);
        }
    }
    if distinct.len() as u64 > config.max_references {
        return Err(Error::TooMany { found: distinct.len(), most: config.max_references });
    }
    Ok(distinct)
}
