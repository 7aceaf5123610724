//! Streamable HTTP over loopback.

use std::sync::{Arc, Mutex};

use dsh_mcp::{Limits, Server, Transport};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::Check;
use crate::rig::Rig;

pub(crate) const ALL: &[Check] = &[
    ("http_answers_come_as_json_and_as_a_stream", || {
        Box::pin(http_answers_come_as_json_and_as_a_stream())
    }),
    ("http_failures_are_said_and_headers_stay_secret", || {
        Box::pin(http_failures_are_said_and_headers_stay_secret())
    }),
    ("a_redirect_is_not_followed", || Box::pin(a_redirect_is_not_followed())),
    ("a_wrong_url_is_an_error", || Box::pin(a_wrong_url_is_an_error())),
];

/// A server on a port of its own, and the heads of all requests that it got.
struct Loopback {
    url: String,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Loopback {
    async fn start(answer: fn(&str, &Value) -> String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&heads);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(one(stream, answer, Arc::clone(&seen)));
            }
        });
        Self { url, heads }
    }

    fn server(&self) -> Server {
        let headers = vec![("Authorization".into(), "Bearer sesame".into())];
        let transport = Transport::Http { url: self.url.clone(), headers };
        Server { name: "web".into(), transport, trusted: false, limits: Limits::default() }
    }
}

/// Answers requests on one connection, one each.
async fn one(stream: TcpStream, answer: fn(&str, &Value) -> String, seen: Arc<Mutex<Vec<String>>>) {
    let mut stream = BufReader::new(stream);
    let (mut head, mut line) = (String::new(), String::new());
    while stream.read_line(&mut line).await.unwrap_or(0) > 2 {
        head.push_str(&line);
        line.clear();
    }
    let length = head
        .lines()
        .find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await.unwrap();
    seen.lock().unwrap().push(head.clone());
    let answer = answer(&head, &serde_json::from_slice(&body).unwrap_or_default());
    // Whoever asked may have gone.
    let _ = stream.get_mut().write_all(answer.as_bytes()).await;
}

fn response(status: &str, kind: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nMcp-Session-Id: one\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn behaving(head: &str, message: &Value) -> String {
    if !head.starts_with("POST ") {
        return response("405 Method Not Allowed", "text/plain", "");
    }
    let answer = |result: Value| {
        json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string()
    };
    match message["method"].as_str().unwrap_or_default() {
        "initialize" => {
            let version = &message["params"]["protocolVersion"];
            let result = json!({ "protocolVersion": version, "capabilities": { "tools": {} }, "serverInfo": { "name": "web", "version": "1" } });
            response("200 OK", "application/json", &answer(result))
        }
        "tools/list" => response(
            "200 OK",
            "application/json",
            &answer(json!({ "tools": [{ "name": "echo", "inputSchema": { "type": "object" } }] })),
        ),
        "tools/call" => {
            let result = json!({ "content": [{ "type": "text", "text": format!("got {}", message["params"]["arguments"]) }] });
            response(
                "200 OK",
                "text/event-stream",
                &format!(": hello\n\nevent: message\ndata: {}\n\n", answer(result)),
            )
        }
        _ => response("202 Accepted", "text/plain", ""),
    }
}

async fn http_answers_come_as_json_and_as_a_stream() {
    let loopback = Loopback::start(behaving).await;
    let rig = Rig::start(vec![loopback.server()]).await;
    assert_eq!(rig.call("web__echo", json!({ "a": 1 })).await.unwrap(), r#"got {"a":1}"#);
    assert_eq!(rig.call("web__echo", json!({})).await.unwrap(), "got {}");
    let heads = loopback.heads.lock().unwrap().clone();
    let posts = heads.iter().filter(|head| head.starts_with("POST"));
    for head in posts {
        assert!(head.to_lowercase().contains("authorization: bearer sesame"), "{head}");
    }
}

async fn http_failures_are_said_and_headers_stay_secret() {
    let refusing =
        Loopback::start(|_, _| response("401 Unauthorized", "text/plain", "who are you")).await;
    let rig = Rig::start(vec![refusing.server()]).await;
    let [notice] = &rig.notices()[..] else { panic!("{:?}", rig.notices()) };
    assert!(notice.contains("401") && !notice.contains("sesame"), "{notice}");
    let nowhere = Server {
        transport: Transport::Http { url: "http://127.0.0.1:9/".into(), headers: Vec::new() },
        ..refusing.server()
    };
    let rig = Rig::start(vec![nowhere]).await;
    assert!(rig.notices()[0].contains("Connection refused"), "{:?}", rig.notices());
}

async fn a_redirect_is_not_followed() {
    let moved = Loopback::start(|_, _| "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".into()).await;
    let rig = Rig::start(vec![moved.server()]).await;
    assert!(rig.notices()[0].contains("307"), "{:?}", rig.notices());
}

async fn a_wrong_url_is_an_error() {
    for (url, part) in [("no url", "is none"), ("ftp://host/", "neither http nor https")] {
        let transport = Transport::Http { url: url.into(), headers: Vec::new() };
        let server =
            Server { name: "web".into(), transport, trusted: false, limits: Limits::default() };
        let rig = Rig::start(vec![server]).await;
        assert!(rig.notices()[0].contains(part), "{:?}", rig.notices());
    }
}
