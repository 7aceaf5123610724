//! `/merge`: asks a side session for its handback, and adds one note to the session that it was opened on.

use dsh_plugin::agents::{self, Agent};
use dsh_plugin::commands::{Draft, Outcome};
use dsh_plugin::{Block, Failure, query};

use super::{broken, own, settings};
use crate::error::Error;
use crate::handback::{self, Capped};
use crate::note::{self, Handback, Logged, Request};
use crate::{arguments, request};

/// Adds the side session's note, or proposes it; `edited` is a draft that was accepted, with the event it speaks of.
pub(super) fn note(
    preview: bool,
    instruction: &str,
    edited: Option<(String, Option<u64>)>,
) -> Result<Outcome, Failure> {
    let child = agents::current()?;
    let notes = own(&child.session())?;
    let said = said_through(&child, &notes)?;
    let parent = parent_of(&child)?;
    let through = edited.as_ref().and_then(|(_, through)| *through);
    if let Some(through) = through.filter(|through| !note::drafted(&notes, *through, said)) {
        return Err(Error::NoDraft { through, said }.into());
    }
    let through = through.unwrap_or(said);
    let handback = Handback { child: child.session(), through };
    let known = own(&parent)?;
    let before = note::handbacks(&known, &handback.child).filter(|(_, old, _)| **old == handback);
    let before: Vec<bool> = before.map(|(_, _, withdrawn)| withdrawn).collect();
    if before.contains(&false) {
        return Ok(Outcome::Text(already()));
    }
    let cap = settings()?.handback_bytes;
    let text = match edited {
        Some((text, _)) => text,
        None => ask(&child, &notes, through, instruction, cap)?,
    };
    if text.trim().is_empty() {
        return Err(Error::Empty.into());
    }
    if preview {
        let (name, arguments) = ("merge".to_owned(), arguments::accept(through));
        return Ok(Outcome::Draft(Draft { text: text.trim().to_owned(), name, arguments }));
    }
    let Capped { text, omitted } = handback::note(&handback.child, through, &text, cap);
    let facts = handback.facts(text.len(), omitted).map_err(broken)?;
    // Only now: one that is closed is not opened for a note that comes to nothing.
    let agent = child.parent().map_err(kept)?.ok_or(Error::ParentGone)?;
    let bytes = text.len();
    let key = handback.key(before.len());
    let delivery = agent.inject(&[Block::Text(text)], &facts, &key).map_err(kept)?;
    if delivery.existed() {
        return Ok(Outcome::Text(already()));
    }
    let place = match delivery.seq() {
        Some(seq) => format!("it is event {seq} there"),
        None => "it enters with the next step there".to_owned(),
    };
    let cut = match omitted {
        0 => String::new(),
        omitted => format!(" {omitted} bytes of what was handed back were left out."),
    };
    Ok(Outcome::Text(format!("A note of {bytes} bytes was added to {parent}: {place}.{cut}")))
}

fn already() -> String {
    "This side session was merged already, and nothing was said in it since; nothing was added."
        .to_owned()
}

/// The last event of a side session that there can be a note about.
fn said_through(child: &Agent, notes: &[Logged]) -> Result<u64, Failure> {
    let framing = note::framing(notes).ok_or(Error::NotSide("merge"))?;
    let said = child.said_through()?.filter(|said| Some(*said) > framing.seq);
    Ok(said.ok_or(Error::NothingSaid)?)
}

/// The session that a side session was opened on, which has to exist.
fn parent_of(child: &Agent) -> Result<String, Failure> {
    let parent = child.parent_session().ok_or(Error::ParentGone)?;
    match query::read_titles(std::slice::from_ref(&parent)).pop() {
        Some(Err(failure)) if failure.code == "not-found" => Err(Error::ParentGone.into()),
        _ => Ok(parent),
    }
}

/// The handback, asked for unless it was before.
fn ask(
    child: &Agent,
    notes: &[Logged],
    through: u64,
    instruction: &str,
    cap: usize,
) -> Result<String, Failure> {
    let asked = note::request(notes, through, instruction).cloned();
    let asked = asked.unwrap_or_else(|| Request {
        through,
        instruction: instruction.to_owned(),
        key: format!("{through}#{}", note::requests(notes, through).count()),
    });
    let room = handback::room(&child.session(), through, cap);
    let text = request::text(room, &asked.instruction);
    let facts = asked.facts().map_err(broken)?;
    let answer = child.ask(&[Block::Text(text)], &facts, &asked.key).map_err(unasked)?;
    Ok(answer.text())
}

/// A turn that came to no handback.
fn unasked(failure: Failure) -> Failure {
    if failure.code == "no-text" {
        return Error::Empty.into();
    }
    let message = format!("{}; nothing was added", failure.message);
    Failure { message, ..failure }
}

/// A parent that took no note.
fn kept(failure: Failure) -> Failure {
    if failure.code == "not-found" {
        return Error::ParentGone.into();
    }
    let message = format!(
        "{}; nothing was added, and /merge will use the same handback again",
        failure.message
    );
    Failure { message, ..failure }
}
