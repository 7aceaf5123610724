//! The gate and the person: in whole turns of a real agent, with a model that replays a script.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use dsh_agent::{Agent, Approval, Approver, Call, Composition, MessageIds, Progress, Verdict};
use dsh_model::{Script, Scripted};
use dsh_session::{Encoding, Event, Header, SessionId, Sessions, Store};
use dsh_tools::{Preview, Rules, Toolbox};
use serde_json::{Value, json};

use crate::rig::Rig;

/// Is shown what would happen, does something meanwhile, and answers.
struct Person {
    toolbox: Toolbox,
    answer: Approval,
    always: bool,
    meanwhile: Box<dyn Fn() + Send + Sync>,
    shown: Mutex<Vec<Preview>>,
}

impl Person {
    fn saying(rig: &Rig, answer: Approval) -> Arc<Self> {
        Arc::new(Self::new(rig, answer))
    }

    fn new(rig: &Rig, answer: Approval) -> Self {
        let (toolbox, meanwhile) = (rig.toolbox.clone(), Box::new(|| ()));
        Self { toolbox, answer, always: false, meanwhile, shown: Mutex::default() }
    }
}

#[async_trait]
impl Approver for Person {
    async fn approve(&self, call: &Call, _: Option<&str>) -> Approval {
        let preview = self.toolbox.preview(call).await;
        self.shown.lock().unwrap().push(preview);
        (self.meanwhile)();
        if self.always {
            self.toolbox.remember(call).unwrap();
        }
        self.answer
    }
}

