//! The catalog: what changes, when a change is seen, and what becomes of what it replaced.

use std::sync::{Arc, Weak};

use dsh_plugin_host::{
    Catalog, CatalogError, Decision, Generation, Grants, LoadError, Manifest, Package, Seam,
};
use program_tests::{self as programs, Delay, Scripted, everything, host, manifest, run, services};

use crate::decision::UNTOUCHED;

/// The program at `path` as plugin `id` in version `version`, with everything granted.
fn package(id: &str, version: &str, path: &str) -> Package {
    let mut manifest: Manifest = manifest(id);
    version.clone_into(&mut manifest.version);
    let wasm = std::fs::read(path).expect("a program").into();
    Package { manifest, wasm, settings: Default::default(), grants: Grants::new(everything()) }
}

/// Ids and versions in order.
fn held(generation: &Generation) -> Vec<(&str, &str)> {
    let plugins = generation.plugins().iter();
    plugins.map(|plugin| (plugin.id(), plugin.manifest().version.as_str())).collect()
}

/// How many messages enter.
async fn entering(generation: &Generation) -> usize {
    match run(generation.chain(), &services(Scripted::default()).0).await {
        Ok(Decision::Enter(messages)) => messages.len(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_plugin_is_added_replaced_in_its_place_ordered_and_removed() {
    let catalog = Catalog::new(host());
    assert_eq!((catalog.current().number(), held(&catalog.current())), (0, vec![]));
    let load = async |id, version, path| catalog.load(package(id, version, path)).await;
    load("a", "1", programs::PASSES).await.expect("a");
    load("b", "1", programs::COMPLETES).await.expect("b");
    let third = load("a", "2", programs::ADDS_CONTEXT).await.expect("a again");
    assert_eq!((third.number(), held(&third)), (3, vec![("a", "2"), ("b", "1")]));
    assert!(Arc::ptr_eq(&third, &catalog.current()));
    assert_eq!(third.chain().links().len(), 1, "one of them stands around a step");
    assert!(third.plugin("b").is_some_and(|plugin| plugin.has(Seam::Mentions)));

    let ordered = catalog.reorder(&["b", "a"]).await.expect("an order");
    assert_eq!(held(&ordered), [("b", "1"), ("a", "2")]);
    let removed = catalog.remove("b").await.expect("removed");
    assert_eq!(held(&removed), [("a", "2")]);
    // Whoever began with an older one still has all of it.
    assert_eq!(held(&third), [("a", "2"), ("b", "1")]);
}

#[tokio::test]
async fn an_order_names_each_plugin_once_and_no_other() {
    let catalog = Catalog::new(host());
    for id in ["a", "b"] {
        catalog.load(package(id, "1", programs::PASSES)).await.expect("a plugin");
    }
    let before = catalog.current();
    for (order, says) in [
        (&["a"][..], "\"b\" is there 0 times"),
        (&["a", "b", "a"], "\"a\" is there 2 times"),
        (&["a", "b", "c"], "there is no plugin \"c\"; there is a, b"),
    ] {
        let err = catalog.reorder(order).await.expect_err("no order");
        assert!(err.to_string().contains(says), "{order:?}: {err}");
    }
    let err = catalog.remove("c").await.expect_err("unknown");
    assert!(matches!(err, CatalogError::Unknown { .. }), "{err:?}");
    assert!(Arc::ptr_eq(&before, &catalog.current()));
}

#[tokio::test]
async fn what_does_not_load_leaves_the_old_one_in_place_and_says_so() {
    let catalog = Catalog::new(host());
    let broken = Package { wasm: b"(component)"[..].into(), ..package("a", "2", programs::PASSES) };
    let err = catalog.load(broken.clone()).await.expect_err("not loaded");
    let CatalogError::NotAdded(reason) = err else { panic!("{err:?}") };
    assert!(matches!(*reason, LoadError::NotAComponent { .. }), "{reason:?}");
    assert_eq!(catalog.current().number(), 0);

    catalog.load(package("a", "1", programs::ADDS_CONTEXT)).await.expect("a plugin");
    let before = catalog.current();
    let err = catalog.load(broken).await.expect_err("not loaded");
    assert!(matches!(err, CatalogError::NotReplaced { .. }), "{err:?}");
    assert!(err.to_string().ends_with("(version 1 stays in place)"), "{err}");
    assert!(Arc::ptr_eq(&before, &catalog.current()));
    assert_eq!(entering(&catalog.current()).await, UNTOUCHED.len() + 1);
}

#[tokio::test]
async fn a_load_that_is_given_up_changes_nothing() {
    let catalog = Catalog::new(host());
    tokio::select! {
        biased;
        loaded = catalog.load(package("a", "1", programs::PASSES)) => panic!("{loaded:?}"),
        () = tokio::task::yield_now() => {}
    }
    assert_eq!(catalog.current().number(), 0);
    assert!(catalog.load(package("a", "1", programs::PASSES)).await.is_ok(), "nothing is locked");
}

#[tokio::test]
async fn a_generation_is_freed_with_its_last_call() {
    let catalog = Catalog::new(host());
    catalog.load(package("a", "1", programs::WAITS)).await.expect("a plugin");
    let (hanging, sessions, _) = services(Scripted::delayed(Delay::Hang));
    let pinned = catalog.current();
    let old: Weak<Generation> = Arc::downgrade(&pinned);
    let turn = async move {
        let ended = run(pinned.chain(), &hanging).await;
        panic!("{ended:?}")
    };
    let replaced = async {
        sessions.begun.notified().await;
        catalog.load(package("a", "2", programs::ADDS_CONTEXT)).await.expect("a plugin");
        assert!(old.upgrade().is_some(), "a turn still has it");
        assert_eq!(entering(&catalog.current()).await, UNTOUCHED.len() + 1, "others have the new");
    };
    tokio::select! {
        () = turn => {}
        () = replaced => {}
    }
    assert!(old.upgrade().is_none(), "the turn is over");
}
