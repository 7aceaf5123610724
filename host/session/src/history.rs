//! The whole log of a session, open or not, as it is at one moment.

use crate::query::blocking;
use crate::{Event, Fold, Header, Packed, SessionId, Sessions, StoreError};

impl Sessions {
    /// Gives `fold` every event of a session: those on disk, then those that an open one has appended and not yet
    /// written. What would close an interrupted turn is no event of the log. Nothing is changed.
    ///
    /// # Errors
    /// When there is no such session, or its log cannot be read whole.
    pub async fn history<F: Fold + 'static>(
        &self,
        id: &SessionId,
        fold: F,
    ) -> Result<(Header, F), StoreError> {
        // What is written meanwhile is on disk too, so that only the rest is still to be given.
        let Some(live) = self.live(id) else {
            return self.read_through(id, fold, None).await;
        };
        let (unwritten, written) = live.unwritten();
        let (header, mut fold) = match written {
            0 => (live.header().clone(), fold),
            written => self.read_through(id, fold, Some(written)).await?,
        };
        unwritten.each(&mut fold);
        Ok((header, fold))
    }

    /// Gives `fold` the events on disk, those before `end` where that is known.
    async fn read_through<F: Fold + 'static>(
        &self,
        id: &SessionId,
        fold: F,
        end: Option<u64>,
    ) -> Result<(Header, F), StoreError> {
        let (store, id) = (self.store.clone(), id.clone());
        blocking(move || {
            let end = match end {
                Some(end) => end,
                None => store.read(&id, &mut ())?.committed,
            };
            let mut before = Before { fold, end };
            let read = store.read(&id, &mut before)?;
            Ok((read.header, before.fold))
        })
        .await
    }
}

/// Takes the events before a place.
struct Before<F> {
    fold: F,
    end: u64,
}

impl<F: Fold> Fold for Before<F> {
    fn event(&mut self, event: &Event) {
        if event.seq < self.end {
            self.fold.event(event);
        }
    }

    fn packed(&mut self, row: &Packed<'_>) {
        match row.seq0() + row.len() as u64 <= self.end {
            true => self.fold.packed(row),
            false => row.each(|event| self.event(event)),
        }
    }

    fn wants_chunks(&self) -> bool {
        self.fold.wants_chunks()
    }
}
