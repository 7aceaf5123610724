//! `list` and `search`: what is found, and what is left out.

use std::fs;
use std::os::unix::fs::symlink;

use dsh_tools::Rules;
use serde_json::json;

use crate::rig::Rig;

fn tree() -> Rig {
    let rig = Rig::new();
    rig.put("src/a.rs", "fn one() {}\nfn two() {}\n// three\n");
    rig.put("src/b.txt", "one\n");
    rig.put(".hidden/c", "one\n");
    rig.put("target/d", "one\n");
    rig.put(".gitignore", "target\n");
    rig.put(".git/e", "one\n");
    symlink("src", rig.path("link")).unwrap();
    rig
}

#[tokio::test]
async fn a_folder_is_listed() {
    let rig = tree();
    assert_eq!(rig.says("list", json!({})).await, "link -> src\nsrc/");
    assert_eq!(rig.says("list", json!({ "path": "src" })).await, "a.rs\nb.txt");
    let all = rig.says("list", json!({ "all": true })).await;
    assert_eq!(all, ".gitignore\n.hidden/\nlink -> src\nsrc/\ntarget/");
    assert_eq!(rig.says("list", json!({ "pattern": "*.rs" })).await, "src/a.rs");
    assert_eq!(rig.says("list", json!({ "pattern": "*.py" })).await, "[nothing in .]");
    assert_eq!(rig.fails("list", json!({ "path": "src/a.rs" })).await.0, "FS_NOT_DIRECTORY");
    assert_eq!(rig.fails("list", json!({ "pattern": "a[" })).await.0, "INVALID_ARGS");
}

#[tokio::test]
async fn a_long_list_is_bounded() {
    let rig = Rig::new();
    (0..1200).for_each(|number| drop(rig.put(&format!("f{number:04}"), "")));
    let list = rig.says("list", json!({})).await;
    assert_eq!(list.lines().count(), 1001);
    assert!(list.ends_with("[200 more: say a pattern or a folder below]"));
}

#[tokio::test]
async fn matches_come_with_file_and_line() {
    let rig = tree();
    assert_eq!(
        rig.says("search", json!({ "pattern": "one" })).await,
        "src/a.rs\n1:fn one() {}\n\nsrc/b.txt\n1:one"
    );
    let near = rig.says("search", json!({ "pattern": "t.o", "context": 1 })).await;
    assert_eq!(near, "src/a.rs\n1-fn one() {}\n2:fn two() {}\n3-// three");
    assert_eq!(
        rig.says("search", json!({ "pattern": "ONE", "ignore_case": true, "include": "*.txt" }))
            .await,
        "src/b.txt\n1:one"
    );
    assert_eq!(
        rig.says("search", json!({ "pattern": "e()", "literal": true })).await,
        "src/a.rs\n1:fn one() {}"
    );
    assert_eq!(rig.says("search", json!({ "pattern": "four" })).await, "[no matches]");
    let all = rig.says("search", json!({ "pattern": "^one$", "all": true })).await;
    assert_eq!(all, ".hidden/c\n1:one\n\nsrc/b.txt\n1:one\n\ntarget/d\n1:one");
    assert_eq!(
        rig.says("search", json!({ "pattern": "one", "path": "src/b.txt" })).await,
        "src/b.txt\n1:one"
    );
    assert_eq!(rig.fails("search", json!({ "pattern": "(" })).await.0, "INVALID_ARGS");
    assert_eq!(
        rig.fails("search", json!({ "pattern": "x", "path": "none" })).await.0,
        "FS_NOT_FOUND"
    );
}

#[tokio::test]
async fn matches_are_bounded() {
    let rig = Rig::new();
    rig.put("a", "hit\n".repeat(3));
    let two = rig.says("search", json!({ "pattern": "hit", "limit": 2 })).await;
    assert!(two.starts_with("a\n1:hit\n2:hit\n[more matches:"), "{two}");
    let three = rig.says("search", json!({ "pattern": "hit", "limit": 3 })).await;
    assert_eq!(three, "a\n1:hit\n2:hit\n3:hit");
    rig.put("a", format!("hit{}\n", "é".repeat(2000)));
    let long = rig.says("search", json!({ "pattern": "hit" })).await;
    assert!(long.ends_with("more bytes in this line]") && long.len() < 600, "{long}");
}

#[tokio::test]
async fn binary_and_unreadable_files_do_not_stop_a_search() {
    let rig = Rig::new();
    rig.put("a", b"hit\0\n");
    rig.put("b", b"hit \xff\n");
    fs::File::create(rig.path("c")).unwrap().set_len(1).unwrap();
    assert_eq!(rig.says("search", json!({ "pattern": "hit" })).await, "b\n1:hit \u{fffd}");
}

#[tokio::test]
async fn what_may_not_be_read_is_not_searched() {
    let deny = vec!["read(**/.env)".parse().unwrap(), "read(keys)".parse().unwrap()];
    let rig = Rig::with(Rules { deny, ..Rules::default() });
    rig.put(".env", "token\n");
    rig.put("keys/deep/one", "token\n");
    rig.put("a", "token\n");
    let found = rig.says("search", json!({ "pattern": "token", "all": true })).await;
    let expected = "a\n1:token\n[.env: left out, a rule denies reading it]\n[keys/deep/one: left out, a rule denies reading it]";
    assert_eq!(found, expected);
}
