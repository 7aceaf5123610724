//! Loading: whatever does not fit is an error that says what, and what to do.

use dsh_plugin_host::{Capabilities, Cause, Grants, Limit, LoadError, Manifest, Settings};
use program_tests::{self as programs, everything, host, load, manifest};

async fn refusal(wasm: &[u8]) -> LoadError {
    let loaded =
        host().load(manifest("p"), wasm, Settings::default(), &Grants::new(everything())).await;
    loaded.expect_err("a load error")
}

async fn refusal_of(wat: &str) -> LoadError {
    refusal(&wat::parse_str(wat).expect("a component")).await
}

/// A component with one import and nothing else.
fn importing(name: &str) -> String {
    format!("(component (import \"{name}\" (instance)))")
}

#[tokio::test]
async fn what_is_no_component_is_refused() {
    let module = refusal(&wat::parse_str("(module)").expect("a module")).await;
    assert!(matches!(&module, LoadError::NotAComponent { .. }), "{module:?}");
    assert!(
        module.to_string().starts_with("p: a core WebAssembly module, not a component"),
        "{module}"
    );
    let text = refusal(b"#!/bin/sh").await;
    assert!(text.to_string().starts_with("p: no WebAssembly at all"), "{text}");
    let component = std::fs::read(programs::PASSES).expect("a program");
    let cut = refusal(&component[..component.len() / 2]).await;
    assert!(matches!(cut, LoadError::Compile { .. }), "{cut:?}");
}

#[tokio::test]
async fn an_import_of_another_version_is_refused_with_both() {
    let err = refusal_of(&importing("dsh:session/query@0.2.0")).await;
    let LoadError::Version { interface, wanted, offered, .. } = &err else { panic!("{err:?}") };
    assert_eq!(
        (interface.as_str(), wanted.as_str(), offered.as_str()),
        ("dsh:session/query", "0.2.0", "0.1.0")
    );
}

#[tokio::test]
async fn a_seam_of_another_version_is_refused_with_both() {
    let err =
        refusal_of("(component (instance $i) (export \"dsh:agent/pre-step@0.3.0\" (instance $i)))")
            .await;
    assert!(matches!(&err, LoadError::Version { wanted, .. } if wanted == "0.3.0"), "{err:?}");
}

#[tokio::test]
async fn a_later_patch_version_links() {
    let later = mistyped("").replace("@0.1.0", "@0.1.7").replacen(
        "(component",
        "(component (import \"dsh:plugin/config@0.1.7\" (instance (export \"get\" (func (result string)))))",
        1,
    );
    // The import fits, and the export is found: what is wrong is its type.
    let err = refusal_of(&later).await;
    assert!(
        matches!(&err, LoadError::Mismatch { interface, .. } if interface.contains("mentions")),
        "{err:?}"
    );
}

#[tokio::test]
async fn an_import_of_no_contract_is_refused_by_name() {
    let err = refusal_of(&importing("acme:rockets/launch@1.0.0")).await;
    assert!(
        matches!(&err, LoadError::UnknownImport { import, .. } if import == "acme:rockets/launch@1.0.0"),
        "{err:?}"
    );
}

#[tokio::test]
async fn an_import_has_to_be_declared_and_granted() {
    let wasm = std::fs::read(programs::READS_TITLES).expect("a program");
    let plain = Manifest::parse("id = \"p\"\nversion = \"1\"\n").expect("a manifest");
    let loaded = host().load(plain, &wasm, Settings::default(), &Grants::new(everything())).await;
    let err = loaded.expect_err("not declared");
    let declared = "p: imports `dsh:session/query@0.1.0`, which its manifest does not declare";
    assert!(err.to_string().starts_with(declared), "{err}");

    let err = load(&host(), programs::READS_TITLES, Capabilities::default())
        .await
        .expect_err("not granted");
    assert!(
        matches!(&err, LoadError::NotGranted { interface, .. } if interface == "dsh:session/query@0.1.0"),
        "{err:?}"
    );
}

#[tokio::test]
async fn an_import_of_another_type_is_refused_with_its_interface_and_function() {
    let wat = "(component (import \"dsh:plugin/config@0.1.0\" (instance (export \"get\" (func (result u32))))))";
    let err = refusal_of(wat).await;
    let LoadError::Mismatch { interface, reason, .. } = &err else { panic!("{err:?}") };
    assert_eq!(interface, "dsh:plugin/config@0.1.0");
    assert!(reason.contains("get"), "{reason}");
}

