//! Live agents in memory: logs that remember what was done to them, and models that answer as they are told.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use dsh_plugin_host::{
    Agents, Answer, Asker, Birth, Context, Delivery, Failure, Header, LiveAgent, OwnNote, Seed,
    Sessions, Surface,
};
use serde_json::Value;

/// Sessions in memory, with an agent for each.
#[derive(Clone, Default)]
pub struct Living(Arc<Mutex<BTreeMap<String, Session>>>);

/// One of them.
#[derive(Clone, Debug, Default)]
pub struct Session {
    /// The session that it was forked from.
    pub parent: Option<String>,
    /// How many events it inherited.
    pub seed_length: usize,
    /// Everything that happened.
    pub log: Vec<Event>,
    /// Messages that wait for a step, with their keys.
    pub waiting: Vec<(Context, String)>,
    /// What follows its system prompt.
    pub appended: Vec<String>,
    /// What its model answers, turn by turn.
    pub replies: VecDeque<Reply>,
    /// Whether a turn is running.
    pub running: bool,
    /// Who else writes it.
    pub holder: Option<String>,
    /// The first event that no request held yet.
    pub sent: usize,
    /// Turns that were given up.
    pub given_up: usize,
    /// Its latest title.
    pub title: Option<String>,
}

/// An event of a log.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Begins a turn; names the plugin that asked for it.
    TurnStart(Option<String>),
    /// Ends one.
    TurnEnd,
    /// What the person said.
    Prompt(String),
    /// What the model said.
    Reply(String),
    /// What a plugin added.
    Context(Context),
    /// What stands in the place of the message with this id.
    Instead(String, Context),
    /// A compaction's.
    Checkpoint,
}

/// What a model does in one turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// Says something.
    Says(String),
    /// Says something after so many milliseconds.
    Later(u64, String),
    /// Fails.
    Fails,
    /// Never answers.
    Hangs,
}

impl Session {
    /// A session with so many completed turns.
    #[must_use]
    pub fn of_turns(turns: usize) -> Session {
        let mut session = Session::default();
        (0..turns).for_each(|turn| session.turn(&format!("question {turn}"), "an answer"));
        session
    }

    /// Runs a turn of the person's.
    pub fn turn(&mut self, prompt: &str, reply: &str) {
        self.log.extend([
            Event::TurnStart(None),
            Event::Prompt(prompt.to_owned()),
            Event::Reply(reply.to_owned()),
            Event::TurnEnd,
        ]);
    }

    /// Its own history's context messages of `plugin`, waiting ones last.
    #[must_use]
    pub fn notes(&self, plugin: &str) -> Vec<(Option<usize>, Context)> {
        let own = self.log.iter().enumerate().skip(self.seed_length);
        let logged = own.filter_map(|(seq, event)| match event {
            Event::Context(context) | Event::Instead(_, context) => {
                Some((Some(seq), context.clone()))
            }
            _ => None,
        });
        let waiting = self.waiting.iter().map(|(context, _)| (None, context.clone()));
        logged.chain(waiting).filter(|(_, context)| context.plugin == plugin).collect()
    }

    fn completed(&self, before: Option<u64>) -> usize {
        let before = before.map_or(self.log.len(), |before| before as usize);
        let (mut cut, mut open) = (0, false);
        for (seq, event) in self.log.iter().take(before).enumerate() {
            match event {
                Event::TurnStart(_) => open = true,
                Event::TurnEnd => open = false,
                _ => {}
            }
            if !open {
                cut = seq + 1;
            }
        }
        cut
    }

    fn said_through(&self, plugin: &str) -> Option<u64> {
        let (mut asked, mut said) = (false, None);
        for (seq, event) in self.log.iter().enumerate().skip(self.seed_length) {
            match event {
                Event::TurnStart(by) => asked = by.as_deref() == Some(plugin),
                Event::TurnEnd => asked = false,
                Event::Prompt(_) | Event::Reply(_) | Event::Context(_) if !asked => {
                    said = Some(seq as u64);
                }
                _ => {}
            }
        }
        said
    }

    /// The answer that was given under a key, and where its turn ended.
    fn answered(&self, plugin: &str, key: &str) -> Option<(String, u64)> {
        let own = self.log.iter().enumerate().skip(self.seed_length);
        let mut asked = own.skip_while(|(_, event)| match event {
            Event::Context(context) => context.plugin != plugin || fact(context, "key") != key,
            _ => true,
        });
        asked.next()?;
        match (asked.next()?, asked.next()?) {
            ((_, Event::Reply(text)), (seq, Event::TurnEnd)) => Some((text.clone(), seq as u64)),
            _ => None,
        }
    }
}