/// A turn in which the model makes these calls one after another; the results as the model reads them.
async fn turn(rig: &Rig, person: Option<Arc<Person>>, calls: &[(&str, Value)]) -> Vec<String> {
    let replies = calls.iter().map(|(name, arguments)| {
        json!({ "calls": [{ "name": name, "arguments": arguments }] }).to_string()
    });
    let script: Vec<String> = replies.chain([r#"{"text":"done"}"#.into()]).collect();
    let mut parts =
        Composition::new(Arc::new(Scripted::new(Script::parse(&script.join("\n")).unwrap())));
    parts.tools = rig.toolbox.tools();
    parts.gates = vec![rig.toolbox.gate()];
    parts.approver = person.map(|person| person as Arc<dyn Approver>);
    let store = || Store::new(rig.dir.path().join("sessions"), Encoding::Zstd, Arc::new(|| 0));
    let id = SessionId::new(&uuid::Uuid::new_v4().to_string());
    let live = Sessions::new(store()).create(Header::new(id.clone(), 0, None), None).await.unwrap();
    let ids: MessageIds = Arc::new(|| uuid::Uuid::new_v4().to_string());
    let agent = Agent::start(live, Progress::default(), parts, ids);
    agent.followup(agent.prompt("go").unwrap()).await.unwrap();
    agent.when_idle().await.unwrap();
    let mut events: Vec<Event> = Vec::new();
    store().read(&id, &mut events).unwrap();
    let results = events.iter().filter(|event| &*event.kind == "tool/result");
    let text = |event: &Event| {
        event.data.read::<Value>().unwrap()["message"]["content"][0]["content"][0]["text"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    results.map(text).collect()
}

fn edit(name: &str, old: &str, new: &str) -> (&'static str, Value) {
    ("edit", json!({ "file_path": name, "old_string": old, "new_string": new }))
}

#[tokio::test]
async fn an_edit_asks_shows_its_diff_and_happens() {
    let rig = Rig::new();
    rig.put("a.txt", "one\ntwo\n");
    let person = Person::saying(&rig, Approval::AllowedOnce);
    let read = ("read", json!({ "file_path": "a.txt" }));
    let results =
        turn(&rig, Some(Arc::clone(&person)), &[read, edit("a.txt", "two", "three")]).await;
    assert_eq!(results, ["     1\tone\n     2\ttwo", "a.txt is changed: 1 line added, 1 removed"]);
    let shown = person.shown.lock().unwrap();
    let [shown] = &shown[..] else { panic!("{shown:?}") };
    assert_eq!(
        shown.title,
        format!("change {}", rig.path("a.txt").canonicalize().unwrap().display())
    );
    assert_eq!(shown.body, "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n");
    assert_eq!(rig.bytes("a.txt"), b"one\nthree\n");
}

#[tokio::test]
async fn what_the_person_refuses_does_not_happen() {
    let rig = Rig::new();
    rig.put("a.txt", "one\n");
    let person = Person::saying(&rig, Approval::Rejected);
    let results = turn(
        &rig,
        Some(person),
        &[edit("a.txt", "one", "two"), ("shell", json!({ "command": "touch b" }))],
    )
    .await;
    assert!(
        results.iter().all(|result| result == "Error: the user rejected this call"),
        "{results:?}"
    );
    assert_eq!(rig.bytes("a.txt"), b"one\n");
    assert!(!rig.path("b").exists());
}

#[tokio::test]
async fn where_nobody_can_answer_the_model_reads_which_rule_would_allow_it() {
    let rig = Rig::new();
    let results = turn(&rig, None, &[("shell", json!({ "command": "cargo test" }))]).await;
    let said = &results[0];
    assert!(
        said.starts_with("Error: this call needs the user's approval, and nobody can be asked"),
        "{said}"
    );
    assert!(
        said.ends_with("no approval rule allows it; --allow 'shell(cargo test)' would"),
        "{said}"
    );
}

#[tokio::test]
async fn a_file_that_changes_while_the_person_decides_is_left_alone() {
    let rig = Rig::new();
    let path = rig.put("a.txt", "one\n");
    let meanwhile = Box::new(move || fs::write(&path, "one\nsneaked in\n").unwrap());
    let person = Arc::new(Person { meanwhile, ..Person::new(&rig, Approval::AllowedOnce) });
    let results = turn(&rig, Some(person), &[edit("a.txt", "one", "two")]).await;
    assert_eq!(
        results,
        ["Error: a.txt has changed since the user was shown this change; read it again"]
    );
    assert_eq!(rig.bytes("a.txt"), b"one\nsneaked in\n");
}

#[tokio::test]
async fn a_call_that_cannot_be_done_is_no_question() {
    let rig = Rig::new();
    rig.put("a.txt", "one\n");
    let person = Person::saying(&rig, Approval::AllowedOnce);
    let outside = ("write", json!({ "file_path": "../x", "content": "" }));
    let results =
        turn(&rig, Some(Arc::clone(&person)), &[edit("a.txt", "none", "x"), outside]).await;
    assert!(results[0].contains("does not occur in a.txt"), "{results:?}");
    assert!(results[1].contains("lies outside"), "{results:?}");
    assert!(person.shown.lock().unwrap().is_empty());
}

#[tokio::test]
async fn an_answer_for_the_session_holds_for_exactly_that() {
    let rig = Rig::new();
    rig.put("a.txt", "one\n");
    let person = Arc::new(Person { always: true, ..Person::new(&rig, Approval::AllowedOnce) });
    let calls = [
        edit("a.txt", "one", "two"),
        edit("./a.txt", "two", "three"),
        ("shell", json!({ "command": "true" })),
        ("shell", json!({ "command": "true" })),
        ("shell", json!({ "command": "true x" })),
        ("write", json!({ "file_path": "b.txt", "content": "" })),
    ];
    turn(&rig, Some(Arc::clone(&person)), &calls).await;
    let shown = person.shown.lock().unwrap();
    let titles: Vec<&str> =
        shown.iter().map(|shown| shown.title.split(' ').next().unwrap()).collect();
    assert_eq!(titles, ["change", "shell", "shell", "create"]);
}

#[tokio::test]
async fn a_rule_holds_for_where_a_path_really_leads() {
    let parse = |rule: &str| vec![rule.parse().unwrap()];
    let rig = Rig::with(Rules {
        allow: parse("write(src/**)"),
        deny: parse("read(secret)"),
        ..Rules::default()
    });
    rig.put("secret", "s");
    rig.put("src/a", "x");
    rig.put("other/b", "x");
    symlink("../other", rig.path("src/link")).unwrap();
    symlink("secret", rig.path("plain")).unwrap();
    let write = |path: &str| json!({ "file_path": path, "content": "x" });
    assert_eq!(rig.verdict("write", write("src/new")).await, Verdict::Allow);
    for path in ["src/../other/new", "src/link/new"] {
        assert!(matches!(rig.verdict("write", write(path)).await, Verdict::Ask(_)), "{path}");
    }
    for path in ["secret", "plain", "./src/../secret"] {
        let verdict = rig.verdict("read", json!({ "file_path": path })).await;
        assert!(matches!(verdict, Verdict::Deny(_)), "{path}");
    }
}
