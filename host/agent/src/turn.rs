//! One turn: claims, decisions and steps, until the model owes nothing (contracts §6.2).

use std::collections::HashSet;
use std::sync::Arc;

use dsh_session::{Message, Role};

use crate::driver::Shared;
use crate::lifecycle::Place;
use crate::{Cancel, Cause, Composition, Decision, Failure, LogError, StepInfo, TurnEnd, foreign};

/// A turn that runs. `Err` of its functions ends it.
pub(crate) struct Turn<'a> {
    pub(crate) shared: &'a Arc<Shared>,
    pub(crate) composition: Arc<Composition>,
    pub(crate) cancel: Cancel,
    pub(crate) place: Place,
    /// Whether the step at `place` has begun and not ended.
    step_open: bool,
    /// Whether an attempt to make room failed; the turn makes no other.
    pub(crate) no_room: bool,
}

/// What a step leaves to do.
pub(crate) enum StepEnd {
    /// The model waits for the results of its tools.
    Owing,
    /// Nothing, unless something came meanwhile.
    Done(TurnEnd),
}

impl<'a> Turn<'a> {
    /// Runs the next turn to its end, which is logged.
    pub(crate) async fn run(shared: &'a Arc<Shared>) {
        let (turn, composition, cancel) = shared.next_turn();
        let place = Place { turn, step: 0 };
        if let Err(error) = shared.start_turn(place) {
            return shared.turn_failed(turn, error.into());
        }
        let mut running =
            Self { shared, composition, cancel, place, step_open: false, no_room: false };
        let end = running.steps().await.unwrap_or_else(|end| end);
        // Where the log refuses an end that a plugin gave details for, it still takes a plain one.
        let closed = running.close(end).or_else(|error| running.close(error.into()));
        if let Err(error) = closed {
            shared.turn_failed(turn, error.into());
        }
    }

    async fn steps(&mut self) -> Result<TurnEnd, TurnEnd> {
        let mut done = None;
        let mut cut_short = false;
        loop {
            let first = self.place.step == 0;
            self.check_cancelled()?;
            let batch = self.shared.claim(first)?;
            if let Some(end) = done.take_if(|_| batch.is_empty()) {
                return Ok(end);
            }
            self.make_room(&batch).await?;
            let entered = self.decide(batch).await?;
            if entered.is_empty() {
                if first {
                    return Ok(TurnEnd::Completed);
                }
                if let Some(end) = done.take() {
                    return Ok(end);
                }
            }
            match self.step(entered).await? {
                StepEnd::Owing => done = None,
                StepEnd::Done(end) => {
                    // Room that ran out once stays the outcome, whatever later steps bring.
                    cut_short |= end == TurnEnd::MaxTokens;
                    done = Some(if cut_short { TurnEnd::MaxTokens } else { end });
                }
            }
        }
    }

    /// Lets the plugins decide about the next step, and checks what they say.
    async fn decide(&self, batch: Vec<Message>) -> Result<Vec<Message>, TurnEnd> {
        let info = StepInfo {
            session: self.shared.live().header().id.clone(),
            turn: self.place.turn,
            step: self.place.step + 1,
            cancel: self.cancel.clone(),
        };
        let deciding = foreign::call(self.composition.pre_step.pre_step(info, batch));
        let decision = self.unless_cancelled(deciding).await?;
        self.check_cancelled()?;
        match decision.map_err(|panic| TurnEnd::failed("PANIC", panic))?? {
            Decision::Enter(entered) => {
                self.check_entered(&entered)?;
                Ok(entered)
            }
            Decision::Reject { reason, details, by } => {
                let step = Place { step: self.place.step + 1, ..self.place };
                let why = step.rejected(reason.as_deref(), by.as_deref(), details.as_ref());
                self.shared.append(why)?;
                Err(TurnEnd::Blocked { reason, plugin: by, details })
            }
        }
    }

    /// History holds a message once, and only the loop speaks for the model.
    fn check_entered(&self, entered: &[Message]) -> Result<(), TurnEnd> {
        let invalid = |message: String| TurnEnd::from(Failure::new("INVALID_DECISION", message));
        if entered.is_empty() {
            return Ok(());
        }
        let history = self.shared.live().messages();
        let mut ids: HashSet<&str> = history.iter().map(Message::id).collect();
        for message in entered {
            if message.role() != Role::User {
                return Err(invalid(format!("message {:?} speaks for the model", message.id())));
            }
            if !ids.insert(message.id()) {
                return Err(invalid(format!("message {:?} is in history already", message.id())));
            }
        }
        Ok(())
    }

    pub(crate) fn open_step(&mut self) -> Result<(), LogError> {
        self.place.step += 1;
        self.shared.append(self.place.step_start())?;
        self.step_open = true;
        Ok(())
    }

    pub(crate) fn close_step(&mut self) -> Result<(), LogError> {
        if std::mem::take(&mut self.step_open) {
            self.shared.append(self.place.step_end())?;
        }
        Ok(())
    }

    /// Ends what is open.
    fn close(&mut self, end: TurnEnd) -> Result<(), LogError> {
        self.close_step()?;
        self.shared.end_turn(self.place, end)
    }

    pub(crate) fn check_cancelled(&self) -> Result<(), TurnEnd> {
        self.cancel.cause().map_or(Ok(()), |cause| Err(cause.into()))
    }

    /// Waits for `work`, unless the turn is cancelled first: then it is dropped.
    pub(crate) async fn unless_cancelled<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> Result<T, Cause> {
        tokio::select! {
            biased;
            cause = self.cancel.cancelled() => Err(cause),
            done = work => Ok(done),
        }
    }
}

impl From<Cause> for TurnEnd {
    fn from(reason: Cause) -> Self {
        Self::Aborted { reason }
    }
}
