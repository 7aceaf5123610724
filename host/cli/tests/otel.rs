//! Spans of plugins' calls at an OpenTelemetry collector on loopback.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::thread::{self, JoinHandle};

/// Runs a turn whose spans go to `collector`, by the variable or by the setting.
fn turn(home: &Path, collector: &str, set: bool) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dsh-wasm"));
    command.env_clear().env("HOME", home).current_dir(home);
    match set {
        true => command.args(["--set", &format!("telemetry.endpoint={collector}")]),
        false => command.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector),
    };
    command.args(["run", "hello"]).output().expect("the program runs")
}

/// A collector that takes one request and gives its line and its body.
fn collector() -> (String, JoinHandle<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    (url, thread::spawn(move || take(&listener.accept().expect("a client").0)))
}

fn take(stream: &TcpStream) -> (String, Vec<u8>) {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).expect("a request");
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a header");
        let line = line.trim().to_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let mut stream = stream;
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").expect("an answer");
    (first, body)
}

fn holds(body: &[u8], text: &str) -> bool {
    body.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn a_call_arrives_with_all_that_is_known_of_it() {
    let home = tempfile::tempdir().expect("a directory");
    for set in [false, true] {
        let (url, taken) = collector();
        let ran = turn(home.path(), &url, set);
        assert!(ran.status.success(), "{ran:?}");
        // Where nothing was sent, this is what the collector waits for.
        let _ = TcpStream::connect(url.trim_start_matches("http://"));
        let (request, body) = taken.join().expect("a request");
        assert_eq!(request, "POST /v1/traces HTTP/1.1\r\n");
        let fields = [
            "plugin",
            "version",
            "digest",
            "export",
            "session",
            "turn",
            "step",
            "outcome",
            "cpu_us",
            "wall_us",
            "memory_bytes",
            "host_calls",
            "output_bytes",
        ];
        for field in fields {
            assert!(holds(&body, field), "{field} is missing");
        }
        let session = String::from_utf8_lossy(&ran.stderr);
        let session = session.split_whitespace().find(|word| word.starts_with("session-"));
        for value in
            ["plugin_call", "session-reference", "dsh:agent/pre-step.handle", "ok", "dsh-wasm"]
        {
            assert!(holds(&body, value), "{value} is missing");
        }
        assert!(holds(&body, session.expect("a new session")), "the session is missing");
    }
}

#[test]
fn a_collector_that_is_not_there_or_never_answers_harms_no_turn() {
    let home = tempfile::tempdir().expect("a directory");
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let silent = format!("http://{}", silent.local_addr().expect("an address"));
    for url in ["http://127.0.0.1:9", &silent] {
        let ran = turn(home.path(), url, false);
        assert!(ran.status.success(), "{ran:?}");
        assert!(String::from_utf8_lossy(&ran.stdout).contains("You said: hello"), "{ran:?}");
        assert!(!String::from_utf8_lossy(&ran.stderr).contains("panicked"), "{ran:?}");
    }
}

#[test]
fn what_is_no_url_is_told() {
    let home = tempfile::tempdir().expect("a directory");
    let ran = turn(home.path(), "nonsense", false);
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(!ran.status.success() && said.contains("nonsense"), "{ran:?}");
}
