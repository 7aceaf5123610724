//! A server that speaks JSON lines itself, so that it can do what no SDK lets it do.

use std::fs::OpenOptions;
use std::io::{self, BufRead as _, Write as _};
use std::path::Path;

use serde_json::{Value, json};

/// Serves in one manner; what it was sent is written to `received` in `folder`.
pub(crate) fn serve(manner: &str, folder: &Path) {
    match manner {
        "dies" => {
            eprintln!("no token is set");
            std::process::exit(1);
        }
        "endless-line" => loop {
            say_raw(&"x".repeat(1 << 20));
        },
        _ => {}
    }
    let mut received =
        OpenOptions::new().create(true).append(true).open(folder.join("received")).unwrap();
    for line in io::stdin().lock().lines() {
        let line = line.unwrap();
        writeln!(received, "{line}").unwrap();
        let message: Value = serde_json::from_str(&line).unwrap();
        if manner == "garbage" {
            say_raw("this is no JSON\n\n[]\n{}\n");
            if message["method"] != "initialize" {
                say_raw("{\"jsonrpc\":\"2.0\",\"id\":999,\"result\":{}}\n");
            }
        }
        if let Some(result) = answer(manner, folder, &message) {
            say_raw(&format!(
                "{}\n",
                json!({ "jsonrpc": "2.0", "id": message["id"], "result": result })
            ));
        }
    }
}

/// Where nobody reads any more there is nobody to serve.
fn say_raw(text: &str) {
    let mut out = io::stdout().lock();
    if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}

fn answer(manner: &str, folder: &Path, message: &Value) -> Option<Value> {
    match message["method"].as_str()? {
        "initialize" if manner == "hangs" => {
            eprintln!("waiting for the database");
            None
        }
        "initialize" => Some(json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": { "tools": {} },
            "serverInfo": { "name": manner, "version": "1" }
        })),
        "tools/list" => Some(list(manner)),
        "tools/call" => call(manner, folder, &message["params"]),
        _ => None,
    }
}

fn tool(name: &str, read_only: bool) -> Value {
    json!({
        "name": name, "description": format!("Does {name}."), "inputSchema": { "type": "object" },
        "annotations": { "readOnlyHint": read_only }
    })
}

fn list(manner: &str) -> Value {
    match manner {
        "many" => {
            json!({ "tools": (0..10_000).map(|number| tool(&format!("t{number}"), false)).collect::<Vec<_>>() })
        }
        "endless" => json!({ "tools": [tool("again", false)], "nextCursor": "more" }),
        "empty-pages" => json!({ "tools": [], "nextCursor": "more" }),
        "lies" => json!({ "tools": [
            { "name": "", "inputSchema": { "type": "object" } },
            { "name": "string", "inputSchema": { "type": "string" } },
            { "name": "huge", "inputSchema": { "type": "object", "description": "x".repeat(100_000) } },
            { "name": "long", "description": "é".repeat(10_000), "inputSchema": {} }
        ]}),
        _ => {
            json!({ "tools": [tool("echo", true), tool("change", false), tool("die", false), tool("odd name/é", false)] })
        }
    }
}

fn call(manner: &str, folder: &Path, params: &Value) -> Option<Value> {
    let text = |text: String| Some(json!({ "content": [{ "type": "text", "text": text }] }));
    match (manner, params["name"].as_str()?) {
        (_, "die") | ("frail", _) => {
            let deaths = folder.join("deaths");
            let before = std::fs::read_to_string(&deaths).unwrap_or_default();
            std::fs::write(deaths, format!("{before}x")).unwrap();
            eprintln!("out of luck");
            std::process::exit(7);
        }
        ("silent", _) => None,
        ("floods", _) => loop {
            say_raw(&format!(
                "{}\n",
                json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "info", "data": "x".repeat(10_000) } })
            ));
        },
        ("shouts", _) => text("é".repeat(1 << 20)),
        ("fails", _) => {
            Some(json!({ "content": [{ "type": "text", "text": "not today" }], "isError": true }))
        }
        (_, name) => text(format!("{name} {}", params["arguments"])),
    }
}
