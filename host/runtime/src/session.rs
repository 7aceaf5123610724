//! Sessions as plugins may read them: the traits that an embedder implements.

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;

use crate::error::Failure;
use crate::message::Source;

/// Who asks: every read is on behalf of a plugin, and of the session that its call belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asker {
    /// The plugin's id.
    pub plugin: String,
    /// The session on whose behalf the call runs; none for calls that belong to none.
    pub session: Option<String>,
}

/// The sessions that plugins may read.
///
/// Session ids are as `JSON.stringify` writes them between the quotes. A future that is dropped is a read that
/// nobody waits for any more: its work can be given up.
///
/// How far a plugin's reads reach is the host's business: it asks for nothing outside the scopes that were granted,
/// and drops what it must not show from the list. Scopes narrower than all are read off the headers in that list.
///
/// Failure codes that plugins expect: `not-found`, `unreadable`, `unavailable`.
#[async_trait]
pub trait Sessions: Send + Sync {
    /// Every visible session, newest first, then by id.
    ///
    /// # Errors
    ///
    /// `unavailable`, if the store does not answer.
    async fn list(&self, asker: &Asker) -> Result<Vec<Header>, Failure>;

    /// The latest title of each session, in the order asked. No id comes twice.
    async fn titles(&self, asker: &Asker, ids: &[String]) -> Vec<Result<Option<String>, Failure>>;

    /// One observation of each session, in the order asked, best read side by side. No id comes twice.
    async fn surfaces(
        &self,
        asker: &Asker,
        ids: &[String],
    ) -> Vec<Result<Arc<dyn Surface>, Failure>>;

    /// Context messages that the asking plugin put into a session's own history, waiting ones included.
    ///
    /// # Errors
    ///
    /// Any of the codes above.
    async fn own_notes(&self, asker: &Asker, id: &str) -> Result<Vec<OwnNote>, Failure>;
}

/// One observation of a session's surface. It never changes.
pub trait Surface: Send + Sync {
    /// The session's facts.
    fn header(&self) -> &Header;

    /// The newest event seen; none in an empty log.
    fn captured_through(&self) -> Option<u64>;

    /// How many nodes it has.
    fn length(&self) -> u32;

    /// The node at `index`; none at or past the length.
    fn node(&self, index: u32) -> Option<Node>;

    /// The text blocks of a node joined by newlines, empty where it has none; none at or past the length.
    ///
    /// Borrowed where the node has it in one piece, so that the embedder need not copy it.
    fn text(&self, index: u32) -> Option<Cow<'_, str>>;

    /// At most `limit` bytes of a node's text from byte `start`, both ends moved inward to characters; empty at or
    /// past the text's end; none at or past the length.
    ///
    /// Worth writing where [`Surface::text`] cannot borrow: plugins read a huge text in parts.
    fn text_part(&self, index: u32, start: u64, limit: u32) -> Option<Cow<'_, str>> {
        Some(match self.text(index)? {
            Cow::Borrowed(text) => Cow::Borrowed(part(text, start, limit)),
            Cow::Owned(text) => Cow::Owned(part(&text, start, limit).to_owned()),
        })
    }
}

/// At most `limit` bytes of `text` from byte `start`, both ends moved inward to characters.
#[must_use]
pub fn part(text: &str, start: u64, limit: u32) -> &str {
    let start = usize::try_from(start).unwrap_or(usize::MAX).min(text.len());
    let end = start.saturating_add(limit as usize).min(text.len());
    let (start, end) = (text.ceil_char_boundary(start), text.floor_char_boundary(end));
    text.get(start..end).unwrap_or_default()
}

/// Immutable facts of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The session's id.
    pub id: String,
    /// Milliseconds since the Unix epoch.
    pub created_at: u64,
    /// Absolute working directory.
    pub cwd: Option<String>,
    /// The session it was forked from.
    pub parent: Option<String>,
    /// How many leading events came from that parent.
    pub seed_length: Option<u64>,
    /// Whatever else the header holds, as a JSON object.
    pub extra: Option<String>,
}

/// One node of a surface, without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The event that it is.
    pub seq: u64,
    /// Which event made it.
    pub role: Role,
    /// Who its message speaks for.
    pub source: Source,
    /// UTF-8 bytes of its text.
    pub text_bytes: u64,
}

/// Which event made a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A prompt, or context that a plugin added.
    User,
    /// A reply of the model.
    Assistant,
    /// A tool's result.
    Tool,
}

/// A context message that the asking plugin put into a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnNote {
    /// Its place in the log; none while it waits for a step.
    pub seq: Option<u64>,
    /// The message's id.
    pub message: String,
    /// Its source as logged.
    pub facts: String,
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn both_ends_of_a_part_move_inward_to_characters() {
        let text = "aéz";
        assert_eq!(part(text, 0, 2), "a");
        assert_eq!(part(text, 0, 3), "aé");
        assert_eq!(part(text, 2, 2), "z");
        assert_eq!(part(text, 2, 1), "");
        assert_eq!(part(text, 1, 1), "");
        assert_eq!(part(text, u64::MAX, u32::MAX), "");
        assert_eq!(part(text, 0, u32::MAX), text);
    }
}
