//! Tools from the command line: what runs, what is asked, and what a person and a program are told.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use clap::Parser as _;
use dsh_wasm::{Cli, Exit, Person, Surroundings};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder with a session root, a script for the model, and a folder to work in.
struct Desk {
    dir: TempDir,
    around: Surroundings,
}

/// What a command printed, and how it ended.
struct Ran {
    exit: Exit,
    out: String,
    err: String,
}

/// Answers every question alike, and keeps them.
struct Answers(&'static str, Arc<Mutex<Vec<String>>>);

impl Person for Answers {
    fn agrees(&self, _: &str) -> io::Result<bool> {
        Ok(false)
    }

    fn answer(&self, question: &str) -> io::Result<String> {
        self.1.lock().unwrap().push(question.to_owned());
        Ok(self.0.to_owned())
    }
}

impl Desk {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("work")).unwrap();
        let around = Surroundings { cwd: dir.path().join("work"), ..Surroundings::default() };
        Self { dir, around }
    }

    /// Somebody is there, who answers so.
    fn with(answer: &'static str) -> (Self, Arc<Mutex<Vec<String>>>) {
        let questions: Arc<Mutex<Vec<String>>> = Arc::default();
        let mut desk = Self::new();
        desk.around.person = Some(Arc::new(Answers(answer, Arc::clone(&questions))));
        (desk, questions)
    }

    fn work(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join("work").join(name)
    }

    /// Runs a turn in which the model makes these calls one after another and then says "done".
    async fn run(&self, calls: &[(&str, Value)], args: &[&str]) -> Ran {
        let replies = calls.iter().map(|(name, arguments)| json!({ "text": "One moment.", "calls": [{ "name": name, "arguments": arguments }] }).to_string());
        let script: Vec<String> = replies.chain([r#"{"text":"done"}"#.into()]).collect();
        let file = self.dir.path().join("script");
        fs::write(&file, script.join("\n")).unwrap();
        let model = format!("script:{}", file.display());
        let root = self.dir.path().join("sessions");
        let words = ["dsh-wasm", "run", "--root", path(&root), "--model", &model]
            .into_iter()
            .chain(args.iter().copied())
            .chain(["go"]);
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let exit = dsh_wasm::execute_in(Cli::parse_from(words), &self.around, &mut out, &mut err)
            .await
            .unwrap();
        Ran { exit, out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap() }
    }
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn edit(old: &str, new: &str) -> (&'static str, Value) {
    ("edit", json!({ "file_path": "a.txt", "old_string": old, "new_string": new }))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_shows_its_diff_and_happens_when_the_person_says_so() {
    let (desk, questions) = Desk::with("y");
    fs::write(desk.work("a.txt"), "one\ntwo\n").unwrap();
    let ran = desk.run(&[edit("two", "th\u{1b}[31mree")], &[]).await;
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    assert_eq!(ran.out, "One moment.\ndone\n");
    let shown = format!(
        "change {}\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+th<U+001B>[31mree\n",
        desk.work("a.txt").canonicalize().unwrap().display()
    );
    assert!(ran.err.contains(&shown), "{}", ran.err);
    assert!(
        ran.err.contains("no approval rule allows it; --allow 'edit(a.txt)' would"),
        "{}",
        ran.err
    );
    assert_eq!(questions.lock().unwrap().len(), 1);
    assert_eq!(fs::read_to_string(desk.work("a.txt")).unwrap(), "one\nth\u{1b}[31mree\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn always_is_asked_once_and_no_is_no() {
    let (desk, questions) = Desk::with("a");
    fs::write(desk.work("a.txt"), "one\n").unwrap();
    let ran = desk.run(&[edit("one", "two"), edit("two", "three")], &[]).await;
    assert_eq!((ran.exit, questions.lock().unwrap().len()), (Exit::Done, 1));
    assert_eq!(fs::read_to_string(desk.work("a.txt")).unwrap(), "three\n");
    let (desk, _) = Desk::with("n");
    let ran = desk.run(&[("shell", json!({ "command": "touch made" }))], &[]).await;
    assert_eq!(ran.exit, Exit::Done);
    assert!(ran.err.contains("the user rejected this call"), "{}", ran.err);
    assert!(!desk.work("made").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nobody_can_answer_the_call_is_denied_and_the_rule_named() {
    let desk = Desk::new();
    let call = ("shell", json!({ "command": "touch made" }));
    let ran = desk.run(std::slice::from_ref(&call), &[]).await;
    assert_eq!(ran.exit, Exit::Unanswered);
    assert!(ran.err.contains("shell did not run, for nobody could be asked: no approval rule allows it; --allow 'shell(touch made)' would"), "{}", ran.err);
    assert!(!desk.work("made").exists());
    let ran = desk.run(std::slice::from_ref(&call), &["--json"]).await;
    let last: Value = serde_json::from_str(ran.out.lines().last().unwrap()).unwrap();
    assert_eq!((ran.exit, &last["outcome"]), (Exit::Unanswered, &json!("completed")));
    assert_eq!(
        last["unanswered"],
        json!([{ "tool": "shell", "reason": "no approval rule allows it; --allow 'shell(touch made)' would" }])
    );
    let ran = desk.run(&[call], &["--allow", "shell(touch made)"]).await;
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    assert!(desk.work("made").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_and_choices_of_the_command_line_hold() {
    let desk = Desk::new();
    fs::write(desk.work("a.txt"), "one\n").unwrap();
    let read = ("read", json!({ "file_path": "a.txt" }));
    let ran = desk.run(std::slice::from_ref(&read), &["--deny", "read(*.txt)"]).await;
    assert!(ran.err.contains("the approval rule `read(*.txt)` denies this call"), "{}", ran.err);
    let ran = desk.run(std::slice::from_ref(&read), &["--tools", "none"]).await;
    assert!(ran.err.contains("unknown tool \"read\""), "{}", ran.err);
    let other = desk.dir.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("b.txt"), "two\n").unwrap();
    let far = ("read", json!({ "file_path": "../other/b.txt" }));
    let ran = desk.run(std::slice::from_ref(&far), &[]).await;
    assert!(ran.err.contains("lies outside of the working directory"), "{}", ran.err);
    let ran = desk.run(&[far], &["--add-dir", path(&other)]).await;
    assert!(!ran.err.contains("outside"), "{}", ran.err);
    let wrong = Cli::try_parse_from(["dsh-wasm", "run", "--allow", "write(", "go"])
        .unwrap_err()
        .to_string();
    assert!(wrong.contains("its parenthesis is not closed"), "{wrong}");
}

const SERVER: &str = r#"
while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}' ;;
    *'"tools/call"'*) result='{"content":[{"type":"text","text":"seen"}]}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

#[tokio::test(flavor = "multi_thread")]
async fn servers_of_the_settings_give_tools() {
    let mut desk = Desk::new();
    let config = desk.dir.path().join("config");
    fs::create_dir(&config).unwrap();
    let server = config.join("server.sh");
    fs::write(&server, SERVER).unwrap();
    let settings = |trusted: bool| {
        format!(
            "[mcp.s]\ncommand = ['/bin/sh', '{}']\ntrusted = {trusted}\n[mcp.gone]\ncommand = ['/nowhere/at/all']\n",
            server.display()
        )
    };
    fs::write(config.join("config.toml"), settings(true)).unwrap();
    desk.around.config = Some(config.clone());
    desk.around.variables = vec![("PATH".into(), "/usr/bin:/bin".into())];
    let look = ("s__look", json!({}));
    let ran = desk.run(std::slice::from_ref(&look), &["--json"]).await;
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    assert!(ran.out.contains(r#""text":"seen""#), "{}", ran.out);
    assert!(
        ran.err.contains("MCP server gone: it gives no tools: `/nowhere/at/all` cannot be started"),
        "{}",
        ran.err
    );
    // Its word that it only reads is not believed, so it is asked about.
    fs::write(config.join("config.toml"), settings(false)).unwrap();
    let ran = desk.run(&[look], &[]).await;
    assert_eq!(ran.exit, Exit::Unanswered, "{}", ran.err);
    assert!(ran.err.contains("--allow 's__look' would"), "{}", ran.err);
}
