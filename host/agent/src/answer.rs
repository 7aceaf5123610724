//! A step's answer: a reply that came whole, after as many retries as the model's policy has.

use crate::assemble::Reply;
use crate::lifecycle;
use crate::retry::Retry;
use crate::turn::Turn;
use crate::{Finish, ModelFailure, ReplyBlock, Request, TurnEnd};

impl Turn<'_> {
    /// Asks until the model has answered or failed for good: the reply, and the chunks that it was made from.
    ///
    /// A failed attempt leaves its chunks in the log, and nothing on the surface.
    pub(crate) async fn answer(&self, request: &Request) -> Result<(Reply, Vec<u64>), TurnEnd> {
        let policy = self.composition.model.retry_policy();
        let mut id = None;
        let mut retry = 0_u32;
        loop {
            retry = retry.saturating_add(1);
            let (reply, seqs) = self.stream(request.clone()).await?;
            let Some(failure) = reply.failure() else {
                return Ok((reply, seqs));
            };
            let id = id.get_or_insert_with(|| self.shared.new_id());
            let provider = &request.header.config.provider;
            let next = Retry::next(&policy, self.place, id, retry, provider, &failure);
            let Some((next, wait)) = next.filter(|_| !reply.says_something()) else {
                return Err(failure.into());
            };
            self.shared.append(lifecycle::draft("llm/retry", &next))?;
            self.shared.commit().await?;
            self.unless_cancelled(tokio::time::sleep(wait)).await?;
            self.shared.append(lifecycle::draft("llm/retry-started", &next.started()))?;
        }
    }
}

impl Reply {
    /// Why this is no answer; none where it is one.
    fn failure(&self) -> Option<ModelFailure> {
        match &self.finish {
            Finish::Error { failure } | Finish::Aborted { failure } => Some(failure.clone()),
            Finish::MaxTokens => None,
            Finish::Stop | Finish::ToolCalls => self
                .blocks
                .is_empty()
                .then(|| ModelFailure::new("EMPTY_RESPONSE", "the model answered nothing")),
        }
    }

    /// Whether a person has read something of it, or something was asked for.
    fn says_something(&self) -> bool {
        self.blocks.iter().any(|block| match block {
            ReplyBlock::Text { text } => !text.is_empty(),
            ReplyBlock::Reasoning { .. } => false,
            ReplyBlock::ToolCall { .. } => true,
        })
    }
}
