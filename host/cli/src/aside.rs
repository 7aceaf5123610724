//! What is said beside the reply while a turn runs: notices, and questions to the person.

use std::io::{self, Write};
use std::sync::Arc;

use async_trait::async_trait;
use dsh_agent::{Approval, Approver, Call};
use dsh_tools::{Preview, Toolbox};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use crate::surroundings::Person;
use crate::visible::Line;

/// Something for whoever shows the turn: only they know when the reply does not stand in the way.
pub(crate) enum Aside {
    /// For the person to know.
    Notice(String),
    /// For the person to answer.
    Question(Question),
}

/// What is said beside, for whoever shows the turn, and whom they ask. Dropping it says that nobody is there.
pub(crate) struct Beside {
    asides: UnboundedReceiver<Aside>,
    person: Option<Arc<dyn Person>>,
}

impl Beside {
    /// Where to say things, and where they are heard.
    pub(crate) fn new(person: Option<Arc<dyn Person>>) -> (UnboundedSender<Aside>, Self) {
        let (sender, asides) = unbounded_channel();
        (sender, Self { asides, person })
    }

    /// The next thing said; none where nothing can be said any more.
    pub(crate) async fn next(beside: &mut Option<Self>) -> Option<Aside> {
        beside.as_mut()?.asides.recv().await
    }

    /// Who can answer, where somebody can.
    pub(crate) fn person(&self) -> Option<Arc<dyn Person>> {
        self.person.clone()
    }

    /// Tells the notices that came so far. No call runs, so nothing is asked.
    pub(crate) fn tell(&mut self, err: &mut dyn Write) -> io::Result<()> {
        while let Ok(aside) = self.asides.try_recv() {
            if let Aside::Notice(text) = aside {
                writeln!(err, "{}", Line(&text))?;
            }
        }
        Ok(())
    }
}

/// Whether a call may run.
pub(crate) struct Question {
    /// What would happen.
    pub preview: Preview,
    /// Why it is asked.
    pub reason: Option<String>,
    /// Takes the answer; closed where the question was taken back.
    pub answer: oneshot::Sender<Answer>,
}

/// What the person says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// This once.
    Yes,
    /// From now on, as long as this runs.
    Always,
    /// Or anything else.
    No,
}

impl Answer {
    /// What was typed. Whatever is not clearly a yes is a no.
    pub(crate) fn of(typed: &str) -> Self {
        match typed.trim().to_lowercase().as_str() {
            "y" | "yes" => Self::Yes,
            "a" | "always" => Self::Always,
            _ => Self::No,
        }
    }
}

/// Has the person asked by whoever shows the turn.
pub(crate) struct Asker {
    pub toolbox: Toolbox,
    pub asides: UnboundedSender<Aside>,
}

#[async_trait]
impl Approver for Asker {
    async fn approve(&self, call: &Call, reason: Option<&str>) -> Approval {
        let preview = self.toolbox.preview(call).await;
        let (answer, answered) = oneshot::channel();
        let question = Question { preview, reason: reason.map(str::to_owned), answer };
        if self.asides.send(Aside::Question(question)).is_err() {
            return Approval::Unavailable;
        }
        match answered.await {
            Ok(Answer::Yes) => Approval::AllowedOnce,
            // Where it cannot be remembered it is asked again, which is no harm.
            Ok(Answer::Always) => {
                let _ = self.toolbox.remember(call);
                Approval::AllowedOnce
            }
            Ok(Answer::No) => Approval::Rejected,
            Err(_) => Approval::Unavailable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_is_one() {
        for (typed, answer) in [
            ("y\n", Answer::Yes),
            (" YES ", Answer::Yes),
            ("a", Answer::Always),
            ("", Answer::No),
            ("yy", Answer::No),
            ("n", Answer::No),
        ] {
            assert_eq!(Answer::of(typed), answer, "{typed:?}");
        }
    }
}
