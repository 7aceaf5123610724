//! `dsh:session/query`: read-only access to sessions, batched, answered by the embedder.

use std::collections::HashMap;
use std::sync::Arc;

use wasmtime::component::Resource;

use crate::bindings::session::query as wit;
use crate::bindings::session::types::{Failure as WitFailure, Header as WitHeader};
use crate::error::{Failure, Refusal};
use crate::scoped::{Scoped, unanswered};
use crate::session::{Header, Node, OwnNote, Role, Sessions, Surface};
use crate::state::State;

/// What a plugin holds when it holds a surface.
#[expect(unreachable_pub, reason = "the generated bindings re-export it inside the crate")]
pub type SurfaceHandle = Arc<dyn Surface>;

impl wit::Host for State {
    async fn list_sessions(&mut self) -> wasmtime::Result<Result<Vec<WitHeader>, WitFailure>> {
        self.host_call(0)?;
        let Some(sessions) = self.sessions() else { return Ok(Err(unanswered().into())) };
        let away = self.meter.in_import();
        let listed = sessions.list(&self.asker).await;
        drop(away);
        let headers = match listed {
            Ok(headers) => headers,
            Err(failure) => return Ok(Err(failure.into())),
        };
        self.input(headers.iter().map(header_bytes).sum())?;
        Ok(Ok(headers.into_iter().map(WitHeader::from).collect()))
    }

    async fn read_titles(
        &mut self,
        ids: Vec<String>,
    ) -> wasmtime::Result<Vec<Result<Option<String>, WitFailure>>> {
        self.host_call(ids.iter().map(String::len).sum())?;
        let (ids, places) = distinct(ids);
        let titles = match self.sessions() {
            None => Vec::new(),
            Some(sessions) => {
                let _away = self.meter.in_import();
                sessions.titles(&self.asker, &ids).await
            }
        };
        let length = |title: &Result<Option<String>, Failure>| match title {
            Ok(title) => title.as_ref().map_or(0, String::len),
            Err(failure) => failure.message.len(),
        };
        let asked = places.iter().filter_map(|&place| titles.get(place));
        self.input(asked.map(length).sum::<usize>() as u64)?;
        let answer = |place: usize| match titles.get(place) {
            Some(title) => title.clone().map_err(WitFailure::from),
            None => Err(unanswered().into()),
        };
        Ok(places.into_iter().map(answer).collect())
    }

    async fn read_surfaces(
        &mut self,
        ids: Vec<String>,
    ) -> wasmtime::Result<Vec<Result<Resource<SurfaceHandle>, WitFailure>>> {
        self.host_call(ids.iter().map(String::len).sum())?;
        let (ids, places) = distinct(ids);
        let surfaces = match self.sessions() {
            None => Vec::new(),
            Some(sessions) => {
                let _away = self.meter.in_import();
                sessions.surfaces(&self.asker, &ids).await
            }
        };
        let mut handles = Vec::with_capacity(places.len());
        for place in places {
            handles.push(match surfaces.get(place) {
                Some(Ok(surface)) => Ok(self.push(surface.clone())?),
                Some(Err(failure)) => Err(failure.clone().into()),
                None => Err(unanswered().into()),
            });
        }
        Ok(handles)
    }

    async fn own_notes(
        &mut self,
        id: String,
    ) -> wasmtime::Result<Result<Vec<wit::OwnNote>, WitFailure>> {
        self.host_call(id.len())?;
        let Some(sessions) = self.sessions() else { return Ok(Err(unanswered().into())) };
        let away = self.meter.in_import();
        let notes = sessions.own_notes(&self.asker, &id).await;
        drop(away);
        let notes = match notes {
            Ok(notes) => notes,
            Err(failure) => return Ok(Err(failure.into())),
        };
        self.input(notes.iter().map(|note| (note.message.len() + note.facts.len()) as u64).sum())?;
        let note = |OwnNote { seq, message, facts }| wit::OwnNote { seq, message, facts };
        Ok(Ok(notes.into_iter().map(note).collect()))
    }
}

impl wit::HostSurface for State {
    fn header(&mut self, this: Resource<SurfaceHandle>) -> wasmtime::Result<WitHeader> {
        self.host_call(0)?;
        Ok(self.table.get(&this)?.header().clone().into())
    }

    fn captured_through(&mut self, this: Resource<SurfaceHandle>) -> wasmtime::Result<Option<u64>> {
        self.host_call(0)?;
        Ok(self.table.get(&this)?.captured_through())
    }

