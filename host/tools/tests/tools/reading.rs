//! `read`: what is shown of files of every kind.

use std::fs::File;
use std::io::Write as _;

use serde_json::json;

use crate::rig::Rig;

#[tokio::test]
async fn lines_come_with_their_numbers() {
    let rig = Rig::new();
    rig.put("a", "one\n日本 👩\u{200d}💻\n");
    assert_eq!(rig.read("a").await, "     1\tone\n     2\t日本 👩\u{200d}💻");
}

#[tokio::test]
async fn how_lines_end_is_said() {
    let rig = Rig::new();
    rig.put("crlf", "a\r\nb\r\n");
    assert_eq!(rig.read("crlf").await, "     1\ta\n     2\tb\n[lines end in CRLF]");
    rig.put("mixed", "a\r\nb\n");
    assert_eq!(
        rig.read("mixed").await,
        "     1\ta\n     2\tb\n[1 of these lines end in CRLF, 1 in LF]"
    );
    rig.put("open", "a\nb");
    assert_eq!(rig.read("open").await, "     1\ta\n     2\tb\n[the last line has no line break]");
    rig.put("empty", "");
    assert_eq!(rig.read("empty").await, "[the file is empty]");
}

#[tokio::test]
async fn a_part_is_read_where_it_is_asked_for() {
    let rig = Rig::new();
    rig.put("a", (1..=3000).map(|number| format!("{number}\n")).collect::<String>());
    let part = rig.says("read", json!({ "file_path": "a", "offset": 2999 })).await;
    assert_eq!(part, "  2999\t2999\n  3000\t3000");
    let first = rig.read("a").await;
    assert!(first.ends_with("  2000\t2000\n[more follows: go on with offset 2001]"), "{first}");
    let past = rig.says("read", json!({ "file_path": "a", "offset": 4000 })).await;
    assert_eq!(past, "[the file has 3000 lines only]");
}

#[tokio::test]
async fn a_huge_line_costs_its_beginning_only() {
    let rig = Rig::new();
    let path = rig.put("a", "");
    let mut file = File::create(path).unwrap();
    for _ in 0..64 {
        file.write_all("é".repeat(512 << 10).as_bytes()).unwrap();
    }
    file.write_all(b"\nnext\n").unwrap();
    let text = rig.read("a").await;
    let (head, rest) = text.split_once(" [").unwrap();
    assert_eq!(head, format!("     1\t{}", "é".repeat(1000)));
    assert_eq!(rest, format!("{} more bytes in this line]\n     2\tnext", (64 << 20) - 2000));
}

#[tokio::test]
async fn a_reply_is_bounded() {
    let rig = Rig::new();
    rig.put("a", format!("{}\n", "x".repeat(1500)).repeat(1000));
    let text = rig.read("a").await;
    assert!(text.len() < 70 << 10, "{}", text.len());
    assert!(
        text.ends_with("[more follows: go on with offset 45]"),
        "{}",
        &text[text.len() - 100..]
    );
}

#[tokio::test]
async fn binary_files_are_refused_and_other_encodings_shown() {
    let rig = Rig::new();
    rig.put("binary", b"\x7fELF\0\0");
    let (code, said) = rig.fails("read", json!({ "file_path": "binary" })).await;
    assert_eq!((code.as_str(), said.as_str()), ("FS_BINARY", "binary is a binary file (6 bytes)"));
    rig.put("latin", b"caf\xe9\n");
    assert_eq!(
        rig.read("latin").await,
        "     1\tcaf\u{fffd}\n[not UTF-8: what is none shows as U+FFFD]"
    );
    rig.put("bom", "\u{feff}a\n");
    assert_eq!(rig.read("bom").await, "     1\ta");
}

#[tokio::test]
async fn what_is_no_file_is_said() {
    let rig = Rig::new();
    rig.put("folder/x", "");
    assert_eq!(rig.fails("read", json!({ "file_path": "folder" })).await.0, "FS_IS_DIRECTORY");
    assert_eq!(rig.fails("read", json!({ "file_path": "none" })).await.0, "FS_NOT_FOUND");
    assert_eq!(
        rig.fails("read", json!({ "file_path": "folder/x/y" })).await.1,
        "folder/x/y is no path: folder/x is not a folder"
    );
    let made = std::process::Command::new("mkfifo").arg(rig.path("pipe")).status().unwrap();
    assert!(made.success());
    assert_eq!(rig.fails("read", json!({ "file_path": "pipe" })).await.0, "FS_NOT_REGULAR");
}

#[tokio::test]
async fn wrong_arguments_say_where() {
    let rig = Rig::new();
    let (code, said) = rig.fails("read", json!({ "path": "a" })).await;
    assert_eq!(code, "INVALID_ARGS");
    assert!(said.contains("unknown field `path`, expected one of `file_path`"), "{said}");
    let (_, said) = rig.fails("read", json!({ "file_path": "a", "offset": "1" })).await;
    assert!(said.contains("invalid type: string \"1\", expected u64 at line 1 column"), "{said}");
    assert!(
        rig.fails("read", json!({ "file_path": "a", "offset": 0 })).await.1.contains("begin at 1")
    );
}
