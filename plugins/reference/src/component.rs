//! The component: the seams that this plugin stands in, over the WIT.

use dsh_plugin::{
    Block, Decision, Edit, Failure, Mentions, Message, PreStep, References, Source, Step, mentions,
    next, query, references,
};

use crate::candidates::{self, Session};
use crate::config::Config;
use crate::error::Error;
use crate::id::SessionId;
use crate::mention::{self, Reference};
use crate::prepare::{self, Sessions};
use crate::snapshot::Snapshot;
use crate::surface::{Node, Speaker, Surface};

struct SessionReference;

dsh_plugin::export!(SessionReference: PreStep, Mentions, References);

impl PreStep for SessionReference {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        match next(batch)? {
            Decision::Enter(messages) => Ok(Decision::Enter(with_snapshots(messages)?)),
            rejected => Ok(rejected),
        }
    }
}

/// The messages with each citing one made readable and followed by its snapshot.
fn with_snapshots(messages: Vec<Message>) -> Result<Vec<Message>, Failure> {
    let read = messages.iter().map(Citation::read).collect::<Result<Vec<_>, _>>()?;
    let (cited, edits): (Vec<_>, Vec<_>) =
        read.into_iter().map(|citation| (citation.references, citation.edits)).unzip();
    if cited.iter().all(Vec::is_empty) {
        return Ok(messages);
    }
    let target = Step::current().map(|step| SessionId::new(step.session()));
    let target = target.ok_or_else(|| Failure {
        code: "no-step".into(),
        message: "session-reference was called outside a step".into(),
        details: None,
    })?;
    let snapshots = prepare::prepare(&Host, &target, cited, &settings()?)?;
    let mut entered = Vec::with_capacity(messages.len());
    for ((message, edits), snapshot) in messages.into_iter().zip(edits).zip(snapshots) {
        match snapshot {
            None => entered.push(message),
            Some(Snapshot { text, facts }) => {
                entered.push(message.with_texts(&edits)?);
                entered.push(Message::context(&[Block::Text(text)], &facts)?);
            }
        }
    }
    Ok(entered)
}

/// What one message cites.
#[derive(Default)]
struct Citation {
    references: Vec<Reference>,
    /// The texts with their mentions made readable.
    edits: Vec<Edit>,
}

impl Citation {
    /// Only the person cites: the text of a plugin's message is never looked at.
    fn read(message: &Message) -> Result<Self, Error> {
        let mut citation = Self::default();
        if !matches!(message.source(), Source::User) {
            return Ok(citation);
        }
        for (index, text) in (0..).zip(message.texts()) {
            let Some(text) = text else { continue };
            let parsed = mention::parse(&text)?;
            if !parsed.references.is_empty() {
                citation.references.extend(parsed.references);
                citation.edits.push(Edit { index, text: parsed.text.into_owned() });
            }
        }
        Ok(citation)
    }
}

impl References for SessionReference {
    fn parse(text: String) -> Result<references::Parsed, Failure> {
        let parsed = mention::parse(&text)?;
        let references = parsed.references.into_iter().map(|reference| references::Reference {
            session: reference.session.into_string(),
            label: reference.label,
        });
        Ok(references::Parsed { references: references.collect(), text: parsed.text.into_owned() })
    }

    fn format(reference: references::Reference) -> String {
        mention::format(&reference.into())
    }

    fn prepare(
        target: String,
        content: Vec<Block>,
        references: Vec<references::Reference>,
    ) -> Result<references::Prepared, Failure> {
        let cited = vec![references.into_iter().map(Reference::from).collect()];
        let snapshots = prepare::prepare(&Host, &SessionId::new(target), cited, &settings()?)?;
        let snapshot = snapshots.into_iter().flatten().next();
        let snapshot = snapshot.map(|Snapshot { text, facts }| references::Snapshot {
            content: vec![Block::Text(text)],
            facts,
        });
        Ok(references::Prepared { content, snapshot })
    }
}

impl Mentions for SessionReference {
    fn candidates(
        target: mentions::Target,
        query: String,
        limit: Option<u32>,
    ) -> Result<Vec<mentions::Candidate>, Failure> {
        let limit = match limit {
            Some(0) => return Err(Error::Limit.into()),
            Some(limit) => u64::from(limit),
            None => settings()?.candidate_limit,
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let target = Session { id: SessionId::new(target.session), cwd: target.cwd, created_at: 0 };
        let sessions = query::list_sessions()?.into_iter().map(|header| Session {
            id: SessionId::new(header.id),
            cwd: header.cwd,
            created_at: header.created_at,
        });
        let found = candidates::candidates(&target, sessions.collect(), &query, limit, read_titles);
        let found = found.into_iter().map(|candidate| mentions::Candidate {
            label: candidate.label(),
            mention: candidate.mention(),
            session: candidate.session.id.into_string(),
            cwd: candidate.session.cwd,
            created_at: candidate.session.created_at,
        });
        Ok(found.collect())
    }
}

/// The titles of sessions; none for one that has none or cannot be read.
fn read_titles(sessions: &[Session]) -> Vec<Option<String>> {
    let ids: Vec<_> = sessions.iter().map(|session| session.id.as_str().to_owned()).collect();
    query::read_titles(&ids).into_iter().map(|title| title.ok().flatten()).collect()
}

fn settings() -> Result<Config, Error> {
    dsh_plugin::settings().map_err(|error| Error::Settings(error.to_string()))
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { code: error.code().into(), message: error.to_string(), details: None }
    }
}

impl From<references::Reference> for Reference {
    fn from(reference: references::Reference) -> Self {
        Self { session: SessionId::new(reference.session), label: reference.label }
    }
}

/// The sessions that the host lets this plugin read.
struct Host;

impl Sessions for Host {
    type Surface = query::Surface;

    fn read_surfaces(&self, sessions: &[SessionId]) -> Vec<Result<query::Surface, String>> {
        let ids: Vec<_> = sessions.iter().map(|session| session.as_str().to_owned()).collect();
        let read = query::read_surfaces(&ids).into_iter();
        read.map(|surface| surface.map_err(|failure| failure.message)).collect()
    }
}

impl Surface for query::Surface {
    fn session(&self) -> SessionId {
        SessionId::new(self.header().id)
    }

    fn cwd(&self) -> Option<String> {
        self.header().cwd
    }

    fn captured_through(&self) -> Option<u64> {
        self.captured_through()
    }

    fn length(&self) -> u32 {
        self.length()
    }

    fn nodes(&self, start: u32, limit: u32) -> Vec<Node> {
        let nodes = self.nodes(start, limit).into_iter();
        nodes.map(|node| Node { speaker: speaker(&node), bytes: node.text_bytes }).collect()
    }

    fn texts(&self, indexes: &[u32]) -> Vec<String> {
        self.texts(indexes)
    }

    fn text_part(&self, index: u32, start: u64, limit: u32) -> String {
        self.text_part(index, start, limit)
    }
}

/// Who a node speaks for.
fn speaker(node: &query::Node) -> Speaker {
    match (node.role, &node.source) {
        (query::Role::Assistant, _) => Speaker::Assistant,
        (query::Role::User, Source::User) => Speaker::User,
        (query::Role::User, Source::Checkpoint) => Speaker::Checkpoint,
        _ => Speaker::Other,
    }
}
