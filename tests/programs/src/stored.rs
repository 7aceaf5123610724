//! A store that holds the sessions it is given, and talks about those that it does not have.

use std::sync::Arc;

use async_trait::async_trait;
use dsh_plugin_host::{Asker, Failure, Header, OwnNote, Sessions, Surface};

use crate::scripted::Memory;

/// Sessions in the order in which they are listed.
pub struct Stored(pub Vec<StoredSession>);

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredSession {
    /// Its facts.
    pub header: Header,
    /// Its latest title.
    pub title: Option<String>,
    /// Its prompts; the failure of a log that cannot be read.
    pub texts: Result<Vec<String>, Failure>,
}

impl Stored {
    /// What a careless store might say: the words differ from one id to the next, and say where it looked.
    fn find(&self, id: &str) -> Result<&StoredSession, Failure> {
        let found = self.0.iter().find(|session| session.header.id == id);
        found.ok_or_else(|| Failure {
            details: Some(format!("{{\"sessions\":{}}}", self.0.len())),
            ..Failure::new("not-found", format!("none of {} sessions is {id}", self.0.len()))
        })
    }
}

#[async_trait]
impl Sessions for Stored {
    async fn list(&self, _: &Asker) -> Result<Vec<Header>, Failure> {
        Ok(self.0.iter().map(|session| session.header.clone()).collect())
    }

    async fn titles(&self, _: &Asker, ids: &[String]) -> Vec<Result<Option<String>, Failure>> {
        let title = |id: &String| Ok(self.find(id)?.title.clone());
        ids.iter().map(title).collect()
    }

    async fn surfaces(&self, _: &Asker, ids: &[String]) -> Vec<Result<Arc<dyn Surface>, Failure>> {
        let surface = |id: &String| {
            let session = self.find(id)?;
            let memory = Memory::of(session.header.clone(), session.texts.clone()?);
            Ok(Arc::new(memory) as Arc<dyn Surface>)
        };
        ids.iter().map(surface).collect()
    }

    async fn own_notes(&self, asker: &Asker, id: &str) -> Result<Vec<OwnNote>, Failure> {
        let header = &self.find(id)?.header;
        let message = format!("a note of {} in {}", asker.plugin, header.id);
        Ok(vec![OwnNote { seq: Some(1), message, facts: "{}".to_owned() }])
    }
}
