//! A standard plugin imports what it uses, and nothing of WASI.

use wasmparser::{Parser, Payload};

/// The instances that a component imports, in order of their names.
fn imports(wasm: &[u8]) -> Vec<String> {
    let mut imports = Vec::new();
    let mut depth = 0;
    for payload in Parser::new(0).parse_all(wasm) {
        match payload.expect("a component") {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth -= 1,
            Payload::ComponentImportSection(section) if depth == 0 => {
                let names = section.into_iter().map(|import| import.expect("an import").name.name);
                imports.extend(names.map(str::to_owned));
            }
            _ => {}
        }
    }
    imports.sort();
    imports
}

#[test]
fn session_reference_imports_what_it_calls() {
    let expected = [
        "dsh:agent/messages@0.1.0",
        "dsh:agent/pre-step@0.1.0",
        "dsh:plugin/config@0.1.0",
        "dsh:plugin/log@0.1.0",
        "dsh:session/query@0.1.0",
        "dsh:session/types@0.1.0",
    ];
    assert_eq!(imports(dsh_plugins::SESSION_REFERENCE.wasm), expected);
}

#[test]
fn sidechat_imports_what_it_calls() {
    let expected = [
        "dsh:agent/agents@0.1.0",
        "dsh:agent/invocations@0.1.0",
        "dsh:agent/tools@0.1.0",
        "dsh:plugin/config@0.1.0",
        "dsh:plugin/log@0.1.0",
        "dsh:session/query@0.1.0",
        "dsh:session/types@0.1.0",
    ];
    assert_eq!(imports(dsh_plugins::SIDECHAT.wasm), expected);
}

#[test]
fn no_plugin_imports_wasi() {
    for plugin in dsh_plugins::ALL {
        assert!(imports(plugin.wasm).iter().all(|import| !import.starts_with("wasi:")));
    }
}
