//! The gates of plugins, and the rule that a session keeps without them, as the loop's gate.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use dsh_agent::{Call, Failure, ToolGate, Verdict};
use dsh_plugin_host as host;
use dsh_plugin_host::{Level, LogEntry, Services, ToolCall};
use dsh_session::{Note, SessionId, Sessions};

use crate::live::Plugins;

/// Asks the gates of the plugins that were current when the call's turn began.
///
/// A session whose own history says `"tools": "read-only"` is held to that by the plugin that said so, which may know
/// exceptions. Where that plugin did not look at a call, what is not read-only is denied here, and the person is told.
pub(crate) struct Gate {
    live: Arc<Plugins>,
    services: Services,
    sessions: Sessions,
}

impl Gate {
    /// A gate for the agents on `sessions`.
    pub(crate) fn new(live: Arc<Plugins>, services: Services, sessions: Sessions) -> Self {
        Self { live, services, sessions }
    }

    /// The plugin that said that this session is read-only, and did not look at the call.
    fn unheard(&self, session: &SessionId, heard: &[String]) -> Option<String> {
        let notes = self.sessions.live(session)?.notes();
        read_only(&notes).find(|plugin| heard.iter().all(|heard| heard != plugin))
    }
}

#[async_trait]
impl ToolGate for Gate {
    async fn check(&self, call: &Call) -> Result<Verdict, Failure> {
        let generation = self.live.of_turn(&call.session, call.turn);
        let ruling = generation.gates().check(&self.services, &offered(call)).await;
        if let host::Verdict::Deny(reason) = ruling.verdict {
            return Ok(Verdict::Deny(reason));
        }
        if !call.read_only
            && let Some(plugin) = self.unheard(&call.session, &ruling.heard)
        {
            let text = format!("did not look at a call of {:?}, so it was denied", call.name);
            let (session, level) = (Some(call.session.escaped()), Level::Warn);
            self.services.log.write(&LogEntry { plugin: &plugin, session, level, text: &text });
            return Ok(Verdict::Deny(format!(
                "this session changes nothing, and the tool {:?} is not read-only; the plugin {plugin:?}, which could know better, is not here to say so",
                call.name
            )));
        }
        Ok(match ruling.verdict {
            host::Verdict::Ask(reason) => Verdict::Ask(reason),
            _ => Verdict::Allow,
        })
    }
}

fn offered(call: &Call) -> ToolCall {
    ToolCall {
        session: call.session.escaped().to_owned(),
        turn: call.turn,
        step: call.step,
        id: call.id.clone(),
        name: call.name.clone(),
        arguments: call.arguments.as_str().to_owned(),
        read_only: call.read_only,
    }
}

/// The plugins that hold a session read-only: their last word about its tools.
fn read_only(notes: &[Note]) -> impl Iterator<Item = String> {
    let mut words: BTreeMap<String, bool> = BTreeMap::new();
    for note in notes {
        let facts = note.source.facts.object().ok();
        let tools = facts.and_then(|facts| facts.text("tools"));
        let (Some(tools), Some(plugin)) = (tools, &note.source.plugin) else { continue };
        let held = match &*tools {
            "read-only" => true,
            "all" => false,
            _ => continue,
        };
        words.insert(plugin.to_string(), held);
    }
    words.into_iter().filter(|(_, held)| *held).map(|(plugin, _)| plugin)
}
