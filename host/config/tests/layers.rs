//! Layers over one another: what holds, what is withheld, and what does not fit.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::Path;

use dsh_config::{
    Base, ConfigError, Key, Kind, Layers, PROJECT_FILE, Project, ROWS, Row, Secret, Settings,
    Standing, Transport,
};

fn base() -> Base<'static> {
    Base { folder: Path::new("/w"), home: None }
}

/// Layers from these texts; a project that is trusted, or not.
fn layers(
    user: &str,
    project: &str,
    trusted: bool,
    variables: &[(&str, &str)],
) -> Result<Layers, ConfigError> {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join(".dsh-wasm")).unwrap();
    fs::write(dir.path().join("user.toml"), user).unwrap();
    fs::write(dir.path().join(PROJECT_FILE), project).unwrap();
    let mut layers = Layers::default();
    layers.environment(variables.iter().copied(), base())?;
    layers.project(&Project::find(dir.path(), None)?.expect("a project"), trusted);
    layers.user(&dir.path().join("user.toml"), None)?;
    Ok(layers)
}

fn settle(user: &str, project: &str, trusted: bool) -> Settings {
    layers(user, project, trusted, &[]).unwrap().settle().unwrap()
}

#[test]
fn a_higher_layer_stands_in_place_of_a_lower_one() {
    let user = "model.name = 'user'\nencoding = 'zstd'\ncompaction.auto = false";
    let variables =
        [("DSH_WASM_MODEL_NAME", "variable"), ("DSH_WASM_ENCODING", ""), ("HOME", "/x")];
    let mut layers =
        layers(user, "model.name = 'project'\nencoding = 'raw'", true, &variables).unwrap();
    let settings = layers.clone().settle().unwrap();
    assert_eq!(settings.model.name, "variable");
    assert_eq!(settings.encoding.as_deref(), Some("raw"));
    assert!(!settings.compaction.auto && settings.instructions.enabled);
    layers.flag("--model", "model.name", "first", base()).unwrap();
    layers.flag("--model", "model.name", "flag", base()).unwrap();
    let settings = layers.settle().unwrap();
    assert_eq!(settings.model.name, "flag");
    let told = settings.entries().filter(|(entry, _)| entry.key == "model.name");
    let told: Vec<_> = told
        .map(|(entry, standing)| (entry.origin.layer().name(), standing == Standing::Holds))
        .collect();
    let overridden =
        ["default", "user", "project", "environment", "flag"].map(|name| (name, false));
    assert_eq!(told, [&overridden[..], &[("flag", true)]].concat());
}

#[test]
fn a_project_sets_nothing_that_reaches_outside_before_it_is_trusted() {
    let project = "encoding = 'raw'\nroot = 'here'\nmodel.base-url = 'http://evil'\n\
        model.key-command = ['touch', 'x']\nmcp.a.command = ['evil']\napproval.allow = ['shell(*)']\n\
        instructions.files = ['.env']\nplugins.dir = 'evil'\nplugins.safe = true\n\
        side.context-event = 'context/message'";
    let settings = settle("", project, false);
    let defaults = Layers::default().settle().unwrap();
    assert_eq!(settings.encoding.as_deref(), Some("raw"), "what everybody may set");
    let outside = |settings: &Settings| {
        let Settings { root, model, tools, mcp, plugins, instructions, context_event, .. } =
            settings;
        format!(
            "{root:?} {model:?} {tools:?} {mcp:?} {plugins:?} {instructions:?} {context_event:?}"
        )
    };
    assert_eq!(outside(&settings), outside(&defaults));
    let withheld = settings.entries().filter(|(_, standing)| *standing == Standing::Withheld);
    assert_eq!(withheld.count(), 9, "and each of them is told");
    let settings = settle("", project, true);
    assert_eq!(settings.model.base_url.as_deref(), Some("http://evil"));
    assert_eq!((settings.root, settings.plugins.dir), (None, None), "never a project's to say");
    assert!(!settings.plugins.safe);
}

#[test]
fn the_rules_of_all_layers_hold_together() {
    let settings =
        settle("approval.deny = ['a']", "approval.deny = ['b']\ntools.enabled = []", true);
    assert_eq!(settings.tools.deny, ["a", "b"]);
    assert_eq!(settings.tools.enabled, Some(Vec::new()));
}

#[test]
fn a_server_is_set_whole() {
    let user = "[mcp.a]\ncommand = ['mine']\nenv = { TOKEN = 'sk' }\ntrusted = true\n[mcp.b]\nurl = 'http://b'";
    let settings = settle(user, "mcp.a.url = 'http://theirs'", true);
    let a = &settings.mcp["a"];
    assert!(
        matches!(&a.transport, Transport::Url { url, headers } if url == "http://theirs" && headers.is_empty())
    );
    assert!(!a.trusted && a.enabled, "nothing of the other layer is left");
    assert!(settings.mcp.contains_key("b"));
}

