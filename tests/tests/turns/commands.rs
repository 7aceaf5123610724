//! The command line, as a person and as a program use it.

use std::path::Path;

use clap::Parser as _;
use dsh_session::SessionId;
use dsh_tests::{Rig, mention};
use dsh_wasm::{Cli, Exit};
use serde_json::Value;

/// What a command printed, and how it ended.
struct Ran {
    exit: Result<Exit, String>,
    out: String,
    err: String,
}

async fn dsh_wasm(root: &Path, args: &[&str]) -> Ran {
    let root = ["--root", root.to_str().unwrap()];
    let words = ["dsh-wasm", args[0]].into_iter().chain(root).chain(args[1..].iter().copied());
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let exit = dsh_wasm::execute(Cli::parse_from(words), &mut out, &mut err).await;
    Ran {
        exit: exit.map_err(|err| format!("{err:#}")),
        out: String::from_utf8(out).unwrap(),
        err: String::from_utf8(err).unwrap(),
    }
}

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
    assert!(ran.exit.unwrap_err().starts_with("several sessions begin with session-: "));
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
    assert!(ran.exit.is_err(), "{}", ran.out);
    assert_eq!(dsh_wasm(rig.root(), &["show", &id.to_string()]).await.exit, Ok(Exit::Done));
    drop(held);
    let ran = dsh_wasm(rig.root(), &["run", "--session", &id.to_string(), "hi"]).await;
    assert_eq!(ran.exit, Ok(Exit::Done), "{}", ran.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_answers_line_by_line() {
    let rig = Rig::empty().await;
    let script = rig.root().join("replies.jsonl");
    std::fs::write(&script, "{\"text\":\"from the script\"}\n").unwrap();
    let model = format!("script:{}", script.display());
    let ran = dsh_wasm(rig.root(), &["run", "--model", &model, "hi"]).await;
    assert_eq!((ran.exit, &*ran.out), (Ok(Exit::Done), "from the script\n"));
    std::fs::write(&script, "{\"text\":\n").unwrap();
    let ran = dsh_wasm(rig.root(), &["run", "--model", &model, "hi"]).await;
    assert!(ran.exit.is_err_and(|said| said.contains("line 1")));
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
    assert_eq!(listed.lines().count(), 3, "{listed}");
    for line in listed.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let id: SessionId = serde_json::from_value(line["session"].clone()).unwrap();
        assert!(kept.join("_no-cwd").join(id.to_string()).join("session.jsonl").exists());
    }
    let words = ["dsh-wasm", "demo", "--keep", kept.to_str().unwrap()];
    let again = dsh_wasm::execute(Cli::parse_from(words), &mut Vec::new(), &mut Vec::new()).await;
    assert!(again.is_err_and(|said| said.to_string().contains("not empty")));
}
