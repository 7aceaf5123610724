//! A session that another process writes, as commands of plugins may look at it: its log is read, and never written.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use dsh_agent::{Agent, Asked, Composition};
use dsh_plugin_host as host;
use dsh_plugin_host::{Answer, Context, Delivery, Failure, LiveAgent};
use dsh_session::{Header, SessionId, StoreError};

use super::agents::{Inheritance, unavailable};
use crate::harness::Harness;
use crate::system;

/// A session whose writer is elsewhere, with what an agent on it would be put together from.
#[derive(Clone)]
pub struct Stored {
    header: Header,
    holder: String,
    composition: Composition,
}

impl Stored {
    /// The session, as its log has it now; `holder` writes it.
    pub(crate) async fn read(
        harness: &Harness,
        id: &SessionId,
        holder: String,
        composition: Composition,
    ) -> Result<Self, StoreError> {
        let header = harness.sessions().store().read_header(id)?;
        let (header, born) = harness.sessions().history(id, system::Born::new(&header)).await?;
        let system = born.system().or(composition.system.clone());
        Ok(Self { header, holder, composition: Composition { system, ..composition } })
    }

    /// The session.
    pub fn id(&self) -> &SessionId {
        &self.header.id
    }

    /// The handle that a command gets.
    pub(super) fn lent(&self, harness: Harness, held: Arc<Mutex<Vec<Agent>>>) -> Lent {
        let parent = self.header.parent.as_ref().map(|parent| parent.escaped().to_owned());
        let session = self.header.id.escaped().to_owned();
        Lent { stored: self.clone(), harness, held, session, parent }
    }
}

/// A stored session in a command's hands.
pub(super) struct Lent {
    stored: Stored,
    harness: Harness,
    held: Arc<Mutex<Vec<Agent>>>,
    session: String,
    parent: Option<String>,
}

impl Lent {
    fn refused(&self) -> Failure {
        let Stored { header, holder, .. } = &self.stored;
        let id = &header.id;
        let said = format!("session {id} is being written by {holder}; try again when it is done");
        Failure::new("held", said)
    }
}

#[async_trait]
impl LiveAgent for Lent {
    fn session(&self) -> &str {
        &self.session
    }

    fn parent_session(&self) -> Option<&str> {
        self.parent.as_deref()
    }

    async fn parent(&self, _: &str) -> Result<Option<Arc<dyn LiveAgent>>, Failure> {
        if self.parent.is_none() { Ok(None) } else { Err(self.refused()) }
    }

    async fn said_through(&self, plugin: &str) -> Result<Option<u64>, Failure> {
        let fold = Asked::new(&self.stored.header, plugin);
        let history = self.harness.sessions().history(self.stored.id(), fold).await;
        Ok(history.map_err(|err| unavailable(&err))?.1.said_through())
    }

    async fn completed_turns(&self, before: Option<u64>) -> Result<Arc<dyn host::Seed>, Failure> {
        let seed = self.harness.sessions().seed(self.stored.id(), before).await;
        let seed = seed.map_err(|err| unavailable(&err))?;
        let from = Arc::new(self.stored.composition.clone());
        let (harness, held) = (self.harness.clone(), self.held.clone());
        Ok(Arc::new(Inheritance { harness, held, seed, from }))
    }

    async fn inject(&self, _: Context, _: &str) -> Result<Delivery, Failure> {
        Err(self.refused())
    }

    async fn withdraw(&self, _: &str, _: Context) -> Result<(), Failure> {
        Err(self.refused())
    }

    async fn ask(&self, _: Context, _: &str) -> Result<Answer, Failure> {
        Err(self.refused())
    }
}
