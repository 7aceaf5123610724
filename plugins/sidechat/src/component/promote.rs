//! `/promote`: lifts the read-only rule of a side session.

use dsh_plugin::agents;
use dsh_plugin::commands::{Outcome, Question};
use dsh_plugin::{Block, Failure};

use super::own;
use crate::error::Error;
use crate::{framing, note};

/// Asks the person, or does it where they have said yes.
pub(super) fn promote(yes: bool) -> Result<Outcome, Failure> {
    let agent = agents::current()?;
    let notes = own(&agent.session())?;
    if note::framing(&notes).is_none() {
        return Err(Error::NotSide("promote").into());
    }
    if !note::is_read_only(&notes) {
        return Ok(Outcome::Text("This side session can change things already.".to_owned()));
    }
    if !yes {
        return Ok(Outcome::Question(Question {
            text: "Let this side session change things? It works beside the session that it was opened on, on the same files.".to_owned(),
            name: "promote".to_owned(),
            arguments: "--yes".to_owned(),
        }));
    }
    let text = Block::Text(framing::PROMOTION.to_owned());
    agent.inject(&[text], framing::PROMOTION_FACTS, framing::PROMOTION_KEY)?;
    Ok(Outcome::Text("This side session can change things from here on.".to_owned()))
}