/// A fact of a message, as text.
#[must_use]
pub fn fact(context: &Context, name: &str) -> String {
    let facts: Value = serde_json::from_str(&context.facts).unwrap_or_default();
    match facts.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

impl Living {
    /// These sessions, by their ids.
    #[must_use]
    pub fn new(sessions: impl IntoIterator<Item = (&'static str, Session)>) -> Living {
        let sessions = sessions.into_iter().map(|(id, session)| (id.to_owned(), session));
        Living(Arc::new(Mutex::new(sessions.collect())))
    }

    fn sessions(&self) -> MutexGuard<'_, BTreeMap<String, Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A copy of a session as it is now; an empty one where there is none.
    #[must_use]
    pub fn session(&self, id: &str) -> Session {
        self.sessions().get(id).cloned().unwrap_or_default()
    }

    /// The ids of all sessions.
    #[must_use]
    pub fn ids(&self) -> Vec<String> {
        self.sessions().keys().cloned().collect()
    }

    /// Changes a session, which is made where there is none.
    pub fn change(&self, id: &str, change: impl FnOnce(&mut Session)) {
        change(self.sessions().entry(id.to_owned()).or_default());
    }

    /// Deletes a session.
    pub fn delete(&self, id: &str) {
        self.sessions().remove(id);
    }

    fn agent(&self, id: &str) -> Arc<dyn LiveAgent> {
        let parent = self.session(id).parent;
        Arc::new(Agent { living: self.clone(), id: id.to_owned(), parent })
    }
}

#[async_trait]
impl Agents for Living {
    async fn current(&self, asker: &Asker) -> Result<Arc<dyn LiveAgent>, Failure> {
        let id = asker.session.as_deref().unwrap_or_default();
        if !self.sessions().contains_key(id) {
            return Err(Failure::new("no-agent", "there is no such session"));
        }
        Ok(self.agent(id))
    }
}

struct Agent {
    living: Living,
    id: String,
    parent: Option<String>,
}

/// A turn that has not ended. Dropping it gives it up.
struct Turn<'a> {
    agent: &'a Agent,
    ended: bool,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.agent.living.change(&self.agent.id, |session| {
            session.log.push(Event::TurnEnd);
            session.given_up += usize::from(!self.ended);
        });
    }
}

#[async_trait]
impl LiveAgent for Agent {
    fn session(&self) -> &str {
        &self.id
    }

    fn parent_session(&self) -> Option<&str> {
        self.parent.as_deref()
    }

    async fn parent(&self, plugin: &str) -> Result<Option<Arc<dyn LiveAgent>>, Failure> {
        let Some(parent) = &self.parent else { return Ok(None) };
        let own = self.living.session(&self.id);
        match own.log.get(own.seed_length) {
            Some(Event::Context(first)) if first.plugin == plugin => {}
            _ => return Err(Failure::new("not-granted", "another's session")),
        }
        if !self.living.sessions().contains_key(parent) {
            return Err(Failure::new("not-found", "it is gone"));
        }
        match self.living.session(parent).holder {
            Some(holder) => Err(Failure::new("held", format!("{holder} writes {parent}"))),
            None => Ok(Some(self.living.agent(parent))),
        }
    }

    async fn said_through(&self, plugin: &str) -> Result<Option<u64>, Failure> {
        Ok(self.living.session(&self.id).said_through(plugin))
    }

    async fn completed_turns(&self, before: Option<u64>) -> Result<Arc<dyn Seed>, Failure> {
        let session = self.living.session(&self.id);
        let events = session.log.iter().take(session.completed(before)).cloned().collect();
        let (living, source) = (self.living.clone(), self.id.clone());
        Ok(Arc::new(Turns { living, source, events, running: session.running }))
    }

    async fn inject(&self, context: Context, key: &str) -> Result<Delivery, Failure> {
        let mut delivered = None;
        self.living.change(&self.id, |session| {
            let mut notes = session.notes(&context.plugin).into_iter();
            let before = notes.find(|(_, note)| fact(note, "key") == key);
            let existed = before.is_some();
            let (seq, message) = match before {
                Some((seq, note)) => (seq, note.id),
                None if session.running => {
                    session.waiting.push((context.clone(), key.to_owned()));
                    (None, context.id.clone())
                }
                None => {
                    session.log.push(Event::Context(context.clone()));
                    (Some(session.log.len() - 1), context.id.clone())
                }
            };
            delivered = Some(Delivery { message, seq: seq.map(|seq| seq as u64), existed });
        });
        delivered.ok_or_else(|| Failure::new("unavailable", "nothing was delivered"))
    }

