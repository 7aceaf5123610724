//! Tool gates: what one sees, and what several come to.

use dsh_plugin_host::{
    Cause, FAULTS_UNTIL_QUARANTINE, Gates, Grants, Level, OnFault, Plugin, Ruling, Settings,
    ToolCall, Verdict,
};
use program_tests::{self as programs, Scripted, everything, host, load, manifest, services};

async fn plugin(path: &str) -> Plugin {
    load(&host(), path, everything()).await.expect("a plugin")
}

fn call(name: &str) -> ToolCall {
    ToolCall {
        session: r"s\ud800".to_owned(),
        turn: 3,
        step: 2,
        id: "call-1".to_owned(),
        name: name.to_owned(),
        arguments: r#"{"a":1}"#.to_owned(),
        read_only: true,
    }
}

/// What gates come to, and what the person is told.
async fn ruled(gates: &Gates, name: &str) -> (Ruling, Vec<String>) {
    let (services, _, log) = services(Scripted::default());
    let ruling = gates.check(&services, &call(name)).await;
    let warnings = log.entries().into_iter().filter(|(_, level, _)| *level == Level::Warn);
    (ruling, warnings.map(|(.., text)| text).collect())
}

#[tokio::test]
pub(crate) async fn judges() {
    let plugin = plugin(programs::JUDGES).await;
    let services = services(Scripted::default()).0;
    let check = async |name| plugin.check_tool(&services, &call(name)).await;
    assert_eq!(check("allow").await, Ok(Verdict::Allow));
    assert_eq!(check("ask").await, Ok(Verdict::Ask(Some("sure?".to_owned()))));
    assert_eq!(check("ask-plainly").await, Ok(Verdict::Ask(None)));
    let seen = r#"s\ud800 3 2 call-1 edit {"a":1} true"#;
    assert_eq!(check("edit").await, Ok(Verdict::Deny(seen.to_owned())));
    let failed = check("fail").await.expect_err("a failure");
    assert_eq!(failed.export, "dsh:agent/tool-gate.check");
    assert!(matches!(failed.cause, Cause::Failed(own) if own.code == "OUT_OF_TEA"));
    assert!(matches!(check("trap").await.expect_err("a trap").cause, Cause::Trap(_)));
}

#[tokio::test]
pub(crate) async fn allows() {
    let (allows, judges) = (plugin(programs::ALLOWS).await, plugin(programs::JUDGES).await);
    for gates in [[allows.clone(), judges.clone()], [judges, allows]] {
        let gates = Gates::new(gates);
        let (ruling, _) = ruled(&gates, "allow").await;
        assert_eq!((ruling.verdict, ruling.by, ruling.heard.len()), (Verdict::Allow, None, 2));
        for name in ["ask", "ask-plainly"] {
            let (ruling, _) = ruled(&gates, name).await;
            assert!(matches!(ruling.verdict, Verdict::Ask(_)), "{ruling:?}");
            assert_eq!(ruling.by.as_deref(), Some("judges"));
        }
        for name in ["edit", "fail", "trap"] {
            let (ruling, _) = ruled(&gates, name).await;
            assert!(matches!(ruling.verdict, Verdict::Deny(_)), "{name}: {ruling:?}");
            assert_eq!(ruling.by.as_deref(), Some("judges"));
        }
    }
}

#[tokio::test]
async fn deny_beats_ask_whichever_comes_first() {
    // Each says `ask` to its own name of the tool and denies the other's.
    let judges = plugin(programs::JUDGES).await;
    let outside = plugin(programs::ACTS_OUTSIDE_A_COMMAND).await;
    for gates in [[judges.clone(), outside.clone()], [outside, judges]] {
        let (ruling, _) = ruled(&Gates::new(gates), "ask").await;
        assert_eq!(ruling.verdict, Verdict::Deny("no-agent".to_owned()));
        assert_eq!(ruling.by.as_deref(), Some("acts_outside_a_command"));
    }
}

#[tokio::test]
async fn a_gate_that_fails_denies_and_the_person_is_told() {
    let gates = Gates::new([plugin(programs::JUDGES).await]);
    let (ruling, notices) = ruled(&gates, "fail").await;
    assert_eq!(ruling.verdict, Verdict::Deny("out of tea".to_owned()));
    assert!(matches!(&notices[..], [text] if text.contains("denied: judges: ")), "{notices:?}");

    let (ruling, notices) = ruled(&gates, "trap").await;
    let Verdict::Deny(reason) = ruling.verdict else { panic!() };
    // The model reads who, and not how.
    assert!(reason.contains("\"judges\"") && !reason.contains("one call too many"), "{reason}");
    assert!(notices.iter().any(|text| text.contains("one call too many")), "{notices:?}");
}

#[tokio::test]
async fn a_gate_in_quarantine_denies() {
    let judges = plugin(programs::JUDGES).await;
    let gates = Gates::new([judges.clone()]);
    for _ in 0..FAULTS_UNTIL_QUARANTINE {
        ruled(&gates, "trap").await;
    }
    assert!(judges.quarantine().is_some());
    let (ruling, notices) = ruled(&gates, "allow").await;
    assert!(matches!(ruling.verdict, Verdict::Deny(_)), "{ruling:?}");
    assert!(notices.iter().any(|text| text.contains("was not called")), "{notices:?}");
}

#[tokio::test]
async fn a_gate_whose_faults_are_passed_over_was_not_heard() {
    let mut grants = Grants::new(everything());
    grants.on_fault.tool_gate = OnFault::Skip;
    let wasm = std::fs::read(programs::JUDGES).expect("a program");
    let loaded = host().load(manifest("judges"), &wasm, Settings::default(), &grants).await;
    let gates = Gates::new([loaded.expect("a plugin"), plugin(programs::ALLOWS).await]);
    let (ruling, notices) = ruled(&gates, "trap").await;
    assert_eq!((ruling.verdict, ruling.heard), (Verdict::Allow, vec!["allows".to_owned()]));
    assert!(
        matches!(&notices[..], [text] if text.starts_with("passed over: judges: ")),
        "{notices:?}"
    );
    // What it decides for itself stands.
    let (ruling, _) = ruled(&gates, "fail").await;
    assert_eq!(ruling.verdict, Verdict::Deny("out of tea".to_owned()));
}
