//! Takes a reply as it streams in: logs each chunk, saves them in time, and stops when the turn is cancelled.

use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _};
use tokio::time::Instant;

use dsh_session::{Live, WriteError};

use crate::assemble::{Assembler, Reply};
use crate::turn::Turn;
use crate::{Cause, Chunk, LogError, Request, TurnEnd, foreign};

/// How long a chunk may stay unsaved: as long as in the real client, so a crash loses no more here than there.
const WINDOW: Duration = Duration::from_millis(200);

/// Chunks taken in a row before others get to run; a model that is always ready would starve a cancellation.
const CHUNKS_IN_A_ROW: usize = 32;

impl Turn<'_> {
    /// Streams the answer to `request`: the reply, and the chunks that it was made from.
    pub(crate) async fn stream(&self, request: Request) -> Result<(Reply, Vec<u64>), TurnEnd> {
        let header = request.header.clone();
        let mut assembler = Assembler::default();
        let mut seqs = Vec::new();
        match self.receive(request, &mut assembler, &mut seqs).await? {
            None => Ok((assembler.finish(), seqs)),
            Some(cause) => {
                if let Some((blocks, usage)) = assembler.interrupt() {
                    self.interrupted(&header, &blocks, usage, seqs)?;
                }
                Err(cause.into())
            }
        }
    }

    /// Logs chunks until the reply is over, or gives the cause why it was cut off.
    async fn receive(
        &self,
        request: Request,
        assembler: &mut Assembler,
        seqs: &mut Vec<u64>,
    ) -> Result<Option<Cause>, TurnEnd> {
        let model = &self.composition.model;
        let stream = foreign::call(async { model.stream(request) }).await;
        let mut chunks = match stream {
            Ok(chunks) => foreign::stream(chunks),
            Err(panic) => futures::stream::iter([Err(panic)]).boxed(),
        };
        let mut saver = Saver { live: self.shared.live(), due: None, saving: None };
        loop {
            let chunk = tokio::select! {
                biased;
                cause = self.cancel.cancelled() => return Ok(Some(cause)),
                error = saver.run() => return Err(LogError::from(error).into()),
                chunk = chunks.next() => chunk,
            };
            let Some(chunk) = chunk else {
                return Ok(None);
            };
            let chunk = chunk.unwrap_or_else(Chunk::panic);
            seqs.push(self.shared.append(self.place.chunk(&chunk))?.seq);
            assembler.push(&chunk);
            saver.appended();
            if matches!(chunk, Chunk::Finish { .. }) {
                return Ok(None);
            }
            if seqs.len().is_multiple_of(CHUNKS_IN_A_ROW) {
                tokio::task::yield_now().await;
            }
        }
    }
}

/// Commits what was appended, at the latest [`WINDOW`] after it was.
struct Saver<'a> {
    live: &'a Live,
    /// When the first unsaved event must be on its way.
    due: Option<Instant>,
    saving: Option<BoxFuture<'a, Result<(), WriteError>>>,
}

impl Saver<'_> {
    fn appended(&mut self) {
        self.due.get_or_insert_with(|| Instant::now() + WINDOW);
    }

    /// Saves what is due, for ever; returns only with a failure. May be dropped and called again at any await.
    async fn run(&mut self) -> WriteError {
        loop {
            if let Some(saving) = &mut self.saving {
                let saved = saving.await;
                self.saving = None;
                if let Err(error) = saved {
                    return error;
                }
            } else if let Some(due) = self.due {
                tokio::time::sleep_until(due).await;
                self.due = None;
                self.saving = Some(self.live.commit().boxed());
            } else {
                return std::future::pending().await;
            }
        }
    }
}
