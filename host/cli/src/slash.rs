//! Slash commands: which plugin offers one, and what it came to.

use std::sync::Arc;

use anyhow::Context as _;
use dsh_agent::{Agent, Model};
use dsh_plugin_host::{Cause, Draft, Invocation, Outcome, Plugin, Question, Seam};
use dsh_session::{SessionId, StoreError, WriteError};

use crate::adapter::{Crew, Stored};
use crate::harness::Harness;
use crate::visible::Line;

/// What a command came to.
pub enum Ran {
    /// For the person.
    Text(String),
    /// The client goes to the session of this agent.
    Opened {
        /// It lives on as long as somebody holds it.
        agent: Agent,
        /// What the client sends there as the person's own prompt.
        send: Option<String>,
        /// For the person, on the way.
        notice: Option<String>,
    },
    /// For the person to edit: accepted, it is given back with the command that it names.
    Draft(Draft),
    /// For the person to say yes to: then the command that it names is run.
    Question(Question),
}

/// A session that a command is given in.
pub enum Attended {
    /// Its agent lives here.
    Agent(Agent),
    /// Another process writes it: commands read it as it is stored, and change nothing there.
    Stored(Box<Stored>),
}

impl Harness {
    /// An agent on a stored session, as [`Harness::resume`] has it; where another process writes the session, what is
    /// stored of it. Nothing is written or repaired then.
    ///
    /// # Errors
    /// When there is no such session, or its log cannot be read or continued.
    pub async fn attend(&self, id: &SessionId, model: Arc<dyn Model>) -> anyhow::Result<Attended> {
        let composition = self.composition(model);
        match self.continued(id, composition.clone()).await {
            Ok(agent) => Ok(Attended::Agent(agent)),
            Err(StoreError::Write(WriteError::Held { holder })) => {
                let stored = Stored::read(self, id, holder, composition).await?;
                Ok(Attended::Stored(Box::new(stored)))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Runs a command such as `/side why?` in a session; `edited` is the text of a draft that was accepted.
    ///
    /// Commands on one session run one at a time. One that acts on agents finds the session's own only while that
    /// lives. Dropping the future cancels the command, and what it asked for.
    ///
    /// # Errors
    /// When no plugin offers it, the plugin refuses, or it fails.
    pub async fn command(
        &self,
        session: &SessionId,
        line: &str,
        edited: Option<String>,
    ) -> anyhow::Result<Ran> {
        self.run(session, None, line, edited).await
    }

    /// The same in a session that another process writes. A command that would change it is refused as `held`.
    ///
    /// # Errors
    /// As [`Harness::command`].
    pub async fn command_beside(
        &self,
        stored: &Stored,
        line: &str,
        edited: Option<String>,
    ) -> anyhow::Result<Ran> {
        self.run(stored.id(), Some(stored), line, edited).await
    }

    async fn run(
        &self,
        session: &SessionId,
        stored: Option<&Stored>,
        line: &str,
        edited: Option<String>,
    ) -> anyhow::Result<Ran> {
        let (name, arguments) = split(line)?;
        let plugin = self.offering(name).await?;
        let _alone = self.roster().alone(session).await;
        let crew = Arc::new(Crew::new(self.clone(), stored.cloned()));
        let services = self.services().clone().with_agents(crew.clone());
        let header = match self.sessions().live(session) {
            Some(live) => live.header().clone(),
            None => self.sessions().store().read_header(session)?,
        };
        let invocation = Invocation {
            session: session.escaped().to_owned(),
            cwd: header.cwd,
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            edited,
        };
        match plugin.run_command(&services, &invocation).await {
            Ok(Outcome::Text(text)) => Ok(Ran::Text(text)),
            Ok(Outcome::Opened(opening)) => {
                let id = SessionId::from_escaped(&opening.session);
                let agent = id.and_then(|id| crew.held(&id));
                let agent = agent.context("the plugin opened a session that is not here")?;
                Ok(Ran::Opened { agent, send: opening.send, notice: opening.notice })
            }
            Ok(Outcome::Draft(draft)) => Ok(Ran::Draft(draft)),
            Ok(Outcome::Question(question)) => Ok(Ran::Question(question)),
            Err(error) => match &error.cause {
                Cause::Failed(failure) => {
                    anyhow::bail!("/{name}: {} [{}]", failure.message, failure.code)
                }
                _ => Err(error.into()),
            },
        }
    }

    /// The first plugin that offers the command now. One that fails hides no command of another.
    async fn offering(&self, name: &str) -> anyhow::Result<Plugin> {
        let generation = self.generation();
        let (mut known, mut failed) = (Vec::new(), None);
        for plugin in generation.plugins().iter().filter(|plugin| plugin.has(Seam::Commands)) {
            match plugin.commands(self.services()).await {
                Ok(offered) if offered.iter().any(|command| command.name == name) => {
                    return Ok(plugin.clone());
                }
                Ok(offered) => {
                    known.extend(offered.into_iter().map(|command| format!("/{}", command.name)));
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        let name = Line(name);
        if let Some(error) = failed {
            let said = format!("no plugin that works offers the command /{name}");
            return Err(anyhow::Error::from(error).context(said));
        }
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        anyhow::bail!("no plugin offers the command /{name}; there are: {known}")
    }
}

/// The name of a command, and what follows it.
fn split(line: &str) -> anyhow::Result<(&str, &str)> {
    let said = line.trim();
    let command = said.strip_prefix('/').with_context(|| {
        format!("a command begins with a slash, such as /side; this does not: {}", Line(said))
    })?;
    let (name, arguments) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    Ok((name, arguments.trim()))
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn a_command_is_a_name_and_what_follows_it() {
        assert_eq!(split(" /side  why\nso? ").unwrap(), ("side", "why\nso?"));
        assert_eq!(split("/sides").unwrap(), ("sides", ""));
        assert!(split("side").is_err_and(|said| said.to_string().contains("begins with a slash")));
    }
}