#[test]
fn a_key_goes_to_no_service_that_a_higher_layer_names() {
    let user = "[model]\nbase-url = 'http://mine'\nkey = 'sk'\nheaders = { A = 'b' }";
    assert_eq!(settle(user, "", true).model.key, Some(Key::Given(Secret::new("sk"))));
    for project in ["model.base-url = 'http://theirs'", "model.provider = 'theirs'"] {
        let settings = settle(user, project, true);
        assert!(settings.model.key.is_none() && settings.model.headers.is_empty(), "{project}");
        assert_ne!(settings.model.base_url.as_deref(), Some("http://mine"), "{project}");
    }
    let key = settle(user, "model.key-env = 'OTHER'", true).model.key;
    assert_eq!(key, Some(Key::Variable("OTHER".into())), "the higher layer's");
}

#[test]
fn what_does_not_fit_together_is_refused_with_its_place() {
    for (text, said) in [
        (
            "model.key = 'a'\nmodel.key-env = 'b'",
            ":2:17: `model.key` and `model.key-env` say the key twice; leave out all but one",
        ),
        (
            "mcp.a.command = ['a']\nmcp.a.url = 'http://h'",
            ":2:13: `mcp.a` has a `command` and a `url`; leave out one",
        ),
        ("mcp.a.trusted = true", ":1:17: `mcp.a` needs a `command` or a `url` in the same layer"),
        (
            "mcp.a.url = 'http://h'\nmcp.a.env.B = 'c'",
            "`mcp.a` has an `env`, which goes with a `command`, not with a `url`",
        ),
        (
            "compaction.retain = 0.8",
            ":1:21: `compaction.retain` (0.8) must be smaller than `compaction.threshold` (0.8)",
        ),
    ] {
        let error = layers(text, "", true, &[]).unwrap().settle().unwrap_err().to_string();
        assert!(error.ends_with(said), "{error}");
    }
}

#[test]
fn a_variable_or_a_flag_that_says_nothing_known_is_refused() {
    let refused = |name| layers("", "", false, &[(name, "x")]).unwrap_err().to_string();
    assert_eq!(
        refused("DSH_WASM_MODEL_BASEURL"),
        "DSH_WASM_MODEL_BASEURL: there is no key `DSH_WASM_MODEL_BASEURL`; did you mean `DSH_WASM_MODEL_BASE_URL`?"
    );
    assert_eq!(
        refused("DSH_WASM_ENCODING"),
        "DSH_WASM_ENCODING: `encoding` must be \"zstd\" or \"raw\", not \"x\""
    );
    let error = Layers::default().flag("--set", "mode.name", "x", base()).unwrap_err();
    assert_eq!(error.to_string(), "--set: there is no key `mode.name`; did you mean `model.name`?");
}

/// A value of each kind that is nobody's default.
fn other(row: &Row) -> String {
    match row.kind {
        Kind::Text | Kind::Secret | Kind::Path => "'/other'".to_owned(),
        Kind::Url => "'http://other'".to_owned(),
        Kind::Choice(choices) => format!("'{}'", choices.last().unwrap()),
        Kind::Boolean => (row.default != Some("true")).to_string(),
        Kind::Integer(least, _) => (least + 1).to_string(),
        Kind::Ratio(least, _) => (least + 0.2).to_string(),
        Kind::Command | Kind::List | Kind::Paths | Kind::Rules => "['other']".to_owned(),
        Kind::Table => "{ other = 'x' }".to_owned(),
    }
}

#[test]
fn every_key_reaches_the_settings() {
    let said = |text: &str| {
        let Settings {
            root,
            encoding,
            model,
            tools,
            mcp,
            plugins,
            telemetry,
            instructions,
            compaction,
            context_event,
            ..
        } = settle(text, "", true);
        format!(
            "{root:?}{encoding:?}{model:?}{tools:?}{mcp:?}{plugins:?}{telemetry:?}{instructions:?}{compaction:?}{context_event:?}"
        )
    };
    for row in ROWS {
        let key = row.name.replace('*', "s");
        let beside = match &*key {
            "mcp.s.command" | "mcp.s.url" => "",
            "mcp.s.headers" => "mcp.s.url = 'http://s'\n",
            key if key.starts_with("mcp.") => "mcp.s.command = ['s']\n",
            _ => "",
        };
        // An `enabled` of its own says what a server does anyway.
        let value = if key == "mcp.s.enabled" { "false".to_owned() } else { other(row) };
        let with = format!("{beside}{key} = {value}");
        assert_ne!(said(beside), said(&with), "{with}");
    }
}
