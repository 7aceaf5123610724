//! What a new session inherits of another one, and the write that makes it whole (contracts §7.1, §7.3).

use crate::vocabulary::adds_user_message;
use crate::{
    Draft, Event, Events, Header, Live, Message, SessionId, Sessions, StoreError, SurfaceOp,
    completed_prefix,
};

/// The leading events of a log, from which a session can be born.
#[derive(Clone, Debug)]
pub struct Seed {
    source: Header,
    events: Events,
    compacted: bool,
    open_turn: bool,
}

impl Seed {
    /// What a fork inherits of the log `events` of the session `source`: see [`completed_prefix`]. With `before`, none
    /// from that event on.
    pub fn new(source: Header, mut events: Events, before: Option<u64>) -> Self {
        let before = before.and_then(|before| usize::try_from(before).ok());
        events.truncate(before.unwrap_or(usize::MAX));
        let length = completed_prefix(&events);
        let open_turn =
            events.single().any(|(index, event)| index >= length && &*event.kind == "turn/start");
        events.truncate(length);
        // Such an end is that of the source's own seed, or of its last opening; the new session gets one of its own.
        while events.last().is_some_and(|event| &*event.kind == "session/end-seed") {
            events.truncate(events.len() - 1);
        }
        let compacted = events.single().any(|(_, event)| is_checkpoint(event));
        Self { source, events, compacted, open_turn }
    }

    /// The session that it comes from.
    pub fn source(&self) -> &Header {
        &self.source
    }

    /// The events, from place zero.
    pub fn events(&self) -> &Events {
        &self.events
    }

    /// Whether a compaction's checkpoint is in it.
    pub fn is_compacted(&self) -> bool {
        self.compacted
    }

    /// Whether a turn had begun that is not in it.
    pub fn leaves_out_open_turn(&self) -> bool {
        self.open_turn
    }

    /// The header of a session that begins with it. Delegation is not inherited: the new session is nobody's subagent.
    fn header(&self, id: SessionId, created_at: u64) -> Header {
        Header {
            parent: Some(self.source.id.clone()),
            seed_length: Some(self.events.len() as u64),
            agent_preset: self.source.agent_preset.clone(),
            ..Header::new(id, created_at, self.source.cwd.clone())
        }
    }
}

impl Sessions {
    /// What a fork of a session inherits, open or not. Nothing is written, and nothing of an open turn closed.
    ///
    /// # Errors
    /// When there is no such session, or its log cannot be read whole.
    pub async fn seed(&self, id: &SessionId, before: Option<u64>) -> Result<Seed, StoreError> {
        let (header, events) = self.history(id, Events::default()).await?;
        Ok(Seed::new(header, events, before))
    }

    /// Makes a session that begins with `seed`, and with `drafts` after it. All of it is one first write: when it
    /// returns the session is on disk whole, and when it fails there is none.
    ///
    /// # Errors
    /// As [`Sessions::create`], and when the disk refuses.
    pub async fn bear(
        &self,
        id: SessionId,
        seed: Seed,
        drafts: Vec<Draft>,
    ) -> Result<Live, StoreError> {
        let created_at = u64::try_from(self.store().now()).unwrap_or_default();
        let header = seed.header(id, created_at);
        let live = self.create(header, Some(seed.events)).await?;
        let place = live.next_seq();
        live.append_all(drafts).map_err(|why| StoreError::Seed { seq: place, why })?;
        live.commit().await?;
        Ok(live)
    }
}

fn is_checkpoint(event: &Event) -> bool {
    matches!(event.surface_op, Some(SurfaceOp::Replace { .. }))
        && adds_user_message(&event.kind)
        && Message::parse(event.data.clone()).is_ok_and(|message| message.source().is_checkpoint())
}
