//! `/side`: a session forked from the completed turns, and framed.

use dsh_plugin::agents::{self, Birth};
use dsh_plugin::commands::{Opening, Outcome};
use dsh_plugin::{Block, Failure};

use super::settings;
use crate::error::Error;
use crate::framing;

/// Opens a side session on the session that the command was given in, and sends it `question`.
pub(super) fn side(question: &str) -> Result<Outcome, Failure> {
    let settings = settings()?;
    let seed = agents::current()?.completed_turns(None)?;
    let (length, open, compacted) = (seed.length(), seed.left_out_open_turn(), seed.compacted());
    if length == 0 && settings.refuse_without_turn {
        return Err(Error::NoTurn.into());
    }
    let text = settings.framing.unwrap_or_else(|| framing::TEXT.to_owned());
    let birth = Birth::new(seed);
    if settings.system_prompt {
        birth.append_system(&text)?;
    }
    birth.add_context(&[Block::Text(text)], framing::FACTS)?;
    let child = Birth::create(birth)?;
    Ok(Outcome::Opened(Opening {
        session: child.session(),
        send: (!question.is_empty()).then(|| question.to_owned()),
        notice: framing::notice(length, open, compacted, settings.system_prompt),
    }))
}
