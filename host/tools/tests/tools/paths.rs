//! Paths: what lies outside stays outside, however it is said and whatever is swapped meanwhile.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dsh_tools::Rules;
use serde_json::json;

use crate::rig::Rig;

async fn code(rig: &Rig, path: &str) -> String {
    match rig.output("read", json!({ "file_path": path })).await {
        Ok(_) => "read".into(),
        Err(error) => error.code,
    }
}

#[tokio::test]
async fn no_spelling_leads_outside() {
    let rig = Rig::new();
    fs::write(rig.dir.path().join("secret"), "s").unwrap();
    rig.put("in/file", "x");
    symlink("../secret", rig.path("to-file")).unwrap();
    symlink("..", rig.path("to-folder")).unwrap();
    symlink(rig.dir.path().join("secret"), rig.path("absolute")).unwrap();
    symlink("to-file", rig.path("link-to-link")).unwrap();
    let outside = rig.dir.path().canonicalize().unwrap().join("secret");
    for path in [
        "../secret",
        "in/../../secret",
        "to-file",
        "to-folder/secret",
        "absolute",
        "link-to-link",
        "in/../to-folder/secret",
        outside.to_str().unwrap(),
        "/etc/passwd",
        "/",
        "..",
        "../work/../secret",
    ] {
        assert_eq!(code(&rig, path).await, "FS_OUTSIDE", "{path}");
    }
    for tool in ["list", "search"] {
        let error =
            rig.output(tool, json!({ "path": "to-folder", "pattern": "x" })).await.unwrap_err();
        assert_eq!(error.code, "FS_OUTSIDE");
    }
}

#[tokio::test]
async fn ways_that_stay_inside_are_walked() {
    let rig = Rig::new();
    rig.put("in/deep/file", "x");
    symlink("in/deep", rig.path("short")).unwrap();
    symlink(rig.path("in"), rig.path("absolute")).unwrap();
    let whole = rig.path("in/deep/file").canonicalize().unwrap();
    for path in [
        "in/deep/file",
        "./in//deep/./file",
        "in/../in/deep/file",
        "short/file",
        "short/../deep/file",
        "absolute/deep/file",
        "../work/in/deep/file",
        whole.to_str().unwrap(),
    ] {
        assert_eq!(code(&rig, path).await, "read", "{path}");
    }
}

#[tokio::test]
async fn allowed_folders_are_reached_from_everywhere() {
    let rig = Rig::reaching(Rules::default(), &["other"]);
    fs::write(rig.dir.path().join("other/file"), "x").unwrap();
    symlink("../other", rig.path("link")).unwrap();
    let whole = rig.dir.path().canonicalize().unwrap().join("other/file");
    for path in ["../other/file", "link/file", whole.to_str().unwrap()] {
        assert_eq!(code(&rig, path).await, "read", "{path}");
    }
    assert_eq!(code(&rig, "../other/../secret").await, "FS_OUTSIDE");
}

#[tokio::test]
async fn strange_paths_are_errors() {
    let rig = Rig::new();
    symlink("loop", rig.path("loop")).unwrap();
    for (path, expected) in
        [("", "FS_PATH"), ("a\0b", "FS_PATH"), ("~/x", "FS_PATH"), ("loop", "FS_LINKS")]
    {
        assert_eq!(code(&rig, path).await, expected, "{path:?}");
    }
}

#[tokio::test]
async fn nothing_is_made_outside() {
    let rig = Rig::new();
    symlink("..", rig.path("up")).unwrap();
    symlink("../new", rig.path("dangling")).unwrap();
    for path in ["../new", "up/new", "dangling", "missing/../../new"] {
        let error =
            rig.output("write", json!({ "file_path": path, "content": "x" })).await.unwrap_err();
        assert!(matches!(error.code.as_str(), "FS_OUTSIDE" | "FS_NOT_FOUND"), "{path}: {error:?}");
    }
    assert_eq!(crate::rig::names(rig.dir.path()), ["work"]);
}

/// A folder flips between a real one and a link to the outside while it is read through.
#[tokio::test]
async fn a_swapped_folder_shows_nothing_of_the_outside() {
    let rig = Rig::new();
    fs::create_dir(rig.dir.path().join("outside")).unwrap();
    fs::write(rig.dir.path().join("outside/file"), "secret").unwrap();
    rig.put("real/file", "plain");
    symlink("../outside", rig.path("out")).unwrap();
    fs::rename(rig.path("real"), rig.path("here")).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let (stopped, work) = (Arc::clone(&stop), rig.path(""));
    let swapping = std::thread::spawn(move || {
        while !stopped.load(Ordering::Relaxed) {
            fs::rename(work.join("here"), work.join("real")).unwrap();
            fs::rename(work.join("out"), work.join("here")).unwrap();
            fs::rename(work.join("here"), work.join("out")).unwrap();
            fs::rename(work.join("real"), work.join("here")).unwrap();
        }
    });
    let (mut read, mut refused) = (0, 0);
    for _ in 0..3000 {
        match rig.output("read", json!({ "file_path": "here/file" })).await {
            Ok(output) => {
                read += 1;
                assert_eq!(
                    crate::rig::text(&output),
                    "     1\tplain\n[the last line has no line break]"
                );
            }
            Err(_) => refused += 1,
        }
    }
    stop.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
    assert_eq!(read + refused, 3000);
    assert!(read > 0, "the real folder is never there");
}
