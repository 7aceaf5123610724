//! The command line, as a person and as a program use it.

use std::sync::Arc;

use clap::Parser as _;
use dsh_agent::Cause;
use dsh_session::{Encoding, SessionId, Store};
use dsh_tests::{Rig, dsh_wasm, mention, model};
use dsh_wasm::{Cli, Exit, Options};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_and_every_view_of_it() {
    let rig = Rig::empty().await;
    let source = rig.session(&["MARMALADE"]).await;
    let target = rig.session(&["hello"]).await.to_string();
    let prompt = format!("compare with {}", mention(&source));
    let ran = dsh_wasm(rig.root(), &["run", "--session", &target, &prompt]).await;
    assert_eq!(ran.exit, Ok(Exit::Done));
    assert!(ran.out.starts_with("You said: compare with @it\n"), "{}", ran.out);
    assert!(ran.err.contains("session-reference: snapshot of “it”"), "{}", ran.err);

    let shown = dsh_wasm(rig.root(), &["show", &target]).await.out;
    let changed = format!("session-reference changed this; you wrote: {prompt}");
    assert!(shown.contains("you     compare with @it") && shown.contains(&changed), "{shown}");
    assert!(!shown.contains("MARMALADE"), "a snapshot is one line: {shown}");
    let full = dsh_wasm(rig.root(), &["show", "--full", &target]).await.out;
    assert!(full.contains("MARMALADE"), "{full}");
    let request = dsh_wasm(rig.root(), &["show", "--request", &target]).await.out;
    assert!(request.contains("compare with @it") && request.contains("MARMALADE"), "{request}");
    let log = dsh_wasm(rig.root(), &["show", "--log", "--json", &target]).await.out;
    let seqs = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["seq"].clone());
    assert!(seqs.eq((0..log.lines().count()).map(Value::from)), "{log}");
    let surface = dsh_wasm(rig.root(), &["show", "--surface", &target]).await.out;
    assert_eq!(surface.lines().count(), 5, "{surface}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_prompt_is_given_back() {
    let rig = Rig::empty().await;
    let id = rig.session(&["hello"]).await;
    let prompt = format!("me: {}", mention(&id));
    let ran = dsh_wasm(rig.root(), &["run", "--session", &id.to_string(), &prompt]).await;
    assert_eq!((ran.exit, &*ran.out), (Ok(Exit::TurnFailed), ""));
    assert!(ran.err.contains("session-reference refused this message: "), "{}", ran.err);
    assert!(ran.err.ends_with(&format!("Nothing of it was sent. Your message:\n{prompt}\n")));
    let json =
        dsh_wasm(rig.root(), &["run", "--json", "--session", &id.to_string(), &prompt]).await;
    let last: Value = serde_json::from_str(json.out.lines().last().unwrap()).unwrap();
    assert_eq!((&last["type"], &last["outcome"]), (&"result".into(), &"error".into()));
    assert_eq!(last["error"]["code"], "SESSION_REFERENCE_SELF_REFERENCE");
    assert_eq!(
        (&last["error"]["plugin"], &last["prompt"]),
        (&"session-reference".into(), &prompt.into())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_named_by_id_beginning_or_uri() {
    let rig = Rig::empty().await;
    let id = rig.session(&["hello"]).await;
    let (whole, uri) = (id.to_string(), dsh_wasm::uri(&id));
    for name in [&whole, &whole[..20], &uri] {
        assert_eq!(dsh_wasm(rig.root(), &["show", name]).await.exit, Ok(Exit::Done), "{name}");
    }
    rig.session(&["another"]).await;
    let ran = dsh_wasm(rig.root(), &["show", "session-"]).await;
    assert!(ran.exit.unwrap_err().starts_with("session- names 2 sessions; "));
    for name in ["nothing", "dsh-session:ImdvbmUi", "dsh-session:%%%"] {
        let ran = dsh_wasm(rig.root(), &["show", name]).await;
        assert!(ran.exit.is_err_and(|said| said.contains(name)), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_and_mentions_name_each_other() {
    let rig = Rig::empty().await;
    let (one, other) = (rig.session(&["apples and pears"]).await, rig.session(&["oranges"]).await);
    let listed = dsh_wasm(rig.root(), &["sessions", "--json", "PEARS"]).await.out;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(
        (&listed["title"], &listed["uri"]),
        (&"apples and pears".into(), &dsh_wasm::uri(&one).into())
    );
    let offered =
        dsh_wasm(rig.root(), &["mentions", "--json", "--for", &other.to_string()]).await.out;
    let offered: Value = serde_json::from_str(&offered).unwrap();
    let expected = format!("@[apples and pears]({})", dsh_wasm::uri(&one));
    assert_eq!(
        (&offered["mention"], &offered["session"]),
        (&expected.into(), &one.escaped().into())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_cannot_move_the_cursor() {
    let rig = Rig::empty().await;
    let id = rig.session(&["\u{1b}[2Jhid\u{202e}den\u{7}"]).await;
    for args in [
        &["sessions"][..],
        &["show", &id.to_string()],
        &["show", "--log", &id.to_string()],
        &["show", "--request", &id.to_string()],
        &["show", "--surface", &id.to_string()],
    ] {
        let ran = dsh_wasm(rig.root(), args).await;
        let acts = |char: char| (char.is_control() && char != '\n') || char == '\u{202e}';
        assert!(!ran.out.contains(acts) && ran.out.contains("hid"), "{args:?}: {}", ran.out);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_log_stands_in_nobodys_way() {
    let rig = Rig::empty().await;
    let id = rig.session(&["hello"]).await;
    let broken = rig.root().join("_no-cwd").join("broken");
    std::fs::create_dir(&broken).unwrap();
    std::fs::write(broken.join("session.jsonl"), "rubbish\n").unwrap();
    let ran = dsh_wasm(rig.root(), &["sessions"]).await;
    assert!(ran.exit == Ok(Exit::Done) && ran.out.contains(&id.to_string()), "{}", ran.out);
    assert!(ran.err.starts_with("cannot be read: ") && ran.err.contains("broken"), "{}", ran.err);
    let ran = dsh_wasm(rig.root(), &["show", "broken"]).await;
    assert!(ran.exit.is_err_and(|said| said.contains("cannot be read")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_being_written_is_left_alone() {
    let rig = Rig::empty().await;
    let id = rig.session(&["hello"]).await;
    let (held, ()) = rig.harness.sessions().open(&id, ()).await.unwrap();
    let ran = dsh_wasm(rig.root(), &["run", "--session", &id.to_string(), "hi"]).await;
    assert_eq!(ran.exit, Ok(Exit::Failed), "{}", ran.out);
    assert!(ran.err.contains(&format!("{id} is being written by process ")), "{}", ran.err);
    assert!(ran.err.ends_with("Your message:\nhi\n"), "{}", ran.err);
    assert_eq!(dsh_wasm(rig.root(), &["show", &id.to_string()]).await.exit, Ok(Exit::Done));
    drop(held);
    let ran = dsh_wasm(rig.root(), &["run", "--session", &id.to_string(), "hi"]).await;
    assert_eq!(ran.exit, Ok(Exit::Done), "{}", ran.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_being_written_has_side_sessions() {
    let rig = Rig::empty().await;
    let id = rig.session(&["hello"]).await.to_string();
    let _held = rig.harness.sessions().open(&SessionId::new(&id), ()).await.unwrap();
    let ran = dsh_wasm(rig.root(), &["side", &id, "why?"]).await;
    let said = ran.out.starts_with("You said: why?\n");
    assert!(ran.exit == Ok(Exit::Done) && said, "{}{}", ran.out, ran.err);
    let ran = dsh_wasm(rig.root(), &["command", &id, "/side so?"]).await;
    let said = ran.out.starts_with("You said: so?\n");
    assert!(ran.exit == Ok(Exit::Done) && said, "{}{}", ran.out, ran.err);
    let ran = dsh_wasm(rig.root(), &["command", &id, "/sides"]).await;
    assert_eq!((ran.exit, ran.out.lines().count()), (Ok(Exit::Done), 2), "{}", ran.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_answers_line_by_line() {
    let rig = Rig::empty().await;
    let script = rig.beside().join("replies.jsonl");
    std::fs::write(&script, "{\"text\":\"from the script\"}\n").unwrap();
    let model = format!("script:{}", script.display());
    let ran = dsh_wasm(rig.root(), &["run", "--model", &model, "hi"]).await;
    assert_eq!((ran.exit, &*ran.out), (Ok(Exit::Done), "from the script\n"));
    std::fs::write(&script, "{\"text\":\n").unwrap();
    let ran = dsh_wasm(rig.root(), &["run", "--model", &model, "hi"]).await;
    assert!(ran.exit == Ok(Exit::Failed) && ran.err.contains("line 1"), "{}", ran.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_leaves_what_it_showed() {
    let dir = tempfile::tempdir().unwrap();
    let kept = dir.path().join("kept");
    let words = ["dsh-wasm", "demo", "--encoding", "raw", "--keep", kept.to_str().unwrap()];
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let exit = dsh_wasm::execute(Cli::parse_from(words), &mut out, &mut err).await.unwrap();
    let shown = String::from_utf8(out).unwrap();
    assert_eq!(exit, Exit::Done);
    assert!(shown.contains("<referenced-sessions>\n[{\"sessionId\":"), "{shown}");
    let listed = dsh_wasm(&kept, &["sessions", "--json"]).await.out;
    assert_eq!(listed.lines().count(), 4, "{listed}");
    for line in listed.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let id: SessionId = serde_json::from_value(line["session"].clone()).unwrap();
        assert!(kept.join("_no-cwd").join(id.to_string()).join("session.jsonl").exists());
    }
    let words = ["dsh-wasm", "demo", "--keep", kept.to_str().unwrap()];
    let again = dsh_wasm::execute(Cli::parse_from(words), &mut Vec::new(), &mut Vec::new()).await;
    assert!(again.is_err_and(|said| said.to_string().contains("not empty")));
}

/// One session of each kind whose id or text no Rust string can hold.
async fn strange(rig: &Rig) {
    for (id, text) in [(&[0x61, 0xd800][..], "one"), (&[0x61, 0xd801], "other")] {
        let header = dsh_session::Header::new(SessionId::from_units(id), 1, None);
        let live = rig.harness.sessions().create(header, None).await.unwrap();
        let message = format!(
            r#"{{"id":"m1","role":"user","source":{{"kind":"user"}},"content":[{{"type":"text","text":"{text}\ud83d"}}]}}"#
        );
        let json = dsh_session::Json::parse(&message).unwrap();
        live.append(dsh_session::Draft::node("user/message", json, None)).unwrap();
        let title = r#"{"title":"half\ud83d","messageSeqs":[0],"source":{"kind":"user"}}"#;
        let title = dsh_session::Json::parse(title).unwrap();
        live.append(dsh_session::Draft::new("session/title", title)).unwrap();
        live.commit().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_character_harms_no_answer() {
    let rig = Rig::empty().await;
    strange(&rig).await;
    let target = rig.session(&["hello"]).await.to_string();
    let uri = dsh_wasm::uri(&SessionId::from_units(&[0x61, 0xd801]));
    for args in [
        &["sessions", "--json"][..],
        &["mentions", "--json", "--for", &target],
        &["show", "--json", "--request", &uri],
        &["show", "--json", "--log", &uri],
        &["show", "--json", "--surface", &uri],
        &["show", "--json", &uri],
    ] {
        let ran = dsh_wasm(rig.root(), args).await;
        assert_eq!(ran.exit, Ok(Exit::Done), "{args:?}");
        let whole = |line: &str| dsh_session::Json::parse(line).is_ok();
        assert!(ran.out.contains(r"\ud8") && ran.out.lines().all(whole), "{args:?}: {}", ran.out);
    }
    let ran = dsh_wasm(rig.root(), &["show", "a\u{fffd}"]).await;
    let said = ran.exit.unwrap_err();
    assert!(said.contains("names 2 sessions") && said.contains(&uri), "{said}");
    assert!(dsh_wasm(rig.root(), &["sessions"]).await.out.contains(&uri));
}

#[tokio::test(flavor = "multi_thread")]
async fn new_logs_are_written_as_those_that_are_there() {
    let rig = Rig::with(Options { encoding: Some(Encoding::Raw), ..Options::standard() }).await;
    rig.session(&["hello"]).await;
    assert_eq!(dsh_wasm(rig.root(), &["run", "hi"]).await.exit, Ok(Exit::Done));
    let store = Store::new(rig.root(), Encoding::Zstd, Arc::new(|| 0));
    assert_eq!(store.list().unwrap().sessions.len(), 2);
    for project in std::fs::read_dir(rig.root()).unwrap() {
        for session in std::fs::read_dir(project.unwrap().path()).unwrap() {
            assert!(session.unwrap().path().join("session.jsonl").exists());
        }
    }
    let ran = dsh_wasm(rig.root(), &["run", "--encoding", "zstd", "hi"]).await;
    assert!(
        ran.exit == Ok(Exit::Failed) && ran.err.contains("leave out --encoding"),
        "{}",
        ran.err
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_in_a_session_is_sent_first_and_never_lost() {
    let rig = Rig::empty().await;
    let script = rig.beside().join("replies.jsonl");
    let held = model(&[json!({ "text": "half", "hang": true })]);
    let agent = rig.harness.create(None, held).await.unwrap();
    let id = agent.live().header().id.to_string();
    let mut events = agent.live().subscribe();
    for prompt in ["first", "second", "third"] {
        agent.followup(agent.prompt(prompt).unwrap()).await.unwrap();
    }
    while events.next().await.is_some_and(|event| &*event.kind != "assistant/chunk") {}
    agent.cancel(Cause::User, true).await.unwrap();
    agent.when_idle().await.unwrap();
    drop((agent, events));
    // A failing turn leaves the rest waiting, and the prompt that came last is given back.
    std::fs::write(&script, r#"{"error":{"code":"SERVER","message":"unwell"}}"#).unwrap();
    let model = format!("script:{}", script.display());
    let run = ["run", "--session", &id, "--model", &model, "mine"];
    let ran = dsh_wasm(rig.root(), &run).await;
    assert_eq!(ran.exit, Ok(Exit::TurnFailed), "{}", ran.err);
    assert!(ran.err.contains("this was waiting: second\n"), "{}", ran.err);
    assert!(ran.err.contains("Your message:\nmine\n1 more wait in this session"), "{}", ran.err);
    std::fs::write(&script, "{\"text\":\"one\"}\n{\"text\":\"two\"}\n").unwrap();
    let ran = dsh_wasm(rig.root(), &[&run[..5], &["--json", "mine"]].concat()).await;
    assert_eq!(ran.exit, Ok(Exit::Done), "{}", ran.err);
    let last: Value = serde_json::from_str(ran.out.lines().last().unwrap()).unwrap();
    assert_eq!((&last["reply"], &last["prompt"]), (&"two".into(), &Value::Null));
    let shown = dsh_wasm(rig.root(), &["show", &id]).await.out;
    assert!(shown.contains("you     third\n") && shown.contains("you     mine\n"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_that_cannot_be_sent_is_given_back() {
    let rig = Rig::empty().await;
    let file = rig.beside().join("file");
    std::fs::write(&file, "").unwrap();
    for args in [&["run", "precious"][..], &["run", "--json", "precious"]] {
        let ran = dsh_wasm(&file, args).await;
        assert_eq!(ran.exit, Ok(Exit::Failed));
        assert!(ran.err.contains("cannot be listed: Not a directory"), "{}", ran.err);
        assert_eq!(ran.err.matches("Not a directory").count(), 1, "{}", ran.err);
        let given_back = if args.len() == 2 { &ran.err } else { &ran.out };
        assert!(given_back.contains("precious"), "{given_back}");
    }
    let ran = dsh_wasm(rig.root(), &["run", "--session", "gone", "precious"]).await;
    assert!(ran.err.ends_with("Your message:\nprecious\n"), "{}", ran.err);
    let ran = dsh_wasm(rig.root(), &["run", " \n"]).await;
    assert!(ran.err.contains("nothing to send"), "{}", ran.err);
    assert!(rig.harness.sessions().list().await.unwrap().sessions.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_turn_cannot_move_the_cursor() {
    let rig = Rig::empty().await;
    let dir = rig.root().join("_no-cwd").join("evil");
    std::fs::create_dir_all(&dir).unwrap();
    let log = r#"{"type":"session","version":0,"id":"evil","createdAt":1,"delegationDepth":0}
{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}
{"type":"turn/end","seq":1,"time":1,"data":{"turn":1,"reason":{"kind":"error","error":{"message":"m\u001b[31m","code":"c\u001b[31m","plugin":"p\u202e"}}}}
"#;
    std::fs::write(dir.join("session.jsonl"), log).unwrap();
    let shown = dsh_wasm(rig.root(), &["show", "evil"]).await.out;
    assert!(
        shown.contains("p<U+202E> refused this message: m<U+001B>[31m [c<U+001B>[31m]"),
        "{shown}"
    );
    assert!(!shown.contains(['\u{1b}', '\u{202e}']));
}
