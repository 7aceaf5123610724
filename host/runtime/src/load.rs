//! From bytes to a plugin: everything that can fail early fails here, by name.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use wasmtime::component::{Component, InstancePre, Linker};

use crate::error::Cause;
use crate::grants::{GRANTED_IMPORTS, Grants};
use crate::host::{Interfaces, Shared};
use crate::load_error::LoadError;
use crate::manifest::Manifest;
use crate::plugin::{Loaded, Plugin, Terms, run};
use crate::seam::{self, Misfit, NAMES, Seams};
use crate::session::Asker;
use crate::settings::Settings;
use crate::state::State;
use crate::version;
use crate::wasi_empty;

/// Interfaces that every component can import.
const FREE_IMPORTS: [&str; 7] = [
    "dsh:plugin/config",
    "dsh:plugin/log",
    "dsh:session/types",
    "dsh:agent/messages",
    "dsh:agent/pre-step",
    "dsh:agent/tools",
    "dsh:agent/invocations",
];

pub(crate) async fn load(
    host: Arc<Shared>,
    manifest: Manifest,
    wasm: &[u8],
    settings: Settings,
    grants: &Grants,
) -> Result<Plugin, LoadError> {
    let settings = settings.checked(&manifest)?;
    let terms = Terms {
        capabilities: Arc::new(manifest.declares.and(&grants.capabilities)),
        limits: Arc::new(manifest.limits.capped_by(&grants.limits)),
        settings: settings.into(),
        on_fault: grants.on_fault,
    };
    let component = compile(&host, &manifest, wasm).await?;
    check_names(&manifest, &component, grants)?;
    let pre = link(&manifest, &component, &terms)?;
    let seams = version::seams(&pre).map_err(|misfit| mismatch(&manifest, &component, misfit))?;
    let seams = Arc::new(seams);
    if seams.present().next().is_none() {
        return Err(no_seam(&manifest, &component));
    }
    try_once(&host, &manifest, &pre, &seams, &terms).await?;
    let health = Arc::default();
    let digest = digest(wasm);
    Ok(Plugin::new(Loaded { manifest, digest, host, pre, seams, terms, health }))
}

/// The names of what a component imports and exports.
pub(crate) async fn interfaces(
    host: &Arc<Shared>,
    manifest: &Manifest,
    wasm: &[u8],
) -> Result<Interfaces, LoadError> {
    let component = compile(host, manifest, wasm).await?;
    let imports = component.component_type();
    let imports = imports.imports(component.engine()).map(|(name, _)| name.to_owned()).collect();
    Ok(Interfaces { imports, exports: seam::exports(&component) })
}

