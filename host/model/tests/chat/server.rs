//! A server on this machine that does exactly what it is told, and keeps what it was asked.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use dsh_model::{Chat, Endpoint};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// What the server does with a connection, after it has read the request.
#[derive(Clone)]
pub(crate) enum Act {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Waits, on the test's own clock.
    Wait(Duration),
    /// Says nothing more, and waits until the client is gone.
    Hold,
    /// Resets the connection.
    Reset,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// The request line and the headers.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Asked {
    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

pub(crate) struct Server {
    pub(crate) url: String,
    state: Arc<State>,
    gone: watch::Receiver<usize>,
    listening: JoinHandle<()>,
}

/// What to do with a request, which comes with its number from 0.
type Answering = Box<dyn Fn(usize, &Asked) -> Vec<Act> + Send + Sync>;

struct State {
    asked: Mutex<Vec<Asked>>,
    answer: Answering,
    gone: watch::Sender<usize>,
}

impl Server {
    /// Answers the first request with the first script, and so on; the last one again and again.
    pub(crate) async fn play(scripts: Vec<Vec<Act>>) -> Self {
        Self::answer(move |number, _| scripts[number.min(scripts.len() - 1)].clone()).await
    }

    /// Answers each request, from 0, with what `answer` says.
    pub(crate) async fn answer(
        answer: impl Fn(usize, &Asked) -> Vec<Act> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, gone) = watch::channel(0);
        let (asked, answer): (_, Answering) = (Mutex::default(), Box::new(answer));
        let state = Arc::new(State { asked, answer, gone: sender });
        let serving = Arc::clone(&state);
        let listening = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(stream, Arc::clone(&serving)));
            }
        });
        Self { url, state, gone, listening }
    }

    /// The requests so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.state.asked.lock().unwrap().clone()
    }

    /// A model here.
    pub(crate) fn model(&self) -> Chat {
        self.model_of(|_| {})
    }

    /// A model here, with an endpoint that was changed so.
    pub(crate) fn model_of(&self, change: impl FnOnce(&mut Endpoint)) -> Chat {
        let mut endpoint = Endpoint::new(&self.url, "m").unwrap();
        endpoint.provider = "p".into();
        change(&mut endpoint);
        Chat::new(endpoint).unwrap()
    }

    /// Waits until this many clients have gone while the server held their connections.
    pub(crate) async fn gone(&mut self, clients: usize) {
        self.gone.wait_for(|gone| *gone >= clients).await.unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn serve(mut stream: TcpStream, state: Arc<State>) {
    stream.set_nodelay(true).unwrap();
    let Some(asked) = read(&mut stream).await else { return };
    let acts = {
        let mut requests = state.asked.lock().unwrap();
        requests.push(asked);
        (state.answer)(requests.len() - 1, &requests[requests.len() - 1])
    };
    for act in acts {
        match act {
            // A client that has gone reads nothing more; the script goes on.
            Act::Send(bytes) => drop(stream.write_all(&bytes).await),
            Act::Wait(time) => tokio::time::sleep(time).await,
            Act::Hold => {
                let _ = stream.read(&mut [0; 64]).await;
                state.gone.send_modify(|gone| *gone += 1);
            }
            Act::Reset => {
                stream.set_zero_linger().unwrap();
                return;
            }
        }
    }
    let _ = stream.shutdown().await;
}

async fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let head = loop {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        // Whoever begins with a TLS handshake is turned away.
        if bytes.first() == Some(&0x16) {
            return None;
        }
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let asked = Asked { head: text, body: String::new() };
    let length = asked.header("content-length").map_or(0, |length| length.parse().unwrap());
    while bytes.len() < head + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let body = String::from_utf8(bytes[head..].to_vec()).unwrap();
    Some(Asked { body, ..asked })
}

pub(crate) fn send(text: impl Into<Vec<u8>>) -> Act {
    Act::Send(text.into())
}

pub(crate) fn wait(seconds: u64) -> Act {
    Act::Wait(Duration::from_secs(seconds))
}

/// The head of an answer whose body goes on until the connection closes.
pub(crate) const STREAM: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// A whole answer with this status, these headers and this body.
pub(crate) fn answer(status: &str, headers: &[&str], body: &str) -> Vec<Act> {
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let length = body.len();
    vec![send(format!(
        "HTTP/1.1 {status}\r\n{headers}connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    ))]
}

/// An answer whose body comes in exactly these pieces, each of which the client sees by itself.
pub(crate) fn pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Act> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n";
    let mut bytes = head.as_bytes().to_vec();
    for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
        bytes.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        bytes.extend_from_slice(piece);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    vec![Act::Send(bytes)]
}
