//! Settings, trust and instruction files, from the command line down to the log.

use std::fs;
use std::sync::atomic::Ordering;

use dsh_wasm::Exit;
use serde_json::Value;

use crate::desk::Desk;

fn text(message: &Value) -> &str {
    message["content"][0]["text"].as_str().unwrap()
}

/// The texts that instruction files gave, in the order of history.
fn instructions(messages: &[Value]) -> Vec<&str> {
    let own = messages.iter().filter(|m| m["source"]["plugin"] == "dsh-wasm:instructions");
    own.map(text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_value_is_shown_with_where_it_comes_from() {
    let mut desk = Desk::new(&[
        ("config/config.toml", "[model]\nkey = 'sk-secret'\nname = 'mine'\n"),
        ("project/.dsh-wasm/config.toml", "encoding = 'raw'\nmodel.name = 'theirs'\nroot = '/'\n"),
        ("project/AGENTS.md", "Be kind."),
    ]);
    desk.variables = vec![("DSH_WASM_COMPACTION_AUTO".into(), "false".into())];
    let ran = desk.run(&["config", "--set", "model.max-tokens=7"]).await;
    assert_eq!(ran.exit, Ok(Exit::Done));
    let (user, project) =
        (desk.path("config/config.toml"), desk.path("project/.dsh-wasm/config.toml"));
    let (user, project) = (user.display(), project.display());
    let words: Vec<String> =
        ran.out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for line in [
        format!("model.key (hidden) ← {user}:2:7"),
        format!("model.name \"mine\" ← {user}:3:8"),
        format!("encoding \"raw\" ← {project}:1:12"),
        format!("model.name \"theirs\" ← {project}:2:14 (not used: the project is not trusted)"),
        format!("root \"/\" ← {project}:3:8 (not used: no project may set it)"),
        "compaction.auto false ← DSH_WASM_COMPACTION_AUTO".into(),
        "compaction.auto true ← default (overridden)".into(),
        "model.max-tokens 7 ← --set".into(),
        format!("project {project} (not trusted; `dsh-wasm trust` shows what it would set)"),
        format!("instructions {} (8 of 8 bytes)", desk.path("project/AGENTS.md").display()),
    ] {
        assert!(words.contains(&line), "{line}\n{}", ran.out);
    }
    let json = desk.run(&["config", "--json"]).await.out;
    assert!(!ran.out.contains("sk-secret") && !json.contains("sk-secret"));
    let lines: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().any(|line| line["key"] == "model.key" && line["standing"] == "holds"));
    assert!(lines.iter().any(|line| line["instructions"].is_string() && line["bytes"] == 8));
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_cannot_be_used_are_refused_with_place_and_way_out() {
    let desk = Desk::new(&[("config/config.toml", "[model]\nnam = 'a'\n")]);
    let file = desk.path("config/config.toml");
    let said =
        format!("{}:2:1: there is no key `model.nam`; did you mean `model.name`?", file.display());
    for args in [&["config"][..], &["sessions"]] {
        assert_eq!(desk.run(args).await.exit, Err(said.clone()));
    }
    let ran = desk.run(&["run", "precious"]).await;
    assert_eq!(ran.exit, Err(said));
    desk.write("config/config.toml", "");
    desk.write("project/.dsh-wasm/config.toml", "encoding = 'zip'\n");
    let root = desk.path("sessions");
    let root = root.to_str().unwrap();
    let ran = desk.run(&["run", "--root", root, "precious"]).await;
    assert_eq!(ran.exit, Ok(Exit::Failed));
    for said in [
        "--no-project leaves them out",
        "config.toml:1:12: `encoding` must be",
        "Your message:\nprecious",
    ] {
        assert!(ran.err.contains(said), "{}", ran.err);
    }
    let ran = desk.run(&["run", "--root", root, "--no-project", "hi"]).await;
    assert_eq!(ran.exit, Ok(Exit::Done), "{}", ran.err);
}

const REACHING: &str =
    "model.name = 'script:replies.jsonl'\nmcp.evil.command = [\"./serve\", \"\\u001b[2J\"]\n";

#[tokio::test(flavor = "multi_thread")]
async fn trust_shows_every_value_and_holds_until_one_changes() {
    let mut desk =
        Desk::new(&[("project/.dsh-wasm/config.toml", REACHING), ("project/serve", "#!/bin/sh")]);
    let nobody = desk.run(&["trust"]).await;
    assert!(
        nobody.exit.as_ref().is_err_and(|said| said.contains("--digest ")),
        "{:?}",
        nobody.exit
    );
    for said in [
        "  model.name = \"script:replies.jsonl\"\n",
        &format!("  mcp.evil.command = [{:?}, \"\\u{{1b}}[2J\"]\n", desk.path("project/serve")),
        &format!("    with the file {} as it is now\n", desk.path("project/serve").display()),
    ] {
        assert!(nobody.out.contains(said), "{}", nobody.out);
    }
    desk.answer = Some(false);
    assert_eq!(desk.run(&["trust"]).await.exit, Ok(Exit::Failed));
    desk.answer = Some(true);
    assert_eq!(desk.run(&["trust"]).await.exit, Ok(Exit::Done));
    assert_eq!(desk.asked.load(Ordering::Relaxed), 2);
    assert!(desk.run(&["trust"]).await.out.ends_with("You trust exactly this.\n"));
    assert!(desk.run(&["config"]).await.out.contains("config.toml (trusted)"));
    desk.write("project/serve", "#!/bin/sh\ncurl evil");
    desk.answer = None;
    let changed = desk.run(&["trust"]).await;
    assert!(changed.out.contains("have changed since you trusted them"), "{}", changed.out);
    assert!(changed.out.contains("\\u{1b}[2J\"] (changed)\n"), "{}", changed.out);
    let digest = changed.exit.unwrap_err();
    let digest = digest.rsplit(' ').next().unwrap();
    assert!(desk.run(&["trust", "--digest", "00"]).await.exit.is_err());
    assert_eq!(desk.run(&["trust", "--digest", digest]).await.exit, Ok(Exit::Done));
    assert!(desk.run(&["config"]).await.out.contains("config.toml (trusted)"));
    assert_eq!(desk.run(&["trust", "--revoke"]).await.exit, Ok(Exit::Done));
    assert!(desk.run(&["config"]).await.out.contains("not trusted"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_asks_before_it_uses_what_a_project_says() {
    let mut desk = Desk::new(&[("replies.jsonl", "{\"text\":\"from the project's script\"}\n")]);
    let script = desk.path("replies.jsonl");
    let file = format!("model.name = 'script:{}'\n", script.display());
    desk.write("project/.dsh-wasm/config.toml", &file);
    let root = desk.path("sessions");
    let run = ["run", "--root", root.to_str().unwrap(), "hi"];
    let unasked = desk.run(&run).await;
    assert!(unasked.out.starts_with("You said: hi\n"), "{}", unasked.err);
    let folder = desk.path("project");
    let notice = format!(
        "{} is not trusted, so these of its settings are not used: model.name",
        folder.display()
    );
    assert!(unasked.err.contains(&notice), "{}", unasked.err);
    desk.answer = Some(false);
    let refused = desk.run(&run).await;
    assert!(refused.out.starts_with("You said: hi\n"), "{}", refused.out);
    assert!(refused.err.contains(&notice), "{}", refused.err);
    desk.answer = Some(true);
    let agreed = desk.run(&run).await;
    assert_eq!(agreed.out, "from the project's script\n", "{}", agreed.err);
    desk.answer = None;
    assert_eq!(desk.run(&run).await.out, "from the project's script\n", "it is kept");
    assert_eq!(desk.asked.load(Ordering::Relaxed), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn instruction_files_are_given_once_and_again_when_they_change() {
    let desk = Desk::new(&[
        ("config/AGENTS.md", "Mine."),
        ("project/AGENTS.md", "Theirs."),
        ("project/a/CLAUDE.md", "Near."),
    ]);
    let near = desk.path("project/a");
    let (session, messages) = desk.messages(&["--cwd", near.to_str().unwrap(), "one"]).await;
    let [first] = instructions(&messages)[..] else { panic!("{messages:?}") };
    let place = |text| first.find(text).unwrap_or_else(|| panic!("{text} in {first}"));
    assert!(place("Mine.") < place("Theirs.") && place("Theirs.") < place("Near."));
    assert_eq!(text(&messages[0]), "one", "after the prompt, as the real client has it");
    let (_, messages) = desk.messages(&["--session", &session, "two"]).await;
    assert_eq!(instructions(&messages).len(), 1, "what the model knows is not said again");
    desk.write("project/a/CLAUDE.md", "Nearer.");
    let (_, messages) = desk.messages(&["--session", &session, "three"]).await;
    let [_, second] = instructions(&messages)[..] else { panic!("{messages:?}") };
    assert!(second.starts_with("The instruction files have changed") && second.contains("Nearer."));
    for file in ["config/AGENTS.md", "project/AGENTS.md", "project/a/CLAUDE.md"] {
        fs::remove_file(desk.path(file)).unwrap();
    }
    for prompt in ["four", "five"] {
        let (_, messages) = desk.messages(&["--session", &session, prompt]).await;
        let [_, _, last] = instructions(&messages)[..] else { panic!("{messages:?}") };
        assert!(last.starts_with("There are no instruction files any more"), "{last}");
    }
    let root = desk.path("sessions");
    let shown = desk.run(&["show", "--root", root.to_str().unwrap(), &session]).await.out;
    assert!(shown.contains("↳ instructions: ") && !shown.contains("Theirs."), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_an_instruction_file_is_told_and_the_turn_goes_on() {
    let desk = Desk::new(&[("project/AGENTS.md", "a\0b")]);
    let root = desk.path("sessions");
    let root = root.to_str().unwrap();
    let ran = desk.run(&["run", "--root", root, "hi"]).await;
    assert_eq!(ran.exit, Ok(Exit::Done));
    assert!(ran.err.contains("AGENTS.md: not used: it is no text: it holds a NUL"), "{}", ran.err);
    let (_, messages) = desk.messages(&["--set", "instructions.enabled=false", "hi"]).await;
    assert_eq!(messages.len(), 2);
}
