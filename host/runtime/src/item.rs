//! Messages inside a chain: what a handle stands for, and what a link may do with those of the user.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::error::Refusal;
use crate::json::Object;
use crate::message::{Block, Context, Edit, Entered, Message, Source};

/// What a plugin holds when it holds a message.
#[expect(unreachable_pub, reason = "the generated bindings re-export it inside the crate")]
pub type Handle = Arc<Item>;

/// A message on its way through a chain.
#[expect(unreachable_pub, reason = "the generated bindings re-export it inside the crate")]
#[derive(Debug)]
pub struct Item {
    /// As plugins see it now, edits applied.
    pub(crate) message: Message,
    origin: Origin,
}

#[derive(Debug)]
enum Origin {
    Batch { index: usize, edits: BTreeMap<usize, Edit> },
    Context { plugin: String },
}

impl Item {
    /// The message at `index` of the batch that the embedder gave.
    pub(crate) fn of_batch(index: usize, message: Message) -> Handle {
        Arc::new(Item { message, origin: Origin::Batch { index, edits: BTreeMap::new() } })
    }

    /// A new context message.
    pub(crate) fn of_context(context: Context) -> Handle {
        let Context { id, plugin, content, facts } = context;
        let kind = Object::parse(&facts).ok().and_then(|facts| facts.string("kind"));
        let source = match kind {
            Some(kind) if kind != "plugin" => Source::Other(kind),
            _ => Source::Plugin(plugin.clone()),
        };
        let message = Message::new(id, source, facts, content);
        Arc::new(Item { message, origin: Origin::Context { plugin } })
    }

    /// The same with other texts; itself where nothing changes.
    ///
    /// None for an edit of what is no text block, or of a message that came with no batch.
    pub(crate) fn edited(self: &Arc<Item>, changes: Vec<Edit>) -> Option<Handle> {
        let Origin::Batch { index, edits } = &self.origin else { return None };
        let (mut edits, mut content) = (edits.clone(), self.message.content().to_vec());
        let mut changed = false;
        for change in changes {
            let Block::Text(text) = content.get_mut(change.block)? else { return None };
            if *text != change.text {
                *text = change.text.clone();
                edits.insert(change.block, change);
                changed = true;
            }
        }
        if !changed {
            return Some(self.clone());
        }
        let parts = &self.message.0;
        let message =
            Message::new(parts.id.clone(), parts.source.clone(), parts.facts.clone(), content);
        Some(Arc::new(Item { message, origin: Origin::Batch { index: *index, edits } }))
    }

    /// For the embedder.
    pub(crate) fn entered(&self) -> Entered {
        match &self.origin {
            Origin::Batch { index, edits } if edits.is_empty() => Entered::Batch { index: *index },
            Origin::Batch { index, edits } => {
                Entered::Edited { index: *index, edits: edits.values().cloned().collect() }
            }
            Origin::Context { plugin } => Entered::Context(Context {
                id: self.message.id().to_owned(),
                plugin: plugin.clone(),
                content: self.message.content().to_vec(),
                facts: self.message.0.facts.clone(),
            }),
        }
    }

    /// Back from the embedder: none where it names no message of the batch.
    pub(crate) fn of_entered(batch: &[Message], entered: Entered) -> Option<Handle> {
        match entered {
            Entered::Context(context) => Some(Item::of_context(context)),
            Entered::Batch { index } => Some(Item::of_batch(index, batch.get(index)?.clone())),
            Entered::Edited { index, edits } => {
                Item::of_batch(index, batch.get(index)?.clone()).edited(edits)
            }
        }
    }

    /// Its place in the batch, if it speaks for the user.
    fn user_index(&self) -> Option<usize> {
        match &self.origin {
            Origin::Batch { index, .. } if *self.message.source() == Source::User => Some(*index),
            _ => None,
        }
    }
}

/// Checks the user messages among `given`, which a link hands on.
///
/// `had` is what the link has been given last: its batch, or what `next` returned. `received` is its batch. Each
/// user message comes at most once and from the batch; without the grant `rewrite-user` all that it had are there,
/// just as they were.
pub(crate) fn check_users(
    received: &[Handle],
    had: &[Handle],
    given: &[Handle],
    may_rewrite: bool,
) -> Result<(), Refusal> {
    let id = |item: &Handle| item.message.id().to_owned();
    let (from_batch, last_seen) = (users(received), users(had));
    let mut seen = BTreeSet::new();
    for item in given {
        let Some(index) = item.user_index() else { continue };
        if !seen.insert(index) {
            return Err(Refusal::Duplicated { id: id(item) });
        }
        if !from_batch.contains_key(&index) {
            return Err(Refusal::Foreign { id: id(item) });
        }
        let same = |known: &&Handle| Arc::ptr_eq(known, item);
        if !may_rewrite && !last_seen.get(&index).is_some_and(same) {
            return Err(Refusal::PutBack { id: id(item) });
        }
    }
    match last_seen.iter().find(|(index, _)| !seen.contains(index)) {
        Some((_, item)) if !may_rewrite => Err(Refusal::LeftOut { id: id(item) }),
        _ => Ok(()),
    }
}

/// The user messages among `items`, by their place in the batch.
pub(crate) fn users(items: &[Handle]) -> BTreeMap<usize, &Handle> {
    items.iter().filter_map(|item| Some((item.user_index()?, item))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(index: usize, text: &str) -> Handle {
        let facts = r#"{"kind":"user"}"#;
        let message =
            Message::new(format!("m{index}"), Source::User, facts, vec![Block::text(text)]);
        Item::of_batch(index, message)
    }

    fn edit(text: &str) -> Vec<Edit> {
        vec![Edit { block: 0, text: text.into(), plugin: "p".to_owned() }]
    }

    #[test]
    fn an_edit_that_changes_nothing_is_none() {
        let item = user(0, "hello");
        let same = item.edited(edit("hello")).expect("a text block");
        assert!(Arc::ptr_eq(&item, &same));
        assert_eq!(same.entered(), Entered::Batch { index: 0 });
    }

    #[test]
    fn the_later_edit_of_a_block_stands() {
        let item = user(0, "hello").edited(edit("a")).and_then(|item| item.edited(edit("b")));
        let entered = item.expect("a text block").entered();
        assert_eq!(entered, Entered::Edited { index: 0, edits: edit("b") });
    }

    #[test]
    fn without_the_grant_users_messages_pass_as_they_were() {
        let (one, two) = (user(0, "one"), user(1, "two"));
        let had = [one.clone(), two.clone()];
        let check = |given: &[Handle], grant| check_users(&had, &had, given, grant);
        assert_eq!(check(&[two.clone(), one.clone()], false), Ok(()));
        let left_out = Refusal::LeftOut { id: "m1".to_owned() };
        assert_eq!(check(std::slice::from_ref(&one), false), Err(left_out));
        assert_eq!(check(std::slice::from_ref(&one), true), Ok(()));
        let twice = Refusal::Duplicated { id: "m0".to_owned() };
        assert_eq!(check(&[one.clone(), one.clone()], true), Err(twice));
        let changed = one.edited(edit("1")).expect("a text block");
        let put_back = Refusal::PutBack { id: "m0".to_owned() };
        assert_eq!(check(&[changed.clone(), two.clone()], false), Err(put_back));
        assert_eq!(check(&[changed, two], true), Ok(()));
        let foreign = Refusal::Foreign { id: "m7".to_owned() };
        assert_eq!(check(&[user(7, "seven")], true), Err(foreign));
    }
}