    fn length(&mut self, this: Resource<SurfaceHandle>) -> wasmtime::Result<u32> {
        self.host_call(0)?;
        Ok(self.table.get(&this)?.length())
    }

    fn nodes(
        &mut self,
        this: Resource<SurfaceHandle>,
        start: u32,
        limit: u32,
    ) -> wasmtime::Result<Vec<wit::Node>> {
        self.host_call(0)?;
        let surface = self.table.get(&this)?.clone();
        let end = start.saturating_add(limit).min(surface.length());
        // A node takes more than this in the guest; far more nodes than fit are refused before they are made.
        self.input(u64::from(end.saturating_sub(start)) * size_of::<u64>() as u64)?;
        Ok((start..end).map_while(|index| surface.node(index)).map(wit::Node::from).collect())
    }

    fn texts(
        &mut self,
        this: Resource<SurfaceHandle>,
        indexes: Vec<u32>,
    ) -> wasmtime::Result<Vec<String>> {
        self.host_call(size_of_val(indexes.as_slice()))?;
        let surface = self.table.get(&this)?.clone();
        let mut bytes = 0u64;
        for &index in &indexes {
            let node = surface.node(index).ok_or_else(|| no_such_node(&*surface, index))?;
            bytes = bytes.saturating_add(node.text_bytes);
        }
        self.input(bytes)?;
        let text = |index| match surface.text(index) {
            Some(text) => Ok(text.into_owned()),
            None => Err(no_such_node(&*surface, index).into()),
        };
        indexes.into_iter().map(text).collect()
    }

    fn text_part(
        &mut self,
        this: Resource<SurfaceHandle>,
        index: u32,
        start: u64,
        limit: u32,
    ) -> wasmtime::Result<String> {
        self.host_call(0)?;
        let surface = self.table.get(&this)?.clone();
        let node = surface.node(index).ok_or_else(|| no_such_node(&*surface, index))?;
        self.input(node.text_bytes.saturating_sub(start).min(u64::from(limit)))?;
        let part = surface.text_part(index, start, limit);
        Ok(part.ok_or_else(|| no_such_node(&*surface, index))?.into_owned())
    }

    fn drop(&mut self, this: Resource<SurfaceHandle>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

impl State {
    /// A handle of its own, so that a read can go on while the guest's state is lent out.
    fn sessions(&self) -> Option<Scoped> {
        let services = self.services.as_ref()?;
        Some(Scoped::new(services.sessions.clone(), self.capabilities.sessions))
    }
}

/// Each id once, and for each id asked its place among them.
fn distinct(ids: Vec<String>) -> (Vec<String>, Vec<usize>) {
    let mut first = HashMap::with_capacity(ids.len());
    let mut places = Vec::with_capacity(ids.len());
    for id in &ids {
        let next = first.len();
        places.push(*first.entry(id.as_str()).or_insert(next));
    }
    if first.len() == ids.len() {
        return (ids, places);
    }
    let mut new = (0..).take(first.len()).peekable();
    let once = ids.iter().zip(&places);
    let once = once.filter(|(_, place)| new.next_if_eq(*place).is_some());
    (once.map(|(id, _)| id.clone()).collect(), places)
}

fn no_such_node(surface: &dyn Surface, index: u32) -> Refusal {
    Refusal::NoSuchNode { index, length: surface.length() }
}

fn header_bytes(header: &Header) -> u64 {
    let texts = [&header.cwd, &header.parent, &header.extra];
    let bytes: usize = texts.into_iter().flatten().map(String::len).sum();
    (header.id.len() + bytes + size_of::<Header>()) as u64
}

impl From<Header> for WitHeader {
    fn from(header: Header) -> WitHeader {
        let Header { id, created_at, cwd, parent, seed_length, extra } = header;
        WitHeader { id, created_at, cwd, parent, seed_length, extra }
    }
}

impl From<Node> for wit::Node {
    fn from(node: Node) -> wit::Node {
        let role = match node.role {
            Role::User => wit::Role::User,
            Role::Assistant => wit::Role::Assistant,
            Role::Tool => wit::Role::Tool,
        };
        let source = (&node.source).into();
        wit::Node { seq: node.seq, role, source, text_bytes: node.text_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::distinct;

    #[test]
    fn an_id_given_twice_is_read_once_and_answered_twice() {
        let ids = ["b", "a", "b"].map(str::to_owned).to_vec();
        assert_eq!(distinct(ids), (vec!["b".to_owned(), "a".to_owned()], vec![0, 1, 0]));
    }
}
