//! `write` and `edit`: what becomes of files.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use serde_json::{Value, json};

use crate::rig::{Rig, names, text};

fn write(name: &str, content: &str) -> Value {
    json!({ "file_path": name, "content": content })
}

fn edit(name: &str, old: &str, new: &str) -> Value {
    json!({ "file_path": name, "old_string": old, "new_string": new })
}

#[tokio::test]
async fn a_new_file_is_made_with_its_folders() {
    let rig = Rig::new();
    let said = rig.says("write", write("a/b/c.txt", "x\ny\n")).await;
    assert_eq!(said, "a/b/c.txt is new: 2 lines");
    assert_eq!(rig.bytes("a/b/c.txt"), b"x\ny\n");
    assert_eq!(names(&rig.path("a/b")), ["c.txt"]);
}

#[tokio::test]
async fn a_file_is_replaced_only_by_who_has_seen_it() {
    let rig = Rig::new();
    rig.put("a", "old\n");
    assert_eq!(rig.fails("write", write("a", "new\n")).await.0, "FS_UNREAD");
    rig.read("a").await;
    assert_eq!(
        rig.says("write", write("a", "new\n")).await,
        "a is changed: 1 line added, 1 removed"
    );
    // What it wrote itself it has seen.
    rig.says("write", write("a", "newer\n")).await;
    assert_eq!(rig.bytes("a"), b"newer\n");
}

#[tokio::test]
async fn a_file_that_changed_since_it_was_read_is_left_alone() {
    let rig = Rig::new();
    rig.put("a", "old\n");
    rig.read("a").await;
    rig.put("a", "someone else's\n");
    for (tool, arguments) in [("write", write("a", "new\n")), ("edit", edit("a", "else", "new"))] {
        let (code, said) = rig.fails(tool, arguments).await;
        assert_eq!(
            (code.as_str(), said.as_str()),
            ("FS_CHANGED", "a has changed since it was read; read it again")
        );
    }
    assert_eq!(rig.bytes("a"), b"someone else's\n");
    rig.read("a").await;
    rig.says("edit", edit("a", "else", "new")).await;
    assert_eq!(rig.bytes("a"), b"someone new's\n");
}

#[tokio::test]
async fn an_edit_changes_one_text_and_no_other_byte() {
    let rig = Rig::new();
    for (before, old, new, after) in [
        ("a\r\nb\r\nc\r\n", "a\nb\n", "a\nx\nb\n", "a\r\nx\r\nb\r\nc\r\n"),
        ("a\r\nb\nc\n", "b\n", "x\n", "a\r\nx\nc\n"),
        ("a\nb", "b", "c", "a\nc"),
        ("\u{feff}日本 👩\u{200d}💻\n", "👩\u{200d}💻", "語", "\u{feff}日本 語\n"),
        ("a\n\n\nb\n", "\n\n\n", "\n", "a\nb\n"),
    ] {
        rig.put("a", before);
        rig.read("a").await;
        rig.says("edit", edit("a", old, new)).await;
        assert_eq!(String::from_utf8(rig.bytes("a")).unwrap(), after);
    }
}

#[tokio::test]
async fn an_edit_that_is_not_clear_changes_nothing() {
    let rig = Rig::new();
    rig.put("a", "x\ny\nx\n");
    assert_eq!(rig.fails("edit", edit("a", "x", "z")).await.0, "NOT_UNIQUE");
    assert_eq!(rig.fails("edit", edit("a", "z", "x")).await.0, "NO_MATCH");
    assert_eq!(rig.fails("edit", edit("a", "", "x")).await.0, "INVALID_ARGS");
    assert_eq!(rig.fails("edit", edit("a", "x", "x")).await.0, "INVALID_ARGS");
    assert_eq!(rig.fails("edit", edit("none", "x", "y")).await.0, "FS_NOT_FOUND");
    assert_eq!(rig.bytes("a"), b"x\ny\nx\n");
    let all =
        json!({ "file_path": "a", "old_string": "x", "new_string": "z", "replace_all": true });
    rig.says("edit", all).await;
    assert_eq!(rig.bytes("a"), b"z\ny\nz\n");
}

#[tokio::test]
async fn what_would_not_survive_is_not_edited() {
    let rig = Rig::new();
    rig.put("latin", b"caf\xe9\n");
    assert_eq!(rig.fails("edit", edit("latin", "caf", "x")).await.0, "FS_ENCODING");
    rig.put("binary", b"a\0b");
    assert_eq!(rig.fails("edit", edit("binary", "a", "x")).await.0, "FS_BINARY");
    let large = fs::File::create(rig.path("large")).unwrap();
    large.set_len(9 << 20).unwrap();
    assert_eq!(rig.fails("edit", edit("large", "a", "x")).await.0, "FS_TOO_LARGE");
}

#[tokio::test]
async fn the_mode_stays_and_the_file_changes_in_one_step() {
    let rig = Rig::new();
    let path = rig.put("run.sh", "#!/bin/sh\nexit 1\n");
    fs::set_permissions(&path, Permissions::from_mode(0o750)).unwrap();
    let (held, before) = (fs::File::open(&path).unwrap(), fs::metadata(&path).unwrap().ino());
    rig.says("edit", edit("run.sh", "exit 1", "exit 0")).await;
    let after = fs::metadata(&path).unwrap();
    assert_eq!(after.mode() & 0o7777, 0o750);
    assert_ne!(after.ino(), before);
    assert_eq!(
        std::io::read_to_string(held).unwrap(),
        "#!/bin/sh\nexit 1\n",
        "who has the old file keeps it whole"
    );
    assert_eq!(names(&rig.path("")), ["run.sh"]);
}

#[tokio::test]
async fn a_link_stays_a_link() {
    let rig = Rig::new();
    rig.put("real", "a\n");
    symlink("real", rig.path("link")).unwrap();
    rig.says("edit", edit("link", "a", "b")).await;
    assert_eq!(rig.bytes("real"), b"b\n");
    assert!(fs::symlink_metadata(rig.path("link")).unwrap().is_symlink());
}

#[tokio::test]
async fn the_log_keeps_the_diff() {
    let rig = Rig::new();
    rig.put("a", "x\ny\n");
    let output = rig.output("edit", edit("a", "y", "z")).await.unwrap();
    assert_eq!(text(&output), "a is changed: 1 line added, 1 removed");
    let meta: Value = output.meta.unwrap().read().unwrap();
    assert_eq!(meta["diff"], "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n");
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_an_error_and_leaves_nothing() {
    let rig = Rig::new();
    rig.put("file", "");
    let (code, _) = rig.fails("write", write("file/below", "x")).await;
    assert_eq!(code, "FS_NOT_DIRECTORY");
    let (code, _) = rig.fails("write", write(&format!("{}.txt", "n".repeat(300)), "x")).await;
    assert_eq!(code, "FS_IO");
    assert_eq!(names(&rig.path("")), ["file"]);
}
