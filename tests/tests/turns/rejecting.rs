//! A plugin that lets no step begin: the reason reaches the person, programs and the log.

use clap::Parser as _;
use dsh_agent::TurnEnd;
use dsh_tests::{Rig, model, turn};
use dsh_wasm::{Cli, Composed, Options};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn a_rejection_keeps_its_reason() {
    let rejects = Composed {
        manifest: "id = \"gate\"\nversion = \"1\"\n".into(),
        wasm: std::fs::read(program_tests::REJECTS).unwrap().into(),
        settings: dsh_plugin_host::Settings::default(),
        on_fault: dsh_plugin_host::FaultPolicy::default(),
    };
    let rig = Rig::with(Options { plugins: vec![rejects], ..Options::standard() }).await;
    let model = model(&[json!({ "text": "never" })]);
    let agent = rig.harness.create(None, model.clone()).await.unwrap();
    let end = turn(&agent, "hello").await;
    let TurnEnd::Blocked { reason, plugin, .. } = &end else { panic!("{end:?}") };
    assert_eq!((reason.as_deref(), plugin.as_deref()), (Some("not now"), Some("gate")));
    assert!(model.requests().is_empty());
    let id = agent.live().header().id.clone();
    assert!(rig.on_disk(&id).is_empty());
    let mut events = Vec::new();
    rig.harness.sessions().store().read(&id, &mut events).unwrap();
    let [.., why, end] = events.as_slice() else { panic!("{events:?}") };
    assert!(&*why.kind == "agent/pre-step/rejected" && why.ignorable, "{why:?}");
    assert!(why.data.as_str().contains(r#""reason":"not now","plugin":"gate","details":{}"#));
    assert_eq!(end.data.as_str(), r#"{"turn":1,"reason":{"kind":"blocked"}}"#);
    let words = ["dsh-wasm", "show", "--root", rig.root().to_str().unwrap(), &id.to_string()];
    let mut shown = Vec::new();
    dsh_wasm::execute(Cli::parse_from(words), &mut shown, &mut Vec::new()).await.unwrap();
    let shown = String::from_utf8(shown).unwrap();
    assert!(shown.contains("unsent  hello\n        gate let no step begin: not now\n"), "{shown}");
}
