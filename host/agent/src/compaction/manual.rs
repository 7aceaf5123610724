//! Compaction on a person's word, between turns.

use std::sync::Arc;

use super::attempt::Attempt;
use super::events::{Bracket, Command};
use super::span::Span;
use super::{CompactError, Compacted};
use crate::driver::Shared;
use crate::lifecycle::causes;
use crate::{Agent, Cancel, Composition};

impl Agent {
    /// Puts a summary in the place of all but the newest node, with the call that it answers; `focus` is what the
    /// summary shall take special care of.
    ///
    /// None, and nothing is logged, where there is nothing to summarize. While it runs, prompts wait;
    /// [`cancel`](Self::cancel) stops it. It goes on where this future is dropped. Done when it is on disk.
    ///
    /// # Errors
    /// When a turn runs, the agent was closed, the model gives no summary or somebody cancels it. The surface is
    /// then as it was, and the log says why wherever the attempt began.
    pub async fn compact(&self, focus: Option<&str>) -> Result<Option<Compacted>, CompactError> {
        let focus = focus.map(str::trim).filter(|focus| !focus.is_empty()).map(str::to_owned);
        let done = self.shared().maintain(|shared, composition, cancel| async move {
            compact(&shared, &composition, &cancel, focus.as_deref()).await
        })?;
        done.await.unwrap_or(Err(CompactError::GivenUp))
    }
}

async fn compact(
    shared: &Arc<Shared>,
    composition: &Composition,
    cancel: &Cancel,
    focus: Option<&str>,
) -> Result<Option<Compacted>, CompactError> {
    let Some(span) = Span::older(&shared.live().surface(), 0, None)? else {
        return Ok(None);
    };
    let command = Command::new(format!("cmd-{}", shared.new_id()));
    shared.append(command.run(focus.unwrap_or_default()))?;
    let bracket = Bracket {
        compaction_id: shared.new_id(),
        source_command_id: Some(command.id().to_owned()),
        turn: None,
    };
    let attempt = Attempt { shared, composition, cancel, bracket, focus };
    let done = attempt.run(span).await;
    let (text, made) = match &done {
        Ok((Compacted { nodes, shadowed, .. }, made)) => {
            (format!("{nodes} messages (~{shadowed} tokens) gave way to a summary."), Some(*made))
        }
        Err(error) => (format!("Nothing was replaced: {}.", causes(error)), None),
    };
    shared.append(command.done(&text, made))?;
    shared.commit().await?;
    done.map(|(compacted, _)| Some(compacted))
}
