//! Our sessions, as plugins may read them.

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use dsh_plugin_host as host;
use dsh_plugin_host::{Asker, Failure};
use dsh_session::{Block, Node, NodeRole, QueryError, SessionId, Sessions, Surface};

use super::pre_step::spoken_for;

/// Reads sessions on behalf of plugins.
pub struct Reader {
    sessions: Sessions,
}

impl Reader {
    /// Reads these.
    pub fn new(sessions: Sessions) -> Self {
        Self { sessions }
    }
}

#[async_trait]
impl host::Sessions for Reader {
    async fn list(&self, _: &Asker) -> Result<Vec<host::Header>, Failure> {
        let records = self.sessions.list().await.map_err(|err| failure(&err))?;
        Ok(records.sessions.iter().map(|record| header(&record.header)).collect())
    }

    async fn titles(&self, _: &Asker, ids: &[String]) -> Vec<Result<Option<String>, Failure>> {
        let (known, places) = known(ids);
        let titles = self.sessions.titles(&known).await;
        let titles = titles.into_iter().map(|title| match title {
            Ok(title) => Ok(title.map(|title| title.title)),
            Err(err) => Err(failure(&err)),
        });
        placed(places, titles)
    }

    async fn surfaces(
        &self,
        _: &Asker,
        ids: &[String],
    ) -> Vec<Result<Arc<dyn host::Surface>, Failure>> {
        let (known, places) = known(ids);
        let observations = self.sessions.surfaces(&known).await;
        let surfaces = observations.into_iter().map(|observation| match observation {
            Ok(observation) => {
                let header = header(&observation.header);
                let surface: Arc<dyn host::Surface> =
                    Arc::new(Observed { header, surface: observation.surface });
                Ok(surface)
            }
            Err(err) => Err(failure(&err)),
        });
        placed(places, surfaces)
    }

    async fn own_notes(&self, asker: &Asker, id: &str) -> Result<Vec<host::OwnNote>, Failure> {
        let Some(id) = SessionId::from_escaped(id) else { return Err(unknown(id)) };
        let notes =
            self.sessions.own_notes(&id, &asker.plugin).await.map_err(|err| failure(&err))?;
        let notes = notes.into_iter().map(|note| host::OwnNote {
            seq: note.seq,
            message: note.message.to_string(),
            facts: note.source.facts.as_str().to_owned(),
        });
        Ok(notes.collect())
    }
}

/// The ids that some session may have, and for each asked one its place among them or why it has none.
fn known(ids: &[String]) -> (Vec<SessionId>, Vec<Option<String>>) {
    let mut known = Vec::new();
    let strangers = ids.iter().map(|id| match SessionId::from_escaped(id) {
        Some(session) => {
            known.push(session);
            None
        }
        None => Some(id.clone()),
    });
    let strangers = strangers.collect();
    (known, strangers)
}

/// The answers at the places of the ids that were asked, with `not-found` where an id is none.
fn placed<T>(
    strangers: Vec<Option<String>>,
    mut answers: impl Iterator<Item = Result<T, Failure>>,
) -> Vec<Result<T, Failure>> {
    let gone = || Err(Failure::new("unavailable", "the store gave no answer"));
    let places = strangers.into_iter().map(|stranger| match stranger {
        Some(id) => Err(unknown(&id)),
        None => answers.next().unwrap_or_else(gone),
    });
    places.collect()
}

fn unknown(id: &str) -> Failure {
    Failure::new("not-found", format!("there is no session \"{id}\""))
}

fn failure(err: &QueryError) -> Failure {
    let code = match err {
        QueryError::NotFound(_) => "not-found",
        QueryError::Unreadable(_) | QueryError::Title { .. } | QueryError::Conflict(_) => {
            "unreadable"
        }
        _ => "unavailable",
    };
    Failure::new(code, err.to_string())
}

fn header(header: &dsh_session::Header) -> host::Header {
    host::Header {
        id: header.id.escaped().to_owned(),
        created_at: header.created_at,
        cwd: header.cwd.clone(),
        parent: header.parent.as_ref().map(|parent| parent.escaped().to_owned()),
        seed_length: header.seed_length,
        extra: header.extra.as_ref().map(|extra| extra.as_str().to_owned()),
    }
}

/// One observation.
struct Observed {
    header: host::Header,
    surface: Surface,
}

impl Observed {
    fn at(&self, index: u32) -> Option<&Node> {
        Some(self.surface.nodes().get(usize::try_from(index).ok()?)?)
    }
}

impl host::Surface for Observed {
    fn header(&self) -> &host::Header {
        &self.header
    }

    fn captured_through(&self) -> Option<u64> {
        self.surface.captured_through()
    }

    fn length(&self) -> u32 {
        u32::try_from(self.surface.nodes().len()).unwrap_or(u32::MAX)
    }

    fn node(&self, index: u32) -> Option<host::Node> {
        let node = self.at(index)?;
        let role = match node.role {
            NodeRole::User => host::Role::User,
            NodeRole::Assistant => host::Role::Assistant,
            NodeRole::Tool => host::Role::Tool,
        };
        let source = spoken_for(node.message.source());
        Some(host::Node { seq: node.seq, role, source, text_bytes: node.text_bytes as u64 })
    }

    fn text(&self, index: u32) -> Option<Cow<'_, str>> {
        let message = &self.at(index)?.message;
        let mut texts = message.blocks().iter().filter_map(Block::text);
        Some(match (texts.next(), texts.next()) {
            (None, _) => Cow::Borrowed(""),
            (Some(only), None) => Cow::Borrowed(only),
            _ => Cow::Owned(message.text()),
        })
    }
}
