//! Sessions in memory, so that what a plugin costs is not mixed with what a disk does.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use dsh_plugin_host::{Asker, Failure, Header, Node, OwnNote, Role, Sessions, Source, Surface};

use crate::inputs::{MANY, title};
use crate::words::prose;

/// Sessions in memory.
#[derive(Default)]
pub struct Memory {
    list: Vec<Header>,
    titles: HashMap<String, String>,
    surfaces: HashMap<String, Arc<dyn Surface>>,
}

impl Memory {
    /// [`MANY`] sessions with titles and nothing in them.
    pub fn many() -> Self {
        let ids = (0..MANY).map(|number| (number, format!("session-{number}")));
        let mut memory = Self::default();
        for (number, id) in ids {
            memory.list.push(Header {
                id: id.clone(),
                created_at: 2_000_000_000_000 - number,
                cwd: (number % 5 != 0).then(|| format!("/w/{}", number % 21)),
                ..Header::default()
            });
            memory.titles.insert(id, title(number));
        }
        memory
    }

    /// The sessions `a`, `b` and `c`, each with a mebibyte of prose in messages of `bytes` bytes.
    pub fn mebibytes(bytes: usize) -> Self {
        let mut memory = Self::default();
        for (id, seed) in [("a", 1), ("b", 2), ("c", 3)] {
            let texts: Vec<String> = (0..13).map(|nth| prose(bytes, seed * 7919 + nth)).collect();
            let texts = texts.into_iter().cycle().take((1 << 20) / bytes).collect();
            let header = Header { id: id.into(), cwd: Some("/w".into()), ..Header::default() };
            memory.surfaces.insert(id.into(), Arc::new(Talk { header, texts }));
        }
        memory
    }
}

#[async_trait]
impl Sessions for Memory {
    async fn list(&self, _: &Asker) -> Result<Vec<Header>, Failure> {
        Ok(self.list.clone())
    }

    async fn titles(&self, _: &Asker, ids: &[String]) -> Vec<Result<Option<String>, Failure>> {
        ids.iter().map(|id| Ok(self.titles.get(id).cloned())).collect()
    }

    async fn surfaces(&self, _: &Asker, ids: &[String]) -> Vec<Result<Arc<dyn Surface>, Failure>> {
        let unknown = |id: &String| Failure::new("not-found", id);
        ids.iter().map(|id| self.surfaces.get(id).cloned().ok_or_else(|| unknown(id))).collect()
    }

    async fn own_notes(&self, _: &Asker, _: &str) -> Result<Vec<OwnNote>, Failure> {
        Ok(Vec::new())
    }
}

/// A prompt and a reply, and again.
struct Talk {
    header: Header,
    texts: Vec<String>,
}

impl Surface for Talk {
    fn header(&self) -> &Header {
        &self.header
    }

    fn captured_through(&self) -> Option<u64> {
        self.texts.len().checked_sub(1).map(|last| last as u64)
    }

    fn length(&self) -> u32 {
        u32::try_from(self.texts.len()).unwrap_or(u32::MAX)
    }

    fn node(&self, index: u32) -> Option<Node> {
        let text_bytes = self.texts.get(index as usize)?.len() as u64;
        let (role, source) = match index % 2 {
            0 => (Role::User, Source::User),
            _ => (Role::Assistant, Source::Other("model".to_owned())),
        };
        Some(Node { seq: index.into(), role, source, text_bytes })
    }

    fn text(&self, index: u32) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(self.texts.get(index as usize)?))
    }
}
