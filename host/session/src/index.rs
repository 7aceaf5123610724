//! What is known of a root's logs without opening them: a cache beside the root, which may vanish at any time.
//!
//! Nothing in it is believed but what stands under the very stamp that a log has now. Whatever is wrong with the file
//! (gone, damaged, foreign, not to be written) makes answers slower and never other ones, so nothing here can fail.

use std::collections::{HashMap, HashSet};
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Header;
use crate::index_file;
use crate::root::Found;
use crate::stamp::Stamp;
use crate::title::TitleFold;

/// The cache of one root, shared by everything that this process asks of it. Turns never come here.
pub(crate) struct Index {
    root: PathBuf,
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    entries: HashMap<Box<str>, Entry>,
    /// The file as it was last read or written.
    file: Option<Stamp>,
    /// Something is known that the file does not tell.
    changed: bool,
}

/// What is known of one log.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) stamp: Stamp,
    pub(crate) header: Header,
    /// None where only the header was read.
    pub(crate) title: Option<TitleFold>,
}

impl Index {
    /// The index of `root` in the file `path`, which is read when it is first asked for.
    pub(crate) fn new(root: PathBuf, path: PathBuf) -> Self {
        Self { root, path, state: Mutex::default() }
    }

    /// Takes in what other processes have written since.
    pub(crate) fn refresh(&self) {
        let mut state = self.state();
        let file = index_file::stamp(&self.path, &self.root);
        if file.is_none() || file == state.file {
            return;
        }
        for (name, entry) in index_file::read(&self.path) {
            match state.entries.get(&name) {
                // What this process has read may be newer, and must not know less.
                Some(known) if known.stamp != entry.stamp || known.title.is_some() => {}
                _ => drop(state.entries.insert(name, entry)),
            }
        }
        state.file = file;
    }

    /// The header of a log that has not changed since it was read.
    pub(crate) fn header(&self, found: &Found) -> Option<Header> {
        self.known(found, |entry| Some(entry.header.clone()))
    }

    /// The title of a log that has not changed since it was read.
    pub(crate) fn title(&self, found: &Found) -> Option<TitleFold> {
        self.known(found, |entry| entry.title.clone())
    }

    /// Keeps what was read of a log after its stamp was taken.
    pub(crate) fn keep(&self, found: &Found, header: &Header, title: Option<TitleFold>) {
        let (Some(name), Some(stamp)) = (self.name(&found.path), found.stamp) else { return };
        if !found.settled {
            return;
        }
        let mut state = self.state();
        if title.is_none() && state.entries.get(name).is_some_and(|known| known.stamp == stamp) {
            return;
        }
        state.entries.insert(name.into(), Entry { stamp, header: header.clone(), title });
        state.changed = true;
    }

    /// Forgets every log that is not among `found`, which are all there are.
    pub(crate) fn retain<'a>(&self, found: impl Iterator<Item = &'a Path>) {
        let there: HashSet<&str> = found.filter_map(|path| self.name(path)).collect();
        let mut state = self.state();
        let before = state.entries.len();
        state.entries.retain(|name, _| there.contains(&**name));
        state.changed |= state.entries.len() != before;
    }

    /// Writes what is known, where it is more than the file tells.
    pub(crate) fn save(&self) {
        let mut state = self.state();
        if state.changed && index_file::write(&self.path, &state.entries) {
            state.changed = false;
            state.file = index_file::stamp(&self.path, &self.root);
        }
    }

    fn known<T>(&self, found: &Found, take: impl FnOnce(&Entry) -> Option<T>) -> Option<T> {
        let (name, stamp) = (self.name(&found.path)?, found.stamp?);
        self.state().entries.get(name).filter(|entry| entry.stamp == stamp).and_then(take)
    }

    /// A log's name in the index; none where a text cannot hold it.
    fn name<'a>(&self, path: &'a Path) -> Option<&'a str> {
        // As texts: a path is slow to take apart, and these were made by joining names to the root.
        let name = path.to_str()?.strip_prefix(self.root.to_str()?)?;
        Some(name.trim_start_matches(MAIN_SEPARATOR))
    }

    /// Nothing panics while it holds the state, so that a poisoned lock guards a sound one.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where the index of `root` lies best: next to it, never in it. None for a root without a name of its own.
pub fn index_beside(root: &Path) -> Option<PathBuf> {
    let mut name = root.file_name()?.to_owned();
    name.push(".dsh-index");
    Some(root.with_file_name(name))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::{Encoding, SessionId};

    fn found(settled: bool) -> Found {
        let stamp = Some(Stamp { parts: [1, 2, 3, 4, 5, 6] });
        Found { path: "/root/p/s/session.jsonl".into(), encoding: Encoding::Raw, stamp, settled }
    }

    #[test]
    fn what_may_yet_change_unseen_is_not_kept() {
        let index = Index::new("/root".into(), "/root.dsh-index".into());
        let header = Header::new(SessionId::new("s"), 1, None);
        index.keep(&found(false), &header, None);
        assert_eq!(index.header(&found(true)), None);
        index.keep(&found(true), &header, Some(TitleFold::default()));
        assert_eq!(index.header(&found(true)), Some(header.clone()));
        // A listing that has read the same log does not know its title, and takes none away.
        index.keep(&found(true), &header, None);
        assert!(index.title(&found(true)).is_some());
        let mut other = found(true);
        other.stamp = Some(Stamp { parts: [1, 2, 3, 4, 5, 7] });
        assert_eq!(index.header(&other), None);
    }
}
