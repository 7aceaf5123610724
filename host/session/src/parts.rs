//! Where the parts of a value stand, written down while the value is checked: who asks for them later need not look.

use std::ops::Range;

/// One part of a value: a member's name, its value, or a list's item.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// Where it begins and ends, in bytes from the beginning of the value that it is a part of.
    start: u32,
    end: u32,
    /// How many of the parts after it are parts of it, of its parts, and so on.
    inside: u32,
}

/// Parts of parts that were not written down: they are looked for when somebody asks.
const UNKNOWN: u32 = u32::MAX;

/// How deep parts are written down: to the text of a block within a tool's result, and a little further.
const DEPTH: usize = 8;

/// How many parts of one row are written down, so that no hostile row takes more than 768 KiB.
const MOST: usize = 1 << 16;

/// The parts of a row's values. It is used again for every row.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    list: Vec<Part>,
    /// There were more than are written down.
    incomplete: bool,
}

impl Parts {
    /// Forgets the row before.
    pub(crate) fn clear(&mut self) {
        self.list.clear();
        self.incomplete = false;
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Those of these numbers, in the order in which they were written down; none where some are missing.
    pub(crate) fn between(&self, numbers: Range<usize>) -> Option<&[Part]> {
        self.list.get(numbers).filter(|_| !self.incomplete)
    }

    /// Adds a part of the value that begins at `origin`.
    fn push(&mut self, origin: usize, start: usize, end: usize, inside: u32) {
        match (u32::try_from(start - origin), u32::try_from(end - origin)) {
            (Ok(start), Ok(end)) if self.list.len() < MOST => {
                self.list.push(Part { start, end, inside });
            }
            _ => self.incomplete = true,
        }
    }
}

/// Writes down the parts of one value, in the order in which they begin.
pub(crate) struct Recorder<'p> {
    parts: &'p mut Parts,
    /// The containers that are being read, the outermost first: where each begins, and its number.
    open: [(usize, usize); DEPTH + 1],
    /// How many there are, those included that are too deep to be written down.
    depth: usize,
}

impl<'p> Recorder<'p> {
    pub(crate) fn new(parts: &'p mut Parts) -> Self {
        Self { parts, open: [(0, 0); DEPTH + 1], depth: 0 }
    }

    /// A part without parts of its own.
    pub(crate) fn leaf(&mut self, start: usize, end: usize) {
        if let Some(origin) = self.origin() {
            self.parts.push(origin, start, end, 0);
        }
    }

    /// A container begins, which is not empty.
    pub(crate) fn enter(&mut self, start: usize) {
        let number = self.parts.len();
        if let Some(origin) = self.origin() {
            self.parts.push(origin, start, start, UNKNOWN);
        }
        if let Some(open) = self.open.get_mut(self.depth) {
            *open = (start, number);
        }
        self.depth += 1;
    }

    /// The innermost container ends.
    pub(crate) fn leave(&mut self, end: usize) {
        self.depth -= 1;
        let (Some(origin), Some((_, number))) = (self.origin(), self.open.get(self.depth)) else {
            return;
        };
        let inside = self.parts.len() - number - 1;
        if let Some(part) = self.parts.list.get_mut(*number) {
            part.end = u32::try_from(end - origin).unwrap_or_default();
            if self.depth < DEPTH {
                part.inside = u32::try_from(inside).unwrap_or(UNKNOWN);
            }
        }
    }

    /// Where the container begins whose parts are being read; none for the outermost value, and where it is too deep.
    fn origin(&self) -> Option<usize> {
        let outer = self.depth.checked_sub(1).filter(|outer| *outer < DEPTH)?;
        self.open.get(outer).map(|(start, _)| *start)
    }
}

/// Takes the first of `parts`: its text within that of the value, and its own parts where they are known.
pub(crate) fn first<'a>(
    text: &'a str,
    parts: &mut &'a [Part],
) -> Option<(&'a str, Option<&'a [Part]>)> {
    let (part, rest) = parts.split_first()?;
    let text = text.get(part.start as usize..part.end as usize)?;
    if part.inside == UNKNOWN {
        *parts = rest;
        return Some((text, None));
    }
    let (inside, rest) = rest.split_at_checked(part.inside as usize)?;
    *parts = rest;
    Some((text, Some(inside)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::Envelope;

    #[test]
    fn more_parts_than_are_written_down_are_looked_for() {
        let row = |items: usize| {
            let items = vec!["[]"; items].join(",");
            format!(r#"{{"type":"x","data":{{"a":[{items}],"b":"c"}},"seq":0}}"#)
        };
        let mut parts = Parts::default();
        for (items, written_down) in [(MOST - 10, true), (MOST, false), (3, true)] {
            let text = row(items);
            let read = Envelope::parse(&text, &mut parts).unwrap();
            let object = read.data.unwrap().object().unwrap();
            assert_eq!(object.get("a").unwrap().items().unwrap().count(), items);
            assert_eq!(object.str("b").as_deref(), Some("c"));
            assert_eq!(parts.incomplete, !written_down, "{items}");
            assert!(parts.len() <= MOST);
        }
    }
}
