//! Cancelling a turn, and the reason that stays with it.

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// Why a turn was cancelled, as `turn/end` keeps it (contracts §6.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Cause {
    /// The person stopped it.
    User,
    /// The agent that delegated to this one stopped it.
    Parent,
    /// A hook stopped it.
    Hook {
        /// In the hook's words.
        reason: String,
    },
    /// The agent was closed.
    Disposed,
}

/// Tells whoever works for a turn that it was cancelled. Cheap to clone.
///
/// The loop drops what it waits for by itself; this is for work that outlives its future, such as a process.
#[derive(Clone, Debug)]
pub struct Cancel(watch::Receiver<Option<Cause>>);

impl Cancel {
    /// For a call outside of any turn: it is never cancelled.
    pub fn never() -> Self {
        CancelSource::new().token()
    }

    /// The cause, once the turn was cancelled.
    pub fn cause(&self) -> Option<Cause> {
        self.0.borrow().clone()
    }

    /// Waits for the cancellation; for ever where the turn ends without one.
    pub async fn cancelled(&self) -> Cause {
        let mut receiver = self.0.clone();
        let cause = receiver.wait_for(Option::is_some).await.ok().and_then(|cause| cause.clone());
        match cause {
            Some(cause) => cause,
            None => std::future::pending().await,
        }
    }
}

/// The one who may cancel. The first cause stands.
#[derive(Debug)]
pub(crate) struct CancelSource(watch::Sender<Option<Cause>>);

impl CancelSource {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(None))
    }

    pub(crate) fn token(&self) -> Cancel {
        Cancel(self.0.subscribe())
    }

    pub(crate) fn cancel(&self, cause: Cause) {
        self.0.send_if_modified(|current| {
            let first = current.is_none();
            if first {
                *current = Some(cause);
            }
            first
        });
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.borrow().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_cause_stands() {
        let source = CancelSource::new();
        let token = source.token();
        assert_eq!(token.cause(), None);
        source.cancel(Cause::Hook { reason: "too late".into() });
        source.cancel(Cause::User);
        assert_eq!(token.cancelled().await, Cause::Hook { reason: "too late".into() });
    }

    #[test]
    fn causes_are_written_as_the_contract_says() {
        let written = |cause| serde_json::to_string(&cause).unwrap();
        assert_eq!(written(Cause::User), r#"{"kind":"user"}"#);
        assert_eq!(
            written(Cause::Hook { reason: "no".into() }),
            r#"{"kind":"hook","reason":"no"}"#
        );
    }
}
