//! The seam `commands`: what a person can run, such as `/side`.

use std::sync::Arc;

use crate::bindings::exports::commands as wit;
use crate::budget::Meter;
use crate::error::{CallError, Cause, Refusal};
use crate::plugin::Plugin;
use crate::services::Services;
use crate::state::State;

const AVAILABLE: &str = "dsh:agent/commands.available";
const RUN: &str = "dsh:agent/commands.run";

/// One command on offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Without the slash: letters, digits and hyphens.
    pub name: String,
    /// One line for a list of commands.
    pub summary: String,
    /// Such as `[question]`; empty where it takes nothing.
    pub arguments: String,
}

/// A command as a person gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The session that it was given in.
    pub session: String,
    /// That session's absolute working directory.
    pub cwd: Option<String>,
    /// Without the slash.
    pub name: String,
    /// What follows the name, trimmed.
    pub arguments: String,
    /// The text of a [`Draft`], as the person left it.
    pub edited: Option<String>,
}

/// What a command came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// For the person.
    Text(String),
    /// The client goes there.
    Opened(Opening),
    /// The client lets the person edit it.
    Draft(Draft),
    /// The client asks the person.
    Question(Question),
}

/// A session to switch to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// One that the command has held the agent of.
    pub session: String,
    /// What the client sends there as the person's own prompt: a part of what they typed.
    pub send: Option<String>,
    /// For the person, on the way.
    pub notice: Option<String>,
}

/// A text to edit, accept or drop. On acceptance the client runs command `name` of the same plugin with `arguments`
/// and the text as [`Invocation::edited`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// What can be edited.
    pub text: String,
    /// Without the slash.
    pub name: String,
    /// For that command.
    pub arguments: String,
}

/// Something to say yes or no to. On yes the client runs command `name` of the same plugin with `arguments`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What is asked.
    pub text: String,
    /// Without the slash.
    pub name: String,
    /// For that command.
    pub arguments: String,
}

impl Plugin {
    /// The commands that it offers now.
    ///
    /// # Errors
    ///
    /// Whatever ended the call; the plugin cannot fail by itself. A command whose name nobody could type is a breach
    /// of the contract.
    pub async fn commands(&self, services: &Services) -> Result<Vec<Command>, CallError> {
        let this = self.clone();
        self.call(self.state(services, None), services, AVAILABLE, move |store, instance| {
            Box::pin(async move {
                let Some(seam) = &this.seams().commands else {
                    return Ok(Err(Cause::NotExported));
                };
                let guest = seam.load(&mut *store, &instance)?;
                let commands = guest.call_available(&mut *store).await?;
                Ok(Ok(store.data_mut().commands(commands)?))
            })
        })
        .await
    }

    /// Runs one of its commands, as `invocation.session` asks for it.
    ///
    /// It has the limits of any call but the one of the clock, as it may wait for a model; while it does, it is no
    /// running call of the plugin. Dropping the future cancels it, and what it asked the agents for.
    ///
    /// # Errors
    ///
    /// The plugin's own failure, or whatever else ended the call. To send what the person did not type, or to open a
    /// session that the command never held, is a breach of the contract.
    pub async fn run_command(
        &self,
        services: &Services,
        invocation: &Invocation,
    ) -> Result<Outcome, CallError> {
        let (this, invocation) = (self.clone(), Arc::new(invocation.clone()));
        let session = invocation.session.clone();
        let mut state = self.state(services, Some(&session));
        state.meter = Meter::without_clock(self.limits());
        state.has_agent = true;
        self.call(state, services, RUN, move |store, instance| {
            Box::pin(async move {
                let Some(seam) = &this.seams().commands else {
                    return Ok(Err(Cause::NotExported));
                };
                let guest = seam.load(&mut *store, &instance)?;
                let handle = store.data_mut().push(invocation.clone())?;
                let outcome = guest.call_run(&mut *store, handle).await?;
                let state = store.data_mut();
                match outcome {
                    Ok(outcome) => Ok(Ok(state.outcome(&invocation, outcome)?)),
                    Err(failure) => Ok(Err(Cause::Failed(state.failure(failure)?))),
                }
            })
        })
        .await
    }
}

impl State {
    fn commands(&mut self, commands: Vec<wit::Command>) -> wasmtime::Result<Vec<Command>> {
        let command = |command| {
            let wit::Command { name, summary, arguments } = command;
            let bytes = name.len() + summary.len() + arguments.len();
            self.output(size_of::<wit::Command>() + bytes)?;
            Ok(Command { name: checked_name(name)?, summary, arguments })
        };
        commands.into_iter().map(command).collect()
    }

    /// Takes an outcome out of the guest's hands.
    fn outcome(
        &mut self,
        invocation: &Invocation,
        outcome: wit::Outcome,
    ) -> wasmtime::Result<Outcome> {
        match outcome {
            wit::Outcome::Text(text) => {
                self.output(text.len())?;
                Ok(Outcome::Text(text))
            }
            wit::Outcome::Opened(wit::Opening { session, send, notice }) => {
                let texts = [&send, &notice].into_iter().flatten();
                self.output(session.len() + texts.map(String::len).sum::<usize>())?;
                if !self.held.contains(&session) {
                    return Err(Refusal::NotHeld { session }.into());
                }
                // It will speak for the person.
                if send.as_ref().is_some_and(|send| !invocation.arguments.contains(send.as_str())) {
                    return Err(Refusal::NotTyped.into());
                }
                Ok(Outcome::Opened(Opening { session, send, notice }))
            }
            wit::Outcome::Draft(wit::Draft { text, name, arguments }) => {
                self.output(text.len() + name.len() + arguments.len())?;
                Ok(Outcome::Draft(Draft { text, name: checked_name(name)?, arguments }))
            }
            wit::Outcome::Question(wit::Question { text, name, arguments }) => {
                self.output(text.len() + name.len() + arguments.len())?;
                Ok(Outcome::Question(Question { text, name: checked_name(name)?, arguments }))
            }
        }
    }
}

/// A name that can be typed after a slash.
fn checked_name(name: String) -> Result<String, Refusal> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if name.is_empty() || !name.chars().all(plain) {
        return Err(Refusal::CommandName { name });
    }
    Ok(name)
}
