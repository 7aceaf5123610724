//! The seams besides `pre-step`.

use dsh_plugin_host::{Block, Cause, Plugin, Reference, Seam, Target};
use program_tests::{self as programs, Scripted, everything, host, load, services};

async fn plugin(path: &str) -> Plugin {
    load(&host(), path, everything()).await.expect("a plugin")
}

#[tokio::test]
pub(crate) async fn completes() {
    let plugin = plugin(programs::COMPLETES).await;
    assert!(
        !plugin.has(Seam::PreStep) && plugin.has(Seam::Mentions) && plugin.has(Seam::References)
    );
    let (services, sessions, _) = services(Scripted::default());
    let target = Target { session: "t".to_owned(), cwd: None };

    let found = plugin.candidates(&services, &target, "q", None).await.expect("candidates");
    let mentions: Vec<&str> = found.iter().map(|candidate| candidate.mention.as_str()).collect();
    assert_eq!(mentions, ["@[q](b for t)", "@[q](a for t)"]);
    let asked = sessions.askers.lock().expect("askers").clone();
    assert_eq!(asked.first().and_then(|asker| asker.session.as_deref()), Some("t"));
    let err = plugin.candidates(&services, &target, "q", Some(0)).await.expect_err("a failure");
    assert_eq!(err.export, "dsh:agent/mentions.candidates");
    assert!(matches!(err.cause, Cause::Failed(failure) if failure.code == "LIMIT"));

    let reference = Reference { session: "a".to_owned(), label: None };
    assert_eq!(plugin.format(&services, &reference).await.as_deref(), Ok("@a"));
    let parsed = plugin.parse(&services, "@a").await.expect("a reference");
    assert_eq!((parsed.text.as_str(), parsed.references), ("a", vec![reference.clone()]));
    let err = plugin.parse(&services, "a").await.expect_err("a failure");
    assert!(matches!(err.cause, Cause::Failed(failure) if failure.code == "NO_MENTION"));

    let content = [Block::text("see"), Block::Other(r#"{"type":"image"}"#.into())];
    let prepared =
        plugin.prepare(&services, "t", &content, &[reference]).await.expect("a snapshot");
    assert_eq!(prepared.content, content);
    let snapshot = prepared.snapshot.expect("a snapshot");
    assert_eq!(snapshot.content, [Block::text("what it says")]);
    assert_eq!(&*snapshot.facts, r#"{"kind":"plugin","session":"a","plugin":"completes"}"#);
    let prepared = plugin.prepare(&services, "t", &content, &[]).await.expect("no snapshot");
    assert_eq!(prepared.snapshot, None);
}

#[tokio::test]
async fn a_seam_that_a_plugin_does_not_have_is_an_error_of_its_own() {
    let plugin = plugin(programs::PASSES).await;
    let services = services(Scripted::default()).0;
    let err = plugin.parse(&services, "@a").await.expect_err("no such export");
    assert_eq!(err.to_string(), "passes: `dsh:agent/references.parse` is not exported by it");
}