/// The SHA-256 of `wasm`, as 64 lower-case hexadecimal digits.
fn digest(wasm: &[u8]) -> String {
    Sha256::digest(wasm).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Compiles on a blocking thread: it takes 20 ms for a small component, and seconds for a language's engine.
async fn compile(
    host: &Arc<Shared>,
    manifest: &Manifest,
    wasm: &[u8],
) -> Result<Component, LoadError> {
    let plugin = || manifest.id.clone();
    let found = match wasm.first_chunk() {
        Some(b"\0asm\x01\0\0\0") => Some("a core WebAssembly module"),
        Some([b'\0', b'a', b's', b'm', _, _, 1, 0]) => None,
        _ => Some("no WebAssembly at all"),
    };
    if let Some(found) = found {
        return Err(LoadError::NotAComponent { plugin: plugin(), found });
    }
    let (host, wasm) = (host.clone(), wasm.to_vec());
    let compile = move || match Component::from_binary(host.engines.plain(), &wasm) {
        // Found while parsing, before anything is compiled. The engine has no type for it: the wording is held by
        // the test `a_component_with_async_functions_is_taken`.
        Err(err) if format!("{err:#}").contains("component model async feature") => {
            let engine = host.engines.concurrent(|engine| host.ticker.also(engine.weak()))?;
            Component::from_binary(&engine, &wasm)
        }
        compiled => compiled,
    };
    let compiled = tokio::task::spawn_blocking(compile);
    match compiled.await {
        Ok(Ok(component)) => Ok(component),
        Ok(Err(err)) => Err(LoadError::Compile { plugin: plugin(), reason: format!("{err:#}") }),
        Err(err) => Err(LoadError::Compile { plugin: plugin(), reason: err.to_string() }),
    }
}

/// Checks each import, and each export that has a seam's name, before linking: a name says more than a linker.
fn check_names(
    manifest: &Manifest,
    component: &Component,
    grants: &Grants,
) -> Result<(), LoadError> {
    let plugin = || manifest.id.clone();
    let other_version = |interface: &str, wanted: &str| {
        let interface = interface.to_owned();
        let wanted = wanted.to_owned();
        let offered = version::names().collect::<Vec<_>>().join(" and ");
        LoadError::Version { plugin: plugin(), interface, wanted, offered }
    };
    for (name, _) in component.component_type().imports(component.engine()) {
        let (interface, wanted) = name.split_once('@').unwrap_or((name, ""));
        let gated = GRANTED_IMPORTS.contains(&interface);
        if interface.starts_with("wasi:") {
            let granted = (manifest.declares.wasi_empty, grants.capabilities.wasi_empty);
            let why = match granted {
                _ if !wasi_empty::has(name) => {
                    "this host has no such part of WASI, not even an empty one"
                }
                (true, true) => continue,
                (true, false) => {
                    "`wasi-empty` is declared and not granted; grant it, and it finds a WASI with nothing in it"
                }
                (false, _) => {
                    "its manifest does not declare `wasi-empty`; add `wasi-empty = true` under [declares] and grant it"
                }
            };
            let interface = name.to_owned();
            return Err(LoadError::Wasi { plugin: plugin(), interface, why });
        } else if !gated && !FREE_IMPORTS.contains(&interface) {
            return Err(LoadError::UnknownImport { plugin: plugin(), import: name.to_owned() });
        } else if !version::fits(version::names(), wanted) {
            return Err(other_version(interface, wanted));
        } else if gated && !manifest.declares.imports.contains(interface) {
            return Err(LoadError::NotDeclared { plugin: plugin(), interface: name.to_owned() });
        } else if gated && !grants.capabilities.imports.contains(interface) {
            return Err(LoadError::NotGranted { plugin: plugin(), interface: name.to_owned() });
        }
    }
    for name in seam::exports(component) {
        let (interface, wanted) = name.split_once('@').unwrap_or((&name, ""));
        // Passing over it would be a plugin that silently does not run.
        if NAMES.contains(&interface) && !version::fits(version::names(), wanted) {
            return Err(other_version(interface, wanted));
        }
    }
    Ok(())
}

/// Links what is free, and of the rest what is both declared and granted.
fn link(
    manifest: &Manifest,
    component: &Component,
    terms: &Terms,
) -> Result<InstancePre<State>, LoadError> {
    let mut linker = Linker::new(component.engine());
    let fill = |linker: &mut Linker<State>| {
        version::add(linker, &terms.capabilities)?;
        if terms.capabilities.wasi_empty {
            wasi_empty::link(linker, component)?;
        }
        Ok(())
    };
    let linked = fill(&mut linker).and_then(|()| linker.instantiate_pre(component));
    linked.map_err(|err| {
        let reason = format!("{err:#}");
        // The engine's sentence names it; which of the names it is, is ours to find.
        let imports = component.component_type();
        let mut imports = imports.imports(component.engine()).map(|(name, _)| name);
        let named = imports.find(|name| reason.contains(unversioned(name)));
        let interface = named.unwrap_or("its imports").to_owned();
        LoadError::Mismatch { plugin: manifest.id.clone(), interface, reason }
    })
}

/// Instantiates once, with every limit in force: only then the types of exports show.
async fn try_once(
    host: &Shared,
    manifest: &Manifest,
    pre: &InstancePre<State>,
    seams: &Arc<Seams>,
    terms: &Terms,
) -> Result<(), LoadError> {
    let asker = Asker { plugin: manifest.id.clone(), session: None };
    let state = terms.state(asker, host.bounds);
    let seams = seams.clone();
    let (started, _store) = run(host, pre, state, |store, instance| {
        Box::pin(async move { Ok(seams.check(store, &instance)) })
    })
    .await;
    match started {
        Ok(checked) => checked.map_err(|misfit| mismatch(manifest, pre.component(), misfit)),
        Err(cause) => Err(not_started(manifest, cause)),
    }
}

fn not_started(manifest: &Manifest, cause: Cause) -> LoadError {
    LoadError::Start { plugin: manifest.id.clone(), cause }
}

fn mismatch(manifest: &Manifest, component: &Component, misfit: Misfit) -> LoadError {
    let mut exports = seam::exports(component).into_iter();
    let named = exports.find(|name| unversioned(name) == misfit.interface);
    LoadError::Mismatch {
        plugin: manifest.id.clone(),
        interface: named.unwrap_or_else(|| misfit.interface.to_owned()),
        reason: misfit.reason,
    }
}

/// The name of an interface without its version.
fn unversioned(name: &str) -> &str {
    name.split_once('@').map_or(name, |(interface, _)| interface)
}

fn no_seam(manifest: &Manifest, component: &Component) -> LoadError {
    let exports = seam::exports(component);
    let exports = if exports.is_empty() { "nothing".to_owned() } else { exports.join(", ") };
    LoadError::NoSeam { plugin: manifest.id.clone(), exports }
}