    async fn withdraw(&self, message: &str, context: Context) -> Result<(), Failure> {
        let session = self.living.session(&self.id);
        let of = |event: &Event| matches!(event, Event::Context(note) if note.id == message);
        let seq = session.log.iter().position(of);
        let seq = seq.ok_or_else(|| Failure::new("not-found", "there is no such message"))?;
        let gone = |event: &Event| matches!(event, Event::Instead(id, _) if id == message);
        if session.log.iter().any(gone) {
            return Err(Failure::new("withdrawn", "it was withdrawn already"));
        }
        if seq < session.sent {
            return Err(Failure::new("sent", "a request held it"));
        }
        let instead = Event::Instead(message.to_owned(), context);
        self.living.change(&self.id, |session| session.log.push(instead));
        Ok(())
    }

    async fn ask(&self, context: Context, key: &str) -> Result<Answer, Failure> {
        let session = self.living.session(&self.id);
        if let Some((text, last_seq)) = session.answered(&context.plugin, key) {
            return Ok(Answer { text, last_seq, existed: true });
        }
        let mut reply = None;
        self.living.change(&self.id, |session| {
            session.log.push(Event::TurnStart(Some(context.plugin.clone())));
            session.log.push(Event::Context(context.clone()));
            reply = session.replies.pop_front();
        });
        let mut turn = Turn { agent: self, ended: false };
        let text = match reply {
            Some(Reply::Says(text)) => text,
            Some(Reply::Later(ms, text)) => {
                tokio::time::sleep(Duration::from_millis(ms)).await;
                text
            }
            Some(Reply::Hangs) => std::future::pending().await,
            Some(Reply::Fails) | None => {
                turn.ended = true;
                return Err(Failure::new("turn-failed", "the model gave no answer"));
            }
        };
        self.living.change(&self.id, |session| session.log.push(Event::Reply(text.clone())));
        turn.ended = true;
        drop(turn);
        let last_seq = self.living.session(&self.id).log.len() as u64 - 1;
        Ok(Answer { text, last_seq, existed: false })
    }
}

/// The completed turns of a session.
struct Turns {
    living: Living,
    source: String,
    events: Vec<Event>,
    running: bool,
}

#[async_trait]
impl Seed for Turns {
    fn length(&self) -> u64 {
        self.events.len() as u64
    }

    fn compacted(&self) -> bool {
        self.events.contains(&Event::Checkpoint)
    }

    fn left_out_open_turn(&self) -> bool {
        self.running
    }

    async fn create(&self, birth: Birth) -> Result<Arc<dyn LiveAgent>, Failure> {
        let source = self.living.session(&self.source);
        if let Some(holder) = source.holder {
            return Err(Failure::new("unavailable", format!("{holder} is in the way")));
        }
        let mut log = self.events.clone();
        log.extend(birth.contexts.into_iter().map(Event::Context));
        let id = format!("{}.{}", self.source, self.living.ids().len());
        let child = Session {
            parent: Some(self.source.clone()),
            seed_length: self.events.len(),
            log,
            appended: birth.append_system,
            ..Session::default()
        };
        self.living.change(&id, |session| *session = child);
        Ok(self.living.agent(&id))
    }
}

#[async_trait]
impl Sessions for Living {
    async fn list(&self, _: &Asker) -> Result<Vec<Header>, Failure> {
        let header = |(id, session): (&String, &Session)| Header {
            id: id.clone(),
            parent: session.parent.clone(),
            ..Header::default()
        };
        Ok(self.sessions().iter().map(header).collect())
    }

    async fn titles(&self, _: &Asker, ids: &[String]) -> Vec<Result<Option<String>, Failure>> {
        let sessions = self.sessions();
        let title = |id: &String| match sessions.get(id) {
            Some(session) => Ok(session.title.clone()),
            None => Err(Failure::new("not-found", id)),
        };
        ids.iter().map(title).collect()
    }

    async fn surfaces(&self, _: &Asker, ids: &[String]) -> Vec<Result<Arc<dyn Surface>, Failure>> {
        ids.iter().map(|_| Err(Failure::new("unavailable", "nobody reads surfaces here"))).collect()
    }

    async fn own_notes(&self, asker: &Asker, id: &str) -> Result<Vec<OwnNote>, Failure> {
        let sessions = self.sessions();
        let session = sessions.get(id).ok_or_else(|| Failure::new("not-found", id))?;
        let note = |(seq, context): (Option<usize>, Context)| OwnNote {
            seq: seq.map(|seq| seq as u64),
            message: context.id,
            facts: context.facts.as_ref().to_owned(),
        };
        Ok(session.notes(&asker.plugin).into_iter().map(note).collect())
    }
}
