//! Messages: what a plugin sees of them, and what it can make.

use dsh_plugin_host::{
    Block, Cause, Chain, Context, Decision, Entered, Grants, Message, PreStepCall, Settings, Source,
};
use program_tests::{
    self as programs, Scripted, chain, everything, host, manifest, services, ungranted,
};

use crate::decision::{UNTOUCHED, cause, entered, seen};

fn context(plugin: &str, id: &str, text: &str, facts: &str) -> Entered {
    let content = vec![Block::text(text)];
    Entered::Context(Context {
        id: id.to_owned(),
        plugin: plugin.to_owned(),
        content,
        facts: facts.into(),
    })
}

#[tokio::test]
pub(crate) async fn adds_context() {
    let [one, two] = UNTOUCHED;
    let facts = r#"{"plugin":"adds_context","kind":"plugin","n":1.0}"#;
    let added = context("adds_context", "c0", "background", facts);
    let expected = [one, two, added];
    assert_eq!(entered(&chain(&[programs::ADDS_CONTEXT]).await).await, expected);
    assert_eq!(entered(&ungranted(programs::ADDS_CONTEXT).await).await, expected);
}

#[tokio::test]
pub(crate) async fn reads_and_passes() {
    assert_eq!(entered(&ungranted(programs::READS_AND_PASSES).await).await, UNTOUCHED);
}

#[tokio::test]
pub(crate) async fn granted_kind() {
    let [one, two] = UNTOUCHED;
    let note = context("granted_kind", "c0", "a note", r#"{"kind":"note","about":["x"]}"#);
    assert_eq!(entered(&chain(&[programs::GRANTED_KIND]).await).await, [note, one, two]);
    let Cause::Failed(failure) = cause(&ungranted(programs::GRANTED_KIND).await).await else {
        panic!()
    };
    assert_eq!(failure.code, "not-granted");
}

#[tokio::test]
pub(crate) async fn reserved_kinds() {
    assert_eq!(entered(&chain(&[programs::RESERVED_KINDS]).await).await, UNTOUCHED);
    // Not even where somebody gets them past the manifest.
    let kinds = ["user", "model", "tool"].map(str::to_owned);
    let (mut manifest, mut grants) = (manifest("reserved_kinds"), Grants::new(everything()));
    manifest.declares.message_kinds.extend(kinds.clone());
    grants.capabilities.message_kinds.extend(kinds);
    let wasm = std::fs::read(programs::RESERVED_KINDS).expect("a program");
    let loaded = host().load(manifest, &wasm, Settings::default(), &grants).await;
    assert_eq!(entered(&Chain::new([loaded.expect("a plugin")])).await, UNTOUCHED);
}

#[tokio::test]
pub(crate) async fn invalid_facts() {
    assert_eq!(entered(&chain(&[programs::INVALID_FACTS]).await).await, UNTOUCHED);
}

#[tokio::test]
pub(crate) async fn edits_what_it_cannot() {
    assert_eq!(entered(&chain(&[programs::EDITS_WHAT_IT_CANNOT]).await).await, UNTOUCHED);
}

#[tokio::test]
pub(crate) async fn reads_everything() {
    let blocks = vec![Block::text("see"), Block::Other(r#"{"type":"image"}"#.into())];
    let batch = vec![
        Message::new("m0", Source::User, r#"{"kind":"user"}"#, blocks),
        Message::new(
            "m1",
            Source::Plugin("p".to_owned()),
            r#"{"kind":"plugin","plugin":"p"}"#,
            Vec::new(),
        ),
        Message::new("m2", Source::Checkpoint, "{}", Vec::new()),
        Message::new("m3", Source::Other("note".to_owned()), "{}", Vec::new()),
    ];
    let chain = chain(&[programs::READS_EVERYTHING]).await;
    let call = PreStepCall::new("session", 1, 1, batch);
    let decision = chain.pre_step(&services(Scripted::default()).0, call).await;
    let Ok(Decision::Reject(rejection)) = decision else { panic!("{decision:?}") };
    let read = "m0 user {\"kind\":\"user\"} see+{\"type\":\"image\"};\
                m1 plugin p {\"kind\":\"plugin\",\"plugin\":\"p\"} ;m2 checkpoint {} ;m3 other note {} ;";
    assert_eq!(rejection.reason.as_deref(), Some(read));
}

#[tokio::test]
pub(crate) async fn tells_its_step() {
    let chain = chain(&[programs::TELLS_ITS_STEP]).await;
    let mut call = PreStepCall::new("s\\ud800", 4, 2, Vec::new());
    call.cwd = Some("/w".to_owned());
    let decision = chain.pre_step(&services(Scripted::default()).0, call).await;
    let Ok(Decision::Reject(rejection)) = decision else { panic!("{decision:?}") };
    assert_eq!(rejection.reason.as_deref(), Some(r#"("s\\ud800", Some("/w"), 4, 2)"#));
}

#[tokio::test]
pub(crate) async fn tells_its_settings() {
    let wasm = std::fs::read(programs::TELLS_ITS_SETTINGS).expect("a program");
    let settings = serde_json::from_str(r#"{"a":1}"#).expect("an object");
    let grants = Grants::new(everything());
    let loaded = host().load(manifest("settings"), &wasm, Settings(settings), &grants).await;
    let chain = Chain::new([loaded.expect("a plugin")]);
    assert_eq!(seen(&chain).await, r#"{"a": 1}"#);
}
