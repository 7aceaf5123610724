//! Scopes: a session that a plugin may not read does not exist for it.

use dsh_plugin_host::{
    Capabilities, Chain, Decision, Failure, Header, Plugin, PreStepCall, Scope, SessionScopes,
};
use program_tests::{
    self as programs, Stored, StoredSession, everything, host, load, prompt, services_with,
};

const SCOPES: [Scope; 5] = [Scope::None, Scope::Own, Scope::Lineage, Scope::SameCwd, Scope::All];

/// A family around `me`, a neighbour in its directory, and strangers, one of whose logs cannot be read.
fn everyone() -> Vec<StoredSession> {
    let session = |id: &str, cwd: Option<&str>, parent: Option<&str>| StoredSession {
        header: Header {
            id: id.to_owned(),
            cwd: cwd.map(str::to_owned),
            parent: parent.map(str::to_owned),
            ..Header::default()
        },
        title: Some(format!("title of {id}")),
        texts: Ok(vec![format!("secret of {id}")]),
    };
    let unreadable = StoredSession {
        texts: Err(Failure::new("unreadable", "broken at byte 7")),
        ..session("broken", None, None)
    };
    vec![
        session("grandmother", None, Some("deleted")),
        session("mother", Some("/elsewhere"), Some("grandmother")),
        session("me", Some("/here"), Some("mother")),
        session("sister", Some("/elsewhere"), Some("mother")),
        session("child", Some("/here"), Some("me")),
        session("neighbour", Some("/here"), None),
        session("stranger", Some("/here/below"), None),
        unreadable,
    ]
}

/// What a scope reaches, said once more in the plainest way.
fn reached(scope: Scope) -> &'static [&'static str] {
    match scope {
        Scope::Own => &["me"],
        Scope::Lineage => &["grandmother", "mother", "me", "child"],
        Scope::SameCwd => &["me", "child", "neighbour"],
        Scope::All => {
            &["grandmother", "mother", "me", "sister", "child", "neighbour", "stranger", "broken"]
        }
        _ => &[],
    }
}

/// The program that sees all there is to see, with these scopes granted.
async fn observer(titles: Scope, texts: Scope) -> Plugin {
    let mut granted = Capabilities::default();
    granted.imports = everything().imports;
    granted.sessions = SessionScopes::new(titles, texts);
    load(&host(), programs::OBSERVES_SESSIONS, granted).await.expect("a plugin")
}

/// All that `plugin` observes of a store in a step of `me`, asking for everyone and for a few that never were.
async fn observed(plugin: &Plugin, sessions: Vec<StoredSession>) -> String {
    let ids: Vec<String> = everyone().into_iter().map(|session| session.header.id).collect();
    let asked = format!("{} deleted never {}", ids.join(" "), ids.join(" "));
    let call = PreStepCall::new("me", 1, 1, vec![prompt("m0", &asked)]);
    let (services, _, log) = services_with(Stored(sessions));
    let decision = Chain::new([plugin.clone()]).pre_step(&services, call).await;
    let Ok(Decision::Reject(rejection)) = decision else { panic!("{decision:?}") };
    assert_eq!(log.entries(), []);
    rejection.reason.expect("what it saw")
}

#[tokio::test]
pub(crate) async fn observes_sessions() {
    for scope in SCOPES {
        let seen = observed(&observer(scope, scope).await, everyone()).await;
        for session in everyone() {
            let id = session.header.id;
            let inside = reached(scope).contains(&id.as_str());
            let listed = seen.lines().next().is_some_and(|list| list.contains(&format!("{id} in")));
            assert_eq!(listed, inside, "{scope}: {id}\n{seen}");
            let title = format!("title of {id}: Some(\"title of {id}\")");
            assert_eq!(seen.contains(&title), inside, "{scope}: {id}\n{seen}");
            let text = format!("secret of {id}");
            assert_eq!(seen.contains(&text), inside && id != "broken", "{scope}: {id}\n{seen}");
            let note = format!("notes in {id}: Some(1)");
            assert_eq!(seen.contains(&note), inside, "{scope}: {id}\n{seen}");
        }
    }
}

#[tokio::test]
async fn nothing_outside_its_scopes_changes_what_a_plugin_sees() {
    for titles in SCOPES {
        for texts in SCOPES {
            let plugin = observer(titles, texts).await;
            let full = observed(&plugin, everyone()).await;
            // Outside both scopes a session can as well not be there; outside one of them that part of it can be
            // anything.
            let mut without = everyone();
            without.retain(|session| {
                let id = session.header.id.as_str();
                reached(titles).contains(&id) || reached(texts).contains(&id)
            });
            for session in &mut without {
                let id = session.header.id.as_str();
                if !reached(titles).contains(&id) {
                    session.title = None;
                }
                if !reached(texts).contains(&id) {
                    session.texts = Ok(Vec::new());
                }
            }
            let all_in_scope = (titles, texts) == (Scope::All, Scope::All);
            assert_eq!(without == everyone(), all_in_scope, "{titles}, {texts}");
            assert_eq!(full, observed(&plugin, without).await, "{titles}, {texts}");
        }
    }
}

#[tokio::test]
async fn a_hidden_session_answers_in_the_words_for_a_missing_one() {
    for scope in SCOPES {
        let seen = observed(&observer(scope, scope).await, everyone()).await;
        let hidden = everyone().into_iter().map(|session| session.header.id);
        let hidden = hidden.filter(|id| !reached(scope).contains(&id.as_str()));
        for id in hidden.chain(["deleted".to_owned(), "never".to_owned()]) {
            let words = format!("{id}: not-found (there is no session \"{id}\") None");
            let said = seen.lines().filter(|line| line.contains(&format!(" {id}: ")));
            // A title, a surface and notes, each asked twice of those that exist.
            let asked = if id == "deleted" || id == "never" { 3 } else { 6 };
            assert_eq!(
                said.filter(|line| line.ends_with(&words)).count(),
                asked,
                "{scope}\n{seen}"
            );
        }
    }
}
