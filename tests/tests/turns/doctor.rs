//! `doctor` names each fault that is planted, with what to do.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use dsh_session::{Header, SessionId};
use dsh_wasm::Exit;
use serde_json::Value;

use crate::desk::Desk;

/// How `doctor` ended, and what it found: names with their grades and words.
struct Found(Result<Exit, String>, Vec<(String, String, String)>);

async fn findings(desk: &Desk, args: &[&str]) -> Found {
    let root = desk.path("sessions");
    let root = ["doctor", "--json", "--root", root.to_str().unwrap()];
    let ran = desk.run(&[&root, args].concat()).await;
    let found = ran.out.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        let well = line["grade"] == "ok";
        assert_eq!(line["fix"].is_null(), well, "what is wrong says what to do: {line}");
        (text("finding"), text("grade"), text("says"))
    });
    Found(ran.exit, found.collect())
}

/// That one finding is there, and how `doctor` ends with it.
#[track_caller]
fn told(found: &Found, name: &str, grade: &str, says: &str) {
    let Found(exit, found) = found;
    let it = found.iter().find(|(found, _, _)| found == name);
    let Some((_, at, words)) = it else { panic!("no {name} in {found:?}") };
    assert_eq!(at, grade, "{name}");
    assert!(words.contains(says), "{words}");
    let faults = found.iter().any(|(_, grade, _)| grade == "fault");
    assert_eq!(*exit, Ok(if faults { Exit::Failed } else { Exit::Done }));
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nothing_is_wrong_it_finds_nothing() {
    let desk = Desk::new(&[
        ("config/config.toml", "encoding = 'zstd'"),
        ("project/AGENTS.md", "Be kind."),
    ]);
    fs::create_dir(desk.path("sessions")).unwrap();
    let Found(exit, found) = findings(&desk, &[]).await;
    assert_eq!(exit, Ok(Exit::Done));
    assert!(found.iter().all(|(_, grade, _)| grade == "ok"), "{found:?}");
    let names: Vec<_> = found.iter().map(|(name, _, _)| name.as_str()).collect();
    assert_eq!(names, ["settings", "instructions", "root", "plugins", "model"]);
    let shown = desk.run(&["doctor", "--root", desk.path("sessions").to_str().unwrap()]).await.out;
    assert!(shown.ends_with("0 faults, 0 warnings\n"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_of_settings_are_named() {
    let desk = Desk::new(&[("config/config.toml", "encodin = 'raw'")]);
    told(&findings(&desk, &[]).await, "settings-broken", "fault", "did you mean `encoding`?");
    desk.write("config/config.toml", "");
    desk.write("project/.dsh-wasm/config.toml", "encoding = 3");
    told(
        &findings(&desk, &[]).await,
        "project-broken",
        "fault",
        "config.toml:1:12: `encoding` must",
    );
    let file = "model.key-command = ['touch', 'x']\nplugins.safe = true\n";
    desk.write("project/.dsh-wasm/config.toml", file);
    desk.write("project/AGENTS.md", "a\0b");
    let found = findings(&desk, &[]).await;
    told(&found, "project-untrusted", "warning", "so it does not set: model.key-command");
    told(
        &found,
        "project-overreaches",
        "warning",
        ":2:16: `plugins.safe` is nobody's to set but yours",
    );
    told(&found, "instructions-unused", "warning", "it holds a NUL");
    told(&found, "root-missing", "warning", "sessions is not there");
    assert!(!desk.path("project/x").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_of_the_root_are_named() {
    let desk = Desk::new(&[("sessions", "")]);
    told(&findings(&desk, &[]).await, "root-no-folder", "fault", "is no folder");
    fs::remove_file(desk.path("sessions")).unwrap();
    let root = desk.path("sessions");
    for (id, encoding) in [("one", "zstd"), ("other", "raw")] {
        // Each in a root of its own first: no command would mix them.
        let apart = desk.path(id);
        let args = ["run", "--encoding", encoding, "--root", apart.to_str().unwrap(), "hi"];
        assert_eq!(desk.run(&args).await.exit, Ok(Exit::Done));
        for project in fs::read_dir(&apart).unwrap() {
            let project = project.unwrap();
            fs::create_dir_all(root.join(project.file_name())).unwrap();
            for session in fs::read_dir(project.path()).unwrap() {
                let session = session.unwrap();
                let place = root.join(project.file_name()).join(session.file_name());
                fs::rename(session.path(), place).unwrap();
            }
        }
    }
    told(
        &findings(&desk, &[]).await,
        "encodings-mixed",
        "fault",
        "1 session.jsonl and 1 session.jsonl.zstd",
    );
    let store =
        dsh_session::Store::new(&root, dsh_session::Encoding::Raw, std::sync::Arc::new(|| 0));
    let held = store.create(Header::new(SessionId::new("held"), 0, None), None).unwrap();
    let title = dsh_session::Json::parse(r#"{"turn":1}"#).unwrap();
    held.append(dsh_session::Draft::new("turn/start", title)).unwrap();
    held.commit().await.unwrap();
    let says = format!("is being written by process {}", std::process::id());
    told(&findings(&desk, &[]).await, "session-locked", "warning", &says);
    drop(held);
    desk.write("sessions/_no-cwd/broken/session.jsonl", "rubbish\n");
    desk.write("sessions.dsh-index", "rubbish\n");
    let index = fs::Permissions::from_mode(0o600);
    fs::set_permissions(desk.path("sessions.dsh-index"), index).unwrap();
    let found = findings(&desk, &[]).await;
    told(&found, "log-unreadable", "fault", "_no-cwd/broken/session.jsonl: ");
    told(&found, "index-damaged", "warning", "it does not begin as an index");
    assert!(!found.1.iter().any(|(name, _, _)| name == "session-locked"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_start_is_named() {
    let desk = Desk::new(&[(
        "config/config.toml",
        "mcp.gone.command = ['./no-such-server']\nmcp.off.command = ['false']\nmcp.off.enabled = false\n\
         mcp.nobody.url = 'http://127.0.0.1:9/mcp'\n",
    )]);
    let found = findings(&desk, &[]).await;
    told(&found, "mcp-broken", "fault", "gone does not start: ");
    let broken = found.1.iter().filter(|(name, _, _)| name == "mcp-broken");
    assert_eq!(broken.count(), 2, "a server that is off is left alone: {:?}", found.1);
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_root_that_cannot_be_written_is_named() {
    let desk = Desk::new(&[]);
    // Not even the superuser makes files there.
    for root in ["/proc", "/proc/sessions"] {
        let ran = desk.run(&["doctor", "--root", root]).await;
        assert_eq!(ran.exit, Ok(Exit::Failed));
        assert!(ran.out.contains("fault    root-not-writable"), "{}", ran.out);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_would_keep_a_turn_from_beginning_is_named() {
    let desk = Desk::new(&[(
        "config/config.toml",
        "model.name = 'script:/nofile'\ntools.enabled = ['read', 'raed']\n\
         approval.allow = ['read', 'shell(']\nside.context-event = 'context/message'\n",
    )]);
    let found = findings(&desk, &[]).await;
    told(&found, "model-unusable", "fault", "\"/nofile\" cannot be read");
    told(&found, "tool-unknown", "fault", "`tools.enabled`: there is no tool \"raed\"");
    told(&found, "rule-broken", "fault", "`approval.allow`: ");
    told(&found, "context-event-old", "warning", "refuses the logs");
    let faults = found.1.iter().filter(|(_, grade, _)| grade == "fault");
    assert_eq!(faults.count(), 3, "what is right is no finding: {:?}", found.1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_plugin_wants_and_has_not_is_named() {
    let desk = Desk::new(&[]);
    let manifest = "id = 'stranger'\nversion = '1'\ncomponent = 'it.wasm'\n\
                    [declares]\nrewrite-user = true\n";
    let passes = fs::read(program_tests::PASSES).unwrap();
    let wasm = dsh_plugin_host::Manifest::embed(manifest, &passes).unwrap();
    fs::write(desk.path("project/it.wasm"), wasm).unwrap();
    assert_eq!(desk.run(&["plugin", "add", "it.wasm"]).await.exit, Ok(Exit::Done));
    told(
        &findings(&desk, &[]).await,
        "plugin-not-granted",
        "warning",
        "stranger wants, and is not granted: rewrite-user",
    );
    let grant = ["plugin", "grant", "stranger", "rewrite-user"];
    assert_eq!(desk.run(&grant).await.exit, Ok(Exit::Done));
    let Found(_, found) = findings(&desk, &[]).await;
    assert!(!found.iter().any(|(name, _, _)| name == "plugin-not-granted"), "{found:?}");
}
