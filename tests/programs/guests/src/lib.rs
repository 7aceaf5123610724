//! What the programs share: how a program says that an expectation of its own was not met.

pub use dsh_plugin::*;

/// Passes the batch on and gives back the messages that enter.
///
/// # Errors
///
/// What `next` failed with; a rejection comes back as a failure with the code `rejected`, as no program that uses
/// this expects one.
pub fn next_messages(batch: Vec<Message>) -> Result<Vec<Message>, Failure> {
    match next(batch)? {
        Decision::Enter(messages) => Ok(messages),
        Decision::Reject(_) => Err(failure("rejected")),
    }
}

/// A failure with a code alone.
pub fn failure(code: &str) -> Failure {
    Failure { code: code.to_owned(), message: String::new(), details: None }
}

/// A decision that tells the test what the program has seen.
pub fn seen(what: impl Into<String>) -> Decision {
    Decision::Reject(Rejection { reason: Some(what.into()), details: None })
}

/// A second handle of the same message.
///
/// # Errors
///
/// As `with-texts`, which never fails for a user message without edits.
pub fn copy(message: &Message) -> Result<Message, Failure> {
    message.with_texts(&[])
}
