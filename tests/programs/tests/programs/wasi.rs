//! WASI, as far as there is any.

use dsh_plugin_host::{
    Cause, Chain, Decision, Grants, Level, Limit, LoadError, Manifest, PreStepCall, Services,
    Settings,
};
use program_tests::{
    self as programs, Scripted, chain, everything, host, manifest, prompt, run, services,
};

use crate::decision::cause;

async fn told(chain: &Chain, services: &Services) -> String {
    match run(chain, services).await.expect("a decision") {
        Decision::Reject(rejection) => rejection.reason.expect("a reason"),
        Decision::Enter(messages) => panic!("{messages:?}"),
    }
}

#[tokio::test]
pub(crate) async fn finds_an_empty_world() {
    let chain = chain(&[programs::FINDS_AN_EMPTY_WORLD]).await;
    let (services, _, log) = services(Scripted::default());
    let first = told(&chain, &services).await;
    let (found, chance) = first.split_once('|').expect("two parts");
    let expected =
        r#"([], [], None, Err("access-denied"), Err("closed"), (0, 0, 0)) 65536 (true, [0, 1])"#;
    assert_eq!(found, expected);
    let entries = log.entries();
    let entries: Vec<_> = entries.iter().map(|(_, level, text)| (*level, text.as_str())).collect();
    let expected =
        [(Level::Info, "to the log"), (Level::Warn, "✗ amiss"), (Level::Info, "and more")];
    assert_eq!(entries, expected);

    let second = told(&chain, &services).await;
    assert_ne!(
        second.split_once('|').expect("two parts").1,
        chance,
        "the same chance in two calls"
    );
}

#[tokio::test]
pub(crate) async fn ends_itself() {
    let Cause::Trap(trap) = cause(&chain(&[programs::ENDS_ITSELF]).await).await else {
        panic!("no trap")
    };
    assert_eq!(trap.reason, "it ended itself with wasi:cli/exit");
}

#[tokio::test]
pub(crate) async fn hoards_wasi_handles() {
    let chain = chain(&[programs::HOARDS_WASI_HANDLES]).await;
    run(&chain, &services(Scripted::default()).0).await.expect("all were given back");
    let asked = PreStepCall::new("session", 1, 1, vec![prompt("hoard", "them")]);
    let err = hoarding(&chain, asked).await;
    assert!(matches!(&err, Cause::Limit(breach) if breach.limit == Limit::Handles), "{err:?}");
}

async fn hoarding(chain: &Chain, call: PreStepCall) -> Cause {
    let (services, _, _) = services(Scripted::default());
    chain.pre_step(&services, call).await.expect_err("too many").cause
}

#[tokio::test]
async fn an_empty_wasi_has_to_be_declared_and_granted() {
    let wasm = std::fs::read(programs::ENDS_ITSELF).expect("a program");
    let plain = Manifest::parse("id = \"p\"\nversion = \"1\"\n").expect("a manifest");
    let load = async |manifest: Manifest, grants: Grants| {
        let loaded = host().load(manifest, &wasm, Settings::default(), &grants).await;
        match loaded.expect_err("a load error") {
            error @ LoadError::Wasi { .. } => error.to_string(),
            other => panic!("{other:?}"),
        }
    };
    let said = load(plain, Grants::new(everything())).await;
    let start = "p: imports `wasi:cli/exit@0.2.6`, and its manifest does not declare `wasi-empty`";
    assert!(said.starts_with(start), "{said}");
    let said = load(manifest("p"), Grants::default()).await;
    let start = "p: imports `wasi:cli/exit@0.2.6`, and `wasi-empty` is declared and not granted";
    assert!(said.starts_with(start), "{said}");
}

#[tokio::test]
async fn parts_of_wasi_that_cannot_be_empty_are_refused_by_name() {
    for name in ["wasi:http/outgoing-handler@0.2.6", "wasi:cli/stdout@0.3.0", "wasi:cli/stdout"] {
        let wat = format!("(component (import \"{name}\" (instance)))");
        let wasm = wat::parse_str(wat).expect("a component");
        let grants = Grants::new(everything());
        let loaded = host().load(manifest("p"), &wasm, Settings::default(), &grants).await;
        let said = loaded.expect_err("a load error").to_string();
        assert!(said.contains(name) && said.contains("no such part of WASI"), "{said}");
    }
}
