//! One attempt: a bracket in the log, a summary of the model, and a checkpoint in the place of the span.

use super::events::{Bracket, replacement};
use super::gauge::of_surface;
use super::span::Span;
use super::summary::{self, Summary};
use super::{CompactError, Compacted};
use crate::driver::Shared;
use crate::lifecycle::causes;
use crate::{Cancel, Composition, LogError};

/// What an attempt works with.
pub(super) struct Attempt<'a> {
    pub(super) shared: &'a Shared,
    pub(super) composition: &'a Composition,
    pub(super) cancel: &'a Cancel,
    pub(super) bracket: Bracket,
    /// What the person wants to be kept above all.
    pub(super) focus: Option<&'a str>,
}

impl Attempt<'_> {
    /// Replaces `span` by a summary; gives what it did, and the event of the summary.
    ///
    /// The bracket is closed whatever happens, with the reason where it failed.
    pub(super) async fn run(self, span: Span) -> Result<(Compacted, u64), CompactError> {
        let start = self.shared.open_bracket(self.bracket.start())?;
        let done = match self.summarize(&span).await {
            Ok(summary) => self.replace(&span, &summary, start),
            Err(error) => Err(error),
        };
        let why = done.as_ref().err().map(said);
        self.shared.close_bracket(self.bracket.end(why.as_deref()))?;
        self.shared.commit().await?;
        done
    }

    /// Asks for the summary, once the log on disk says that it does.
    async fn summarize(&self, span: &Span) -> Result<Summary, CompactError> {
        self.shared.commit().await?;
        let instruction = summary::instruction(&self.shared.new_id(), &self.bracket, self.focus)?;
        let session = &self.shared.live().header().id;
        let header = self.shared.headers(|headers| headers.next(self.composition));
        let max_tokens = self.composition.compaction.max_tokens;
        let request = summary::request(session, header, max_tokens, span, instruction);
        summary::ask(self.composition, request, self.cancel).await
    }

    fn replace(
        &self,
        span: &Span,
        summary: &Summary,
        start: u64,
    ) -> Result<(Compacted, u64), CompactError> {
        let before = self.shared.live().surface();
        if !span.stands_on(&before) {
            return Err(CompactError::Changed);
        }
        let checkpoint = self.bracket.checkpoint(&self.shared.new_id(), summary)?;
        let made = self.shared.append(self.bracket.summary(summary, span))?.seq;
        let draft = replacement(&checkpoint, [start, made], span).ok_or(CompactError::Changed)?;
        self.shared.append_measured(Ok(draft))?;
        let after = of_surface(&self.shared.live().surface());
        let (nodes, shadowed) = (span.seqs.len(), span.tokens);
        Ok((Compacted { nodes, shadowed, before: of_surface(&before), after }, made))
    }
}

/// The reason as the log keeps it: of a model's failure the words of the provider.
fn said(error: &CompactError) -> String {
    match error {
        CompactError::Summary(why) => why.clone(),
        error => causes(error),
    }
}

impl From<serde_json::Error> for CompactError {
    fn from(error: serde_json::Error) -> Self {
        Self::Log(LogError::from(error))
    }
}
