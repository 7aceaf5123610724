//! What the tests share: the component with its settings, and a person at the keyboard.

use std::sync::Arc;

use dsh_plugin_host::{
    CallError, Cause, Context, Grants, Invocation, Manifest, Opening, Outcome, Plugin, Services,
    Settings, ToolCall, Verdict,
};
use program_tests::{Living, Session, fact, host, services_with};

/// The component, with agents in memory.
pub(crate) struct Rig {
    pub(crate) plugin: Plugin,
    pub(crate) services: Services,
    pub(crate) living: Living,
}

/// A rig with the plugin's own settings and everything granted that it declares.
pub(crate) async fn rig(living: Living) -> Rig {
    rig_with(living, "{}", true).await
}

pub(crate) async fn rig_with(living: Living, settings: &str, append_system: bool) -> Rig {
    let manifest = Manifest::parse(dsh_plugins::SIDECHAT.manifest).expect("a manifest");
    let mut grants = Grants::new(manifest.declares.clone());
    grants.capabilities.append_system = append_system;
    let settings = Settings(serde_json::from_str(settings).expect("an object"));
    let wasm = dsh_plugins::SIDECHAT.wasm;
    let plugin = host().load(manifest, wasm, settings, &grants).await.expect("a plugin");
    let services = services_with(living.clone()).0.with_agents(Arc::new(living.clone()));
    Rig { plugin, services, living }
}

/// A session `main` with two completed turns, and a side session of it with one of its own.
pub(crate) async fn opened() -> (Rig, String) {
    opened_with("{}").await
}

pub(crate) async fn opened_with(settings: &str) -> (Rig, String) {
    let rig = rig_with(Living::new([("main", Session::of_turns(2))]), settings, true).await;
    let child = rig.open("main").await.session;
    rig.living.change(&child, |session| session.turn("why?", "because"));
    (rig, child)
}

impl Rig {
    /// Gives a command as a person would type it.
    pub(crate) async fn run(&self, session: &str, line: &str) -> Result<Outcome, CallError> {
        self.run_edited(session, line, None).await
    }

    pub(crate) async fn run_edited(
        &self,
        session: &str,
        line: &str,
        edited: Option<&str>,
    ) -> Result<Outcome, CallError> {
        let (name, arguments) = line.split_once(' ').unwrap_or((line, ""));
        let invocation = Invocation {
            session: session.to_owned(),
            cwd: None,
            name: name.trim_start_matches('/').to_owned(),
            arguments: arguments.to_owned(),
            edited: edited.map(str::to_owned),
        };
        self.plugin.run_command(&self.services, &invocation).await
    }

    /// What a command says.
    pub(crate) async fn text(&self, session: &str, line: &str) -> String {
        match self.run(session, line).await {
            Ok(Outcome::Text(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    /// The code and the message with which a command fails.
    pub(crate) async fn failure(&self, session: &str, line: &str) -> (String, String) {
        match self.run(session, line).await {
            Err(CallError { cause: Cause::Failed(failure), .. }) => (failure.code, failure.message),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn open(&self, session: &str) -> Opening {
        self.open_with(session, "/side").await
    }

    pub(crate) async fn open_with(&self, session: &str, line: &str) -> Opening {
        match self.run(session, line).await {
            Ok(Outcome::Opened(opening)) => opening,
            other => panic!("{other:?}"),
        }
    }

    /// What a session's own history has of this plugin, as its `form`.
    pub(crate) fn forms(&self, session: &str) -> Vec<String> {
        self.notes(session, |_| true).iter().map(|note| fact(note, "form")).collect()
    }

    /// The notes that were handed back to a session.
    pub(crate) fn handbacks(&self, session: &str) -> Vec<Context> {
        self.notes(session, |note| fact(note, "form") == "handback")
    }

    fn notes(&self, session: &str, which: impl Fn(&Context) -> bool) -> Vec<Context> {
        let notes = self.living.session(session).notes("sidechat").into_iter();
        notes.map(|(_, note)| note).filter(which).collect()
    }

    /// What the gate says about a call of a tool that is not read-only.
    pub(crate) async fn check(&self, session: &str, tool: &str) -> Verdict {
        self.check_call(session, tool, false).await
    }

    pub(crate) async fn check_call(&self, session: &str, tool: &str, read_only: bool) -> Verdict {
        let call = ToolCall {
            session: session.to_owned(),
            turn: 1,
            step: 1,
            id: "call".to_owned(),
            name: tool.to_owned(),
            arguments: "{}".to_owned(),
            read_only,
        };
        self.plugin.check_tool(&self.services, &call).await.expect("a verdict")
    }
}

/// The whole text of a message.
pub(crate) fn text(note: &Context) -> String {
    note.content.iter().filter_map(|block| block.as_text()).collect()
}