/// A component whose seam `mentions` has `candidates` of another type, around a core module.
fn mistyped(core: &str) -> String {
    format!(
        "(component
           (core module $m {core} (func (export \"f\") (result i32) i32.const 0))
           (core instance $c (instantiate $m))
           (func $f (result u32) (canon lift (core func $c \"f\")))
           (instance $i (export \"candidates\" (func $f)))
           (export \"dsh:agent/mentions@0.1.0\" (instance $i)))"
    )
}

#[tokio::test]
async fn a_seam_of_another_type_is_refused_with_its_interface_and_function() {
    let err = refusal_of(&mistyped("")).await;
    let LoadError::Mismatch { interface, reason, .. } = &err else { panic!("{err:?}") };
    assert_eq!(interface, "dsh:agent/mentions@0.1.0");
    assert!(reason.contains("candidates"), "{reason}");
}

#[tokio::test]
async fn each_seam_is_checked_when_it_is_loaded() {
    for (seam, function) in [
        ("pre-step", "handle"),
        ("references", "parse"),
        ("tool-gate", "check"),
        ("commands", "available"),
    ] {
        let other = mistyped("").replace("mentions", seam).replace("candidates", function);
        let err = refusal_of(&other).await;
        let LoadError::Mismatch { interface, reason, .. } = &err else { panic!("{err:?}") };
        assert_eq!(interface, &format!("dsh:agent/{seam}@0.1.0"));
        assert!(reason.contains(function), "{reason}");
    }
}

#[tokio::test]
async fn a_component_with_async_functions_is_taken() {
    let wat = mistyped("").replacen("(component", "(component (core func (canon task.cancel))", 1);
    // It compiles: what is wrong comes after.
    let err = refusal_of(&wat).await;
    assert!(matches!(err, LoadError::Mismatch { .. }), "{err:?}");
}

#[tokio::test]
async fn a_seam_without_its_function_is_refused_with_its_name() {
    let err =
        refusal_of("(component (instance $i) (export \"dsh:agent/mentions@0.1.0\" (instance $i)))")
            .await;
    let LoadError::Mismatch { interface, reason, .. } = &err else { panic!("{err:?}") };
    assert_eq!(interface, "dsh:agent/mentions@0.1.0");
    assert!(reason.contains("candidates"), "{reason}");
}

#[tokio::test]
async fn a_component_without_a_seam_is_refused_with_what_it_exports() {
    let err =
        refusal_of("(component (instance $i) (export \"acme:rockets/launch\" (instance $i)))")
            .await;
    assert!(
        matches!(&err, LoadError::NoSeam { exports, .. } if exports == "acme:rockets/launch"),
        "{err:?}"
    );
    assert!(err.to_string().contains("dsh:agent/pre-step"), "{err}");
}

/// The limit that a component runs into before it can be called.
async fn limit_at_start(core: &str) -> Limit {
    match refusal_of(&mistyped(core)).await {
        LoadError::Start { cause: Cause::Limit(breach), .. } => breach.limit,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_endless_loop_at_the_start_is_stopped() {
    assert_eq!(limit_at_start("(func $s (loop br 0)) (start $s)").await, Limit::Cpu);
}

#[tokio::test]
async fn a_memory_that_begins_too_large_is_refused() {
    assert_eq!(limit_at_start("(memory 1025)").await, Limit::Memory);
}

#[tokio::test]
async fn two_memories_share_one_limit() {
    assert_eq!(limit_at_start("(memory 600) (memory 600)").await, Limit::Memory);
}

#[tokio::test]
async fn a_table_that_begins_too_large_is_refused() {
    assert_eq!(limit_at_start("(table 100001 funcref)").await, Limit::Table);
}

#[tokio::test]
async fn a_table_that_grows_for_ever_is_stopped() {
    let grows = "(table $t 0 funcref)
        (func $s (loop (drop (table.grow $t (ref.null func) (i32.const 1000))) br 0)) (start $s)";
    assert_eq!(limit_at_start(grows).await, Limit::Table);
}

#[tokio::test]
async fn settings_are_checked_against_the_schema() {
    let text = "id = \"p\"\nversion = \"1\"\n[settings]\ntype = \"object\"\n\
                properties.n = { type = \"integer\", maximum = 3 }\nadditionalProperties = false\n";
    let manifest = Manifest::parse(text).expect("a manifest");
    let wasm = std::fs::read(programs::PASSES).expect("a program");
    let host = host();
    let load = async |json: &str| {
        let settings = Settings(serde_json::from_str(json).expect("an object"));
        host.load(manifest.clone(), &wasm, settings, &Grants::default()).await
    };
    assert!(load("{\"n\":3}").await.is_ok());
    let err = load("{\"n\":4}").await.expect_err("too much");
    assert!(matches!(&err, LoadError::Settings { at, .. } if at == "/n"), "{err:?}");
    let err = load("{\"m\":4}").await.expect_err("unknown");
    assert!(err.to_string().contains("m"), "{err}");
}

#[tokio::test]
async fn a_schema_that_is_none_is_refused() {
    let text = "id = \"p\"\nversion = \"1\"\n[settings]\ntype = \"rocket\"\n";
    let manifest = Manifest::parse(text).expect("a manifest");
    let wasm = std::fs::read(programs::PASSES).expect("a program");
    let err = host().load(manifest, &wasm, Settings::default(), &Grants::default()).await;
    assert!(matches!(err, Err(LoadError::Schema { .. })), "{err:?}");
}
