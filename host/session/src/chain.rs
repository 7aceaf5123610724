//! An ordered list whose items are found by key and replaced in ranges, without moving the others.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Items in order, each under its own key.
///
/// A surface is replaced in ranges, and its order is not that of its keys: positions would move with every
/// replacement. Links do not, so that any history of a million events folds in linear time.
#[derive(Debug)]
pub(crate) struct Chain<T> {
    links: HashMap<u64, Link<T>, BuildHasherDefault<Spread>>,
    first: Option<u64>,
    last: Option<u64>,
}

#[derive(Debug)]
struct Link<T> {
    item: T,
    before: Option<u64>,
    after: Option<u64>,
}

/// Spreads keys that count events. They cannot be chosen freely, so they need no keyed hash.
#[derive(Debug, Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(self.0 ^ u64::from(*byte)));
    }
    fn write_u64(&mut self, key: u64) {
        // The golden ratio's fraction: consecutive keys land far apart in the upper bits, which the map looks at.
        self.0 = key.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }
}

/// Why keys name no range.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RangeError {
    /// The first key has no item.
    NoStart,
    /// The last key has no item.
    NoEnd,
    /// The last item lies before the first.
    Reversed,
}

impl<T> Default for Chain<T> {
    fn default() -> Self {
        Self { links: HashMap::default(), first: None, last: None }
    }
}

impl<T> Chain<T> {
    /// The item under `key`.
    pub(crate) fn get(&self, key: u64) -> Option<&T> {
        self.links.get(&key).map(|link| &link.item)
    }

    /// Adds an item at the end, under a key that is new.
    pub(crate) fn push(&mut self, key: u64, item: T) {
        self.insert(key, item, self.last, None);
    }

    /// The keys from `start` to `end`, both included, in order.
    pub(crate) fn range(&self, start: u64, end: u64) -> Result<Vec<u64>, RangeError> {
        self.links.get(&start).ok_or(RangeError::NoStart)?;
        self.links.get(&end).ok_or(RangeError::NoEnd)?;
        let mut keys = Vec::new();
        for (key, _) in self.walk(Some(start)) {
            keys.push(key);
            if key == end {
                return Ok(keys);
            }
        }
        Err(RangeError::Reversed)
    }

    /// Puts an item in place of a range that [`Self::range`] gave, under a key that is new.
    pub(crate) fn replace(&mut self, range: &[u64], key: u64, item: T) {
        let mut before = self.last;
        let mut after = None;
        for (index, old) in range.iter().enumerate() {
            let Some(link) = self.links.remove(old) else { continue };
            if index == 0 {
                before = link.before;
            }
            after = link.after;
        }
        self.insert(key, item, before, after);
    }

    /// Every item in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.walk(self.first).map(|(_, item)| item)
    }

    fn walk(&self, from: Option<u64>) -> impl Iterator<Item = (u64, &T)> {
        let mut next = from;
        std::iter::from_fn(move || {
            let key = next?;
            let link = self.links.get(&key)?;
            next = link.after;
            Some((key, &link.item))
        })
    }

    fn insert(&mut self, key: u64, item: T, before: Option<u64>, after: Option<u64>) {
        match before.and_then(|before| self.links.get_mut(&before)) {
            Some(link) => link.after = Some(key),
            None => self.first = Some(key),
        }
        match after.and_then(|after| self.links.get_mut(&after)) {
            Some(link) => link.before = Some(key),
            None => self.last = Some(key),
        }
        self.links.insert(key, Link { item, before, after });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(keys: std::ops::Range<u64>) -> Chain<u64> {
        let mut chain = Chain::default();
        keys.for_each(|key| chain.push(key, key));
        chain
    }

    #[track_caller]
    fn holds(chain: &Chain<u64>, keys: &[u64]) {
        let found: Vec<u64> = chain.iter().copied().collect();
        assert_eq!(found, keys);
        assert_eq!(chain.links.len(), keys.len());
    }

    #[test]
    fn a_range_gives_way_to_one_item() {
        let mut chain = chain(0..5);
        chain.replace(&chain.range(1, 2).unwrap(), 5, 5);
        holds(&chain, &[0, 5, 3, 4]);
        chain.replace(&chain.range(0, 5).unwrap(), 6, 6);
        holds(&chain, &[6, 3, 4]);
        chain.replace(&chain.range(3, 4).unwrap(), 7, 7);
        holds(&chain, &[6, 7]);
        chain.push(8, 8);
        chain.replace(&chain.range(6, 8).unwrap(), 9, 9);
        holds(&chain, &[9]);
        chain.push(10, 10);
        holds(&chain, &[9, 10]);
    }

    #[test]
    fn keys_that_name_no_range_are_told_apart() {
        let mut chain = chain(0..3);
        chain.replace(&[0], 3, 3);
        assert_eq!(chain.range(0, 2), Err(RangeError::NoStart));
        assert_eq!(chain.range(1, 9), Err(RangeError::NoEnd));
        assert_eq!(chain.range(2, 3), Err(RangeError::Reversed));
        assert_eq!(chain.range(3, 2), Ok(vec![3, 1, 2]));
    }
}
