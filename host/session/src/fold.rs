//! What takes a log's events, one after the other.

use crate::{Event, Kind, Packed};

/// Takes every event of a log in order, so that nobody has to hold them all.
pub trait Fold: Send {
    /// Takes the next event.
    fn event(&mut self, event: &Event);

    /// Takes the events of the next packed row, where it wants deltas: one after the other, unless it has a better use
    /// for the row.
    fn packed(&mut self, row: &Packed<'_>) {
        row.each(|event| self.event(event));
    }

    /// Whether it wants the model's deltas (`assistant/chunk`), most of a log's events, which cost time to make.
    fn wants_chunks(&self) -> bool {
        true
    }
}

/// Takes nothing.
impl Fold for () {
    fn event(&mut self, _: &Event) {}

    fn wants_chunks(&self) -> bool {
        false
    }
}

impl<F: Fold + ?Sized> Fold for &mut F {
    fn event(&mut self, event: &Event) {
        (**self).event(event);
    }

    fn packed(&mut self, row: &Packed<'_>) {
        (**self).packed(row);
    }

    fn wants_chunks(&self) -> bool {
        (**self).wants_chunks()
    }
}

impl<F: Fold + ?Sized> Fold for Box<F> {
    fn event(&mut self, event: &Event) {
        (**self).event(event);
    }

    fn packed(&mut self, row: &Packed<'_>) {
        (**self).packed(row);
    }

    fn wants_chunks(&self) -> bool {
        (**self).wants_chunks()
    }
}

/// Keeps every event: for short logs and prefixes.
impl Fold for Vec<Event> {
    fn event(&mut self, event: &Event) {
        self.push(event.clone());
    }
}

macro_rules! fold_together {
    ($($name:ident $place:tt),+) => {
        /// Each takes every event, in turn.
        impl<$($name: Fold),+> Fold for ($($name,)+) {
            fn event(&mut self, event: &Event) {
                $(self.$place.event(event);)+
            }

            fn packed(&mut self, row: &Packed<'_>) {
                $(if self.$place.wants_chunks() {
                    self.$place.packed(row);
                })+
            }

            fn wants_chunks(&self) -> bool {
                $(self.$place.wants_chunks())||+
            }
        }
    };
}

fold_together!(A 0, B 1);
fold_together!(A 0, B 1, C 2);
fold_together!(A 0, B 1, C 2, D 3);

/// An event into a fold, a delta only where it wants them.
pub(crate) fn feed(fold: &mut dyn Fold, event: &Event) {
    if fold.wants_chunks() || event.kind != Kind::CHUNK {
        fold.event(event);
    }
}
