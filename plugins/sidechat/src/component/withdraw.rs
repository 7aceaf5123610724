//! `/merge --undo` and `/merge --fork`: the last note withdrawn, or a session from before it.

use dsh_plugin::agents::{self, Agent, Birth};
use dsh_plugin::commands::{Opening, Outcome};
use dsh_plugin::{Block, Failure};

use super::{broken, own, settings};
use crate::error::Error;
use crate::note::Logged;
use crate::{framing, handback, note};

/// Withdraws the last note of this side session, as long as no model has read it.
pub(super) fn undo() -> Result<Outcome, Failure> {
    let (child, parent) = both()?;
    let notes = own(&parent.session())?;
    let last = last(&notes, &child)?;
    let facts = note::withdrawal_facts(&child, &last.message).map_err(broken)?;
    let line = Block::Text(handback::WITHDRAWN.to_owned());
    match parent.withdraw(&last.message, &[line], &facts) {
        Ok(()) => Ok(Outcome::Text("The note was withdrawn.".to_owned())),
        Err(failure) if failure.code == "sent" => Err(Error::Sent.into()),
        Err(failure) if failure.code == "withdrawn" => Err(Error::NothingMerged.into()),
        Err(failure) => Err(failure),
    }
}

/// Opens a session that holds what was there before the last note of this side session.
pub(super) fn fork() -> Result<Outcome, Failure> {
    let (child, parent) = both()?;
    let notes = own(&parent.session())?;
    let seed = parent.completed_turns(last(&notes, &child)?.seq)?;
    let birth = Birth::new(seed);
    // What holds for a side session holds for whatever comes of it.
    if note::is_read_only(&notes) {
        let text = settings()?.framing.unwrap_or_else(|| framing::TEXT.to_owned());
        birth.add_context(&[Block::Text(text)], framing::FACTS)?;
    }
    let fork = Birth::create(birth)?;
    let notice = "This session is from before the note; the one that has it stays as it is.";
    Ok(Outcome::Opened(Opening {
        session: fork.session(),
        send: None,
        notice: Some(notice.to_owned()),
    }))
}

/// This side session's id, and the agent of the session that it was opened on.
fn both() -> Result<(String, Agent), Failure> {
    let child = agents::current()?;
    let session = child.session();
    if note::framing(&own(&session)?).is_none() {
        return Err(Error::NotSide("merge").into());
    }
    let parent = child.parent().map_err(|failure| match failure.code.as_str() {
        "not-found" => Error::ParentGone.into(),
        _ => failure,
    })?;
    Ok((session, parent.ok_or(Error::ParentGone)?))
}

/// The last note of `child` that stands.
fn last<'a>(notes: &'a [Logged], child: &'a str) -> Result<&'a Logged, Error> {
    let mut standing = note::handbacks(notes, child).filter(|(_, _, withdrawn)| !withdrawn);
    standing.next_back().map(|(logged, _, _)| logged).ok_or(Error::NothingMerged)
}
