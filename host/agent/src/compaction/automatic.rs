//! Compaction that a turn begins by itself.

use dsh_session::Message;

use super::CompactError;
use super::attempt::Attempt;
use super::events::Bracket;
use super::gauge::of_message;
use super::span::Span;
use crate::TurnEnd;
use crate::turn::Turn;

/// What a provider says whose window a request does not fit into (contracts §3).
const TOO_LONG: &str = "CONTEXT_WINDOW_EXCEEDED";

/// Whether a step failed because its request did not fit into the window.
pub(crate) fn is_too_long(end: &TurnEnd) -> bool {
    matches!(end, TurnEnd::Error { error } if error.code == TOO_LONG)
}

impl Turn<'_> {
    /// Makes room before a step that `batch` is about to enter, where its request would come near the window.
    ///
    /// Where no room can be made the step goes on as it is: the provider may still take it.
    pub(crate) async fn make_room(&mut self, batch: &[Message]) -> Result<(), TurnEnd> {
        let window = self.composition.model.route().context_window;
        let compaction = self.composition.compaction;
        let Some(window) = window.filter(|_| compaction.automatic && !self.no_room) else {
            return Ok(());
        };
        let surface = self.shared.live().surface();
        let reading = self.shared.measure(&self.composition, &surface);
        let coming = batch.iter().map(of_message).fold(reading.tokens, u64::saturating_add);
        if compaction.is_pressed(coming, window) {
            let retain = reading.estimate_of(compaction.retained(window));
            self.compact(retain, None).await?;
        }
        Ok(())
    }

    /// Makes room after the provider found the request of the open step too long; all that entered it, from the node
    /// `entered` on, stays word for word. Gives whether there is room now.
    pub(crate) async fn make_room_again(&mut self, entered: Option<u64>) -> Result<bool, TurnEnd> {
        if !self.composition.compaction.automatic {
            return Ok(false);
        }
        self.compact(0, entered).await
    }

    /// Compacts all but what `retain` tokens hold. An attempt that failed is the turn's last.
    async fn compact(&mut self, retain: u64, verbatim: Option<u64>) -> Result<bool, TurnEnd> {
        let span = match Span::older(&self.shared.live().surface(), retain, verbatim) {
            Ok(Some(span)) => span,
            // What cannot be cut safely is left to whoever asks for a compaction to hear about.
            Ok(None) | Err(_) => {
                self.no_room = true;
                return Ok(false);
            }
        };
        let bracket = Bracket {
            compaction_id: self.shared.new_id(),
            source_command_id: None,
            turn: Some(self.place.turn),
        };
        let attempt = Attempt {
            shared: self.shared,
            composition: &self.composition,
            cancel: &self.cancel,
            bracket,
            focus: None,
        };
        match attempt.run(span).await {
            Ok(_) => Ok(true),
            Err(CompactError::Cancelled(cause)) => Err(cause.into()),
            Err(CompactError::Log(error)) => Err(error.into()),
            Err(_) => {
                self.no_room = true;
                Ok(false)
            }
        }
    }
}
