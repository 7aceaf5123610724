//! `run` and `doctor` with a model behind a URL: what is sent with which key, what a person sees, and what never leaks.

use std::sync::{Arc, Mutex};

use dsh_wasm::Exit;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::desk::{Desk, Ran};

const KEY: &str = "sk-0123456789-sesame";

/// A service on this machine that gives these answers in turn, and keeps what it was asked.
struct Service {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Service {
    async fn start(answers: &'static [&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = Arc::clone(&asked);
        tokio::spawn(async move {
            for number in 0.. {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut text = String::new();
                // A body ends with its object; a request without one, with its empty line.
                loop {
                    let whole = if text.starts_with("GET") { "\r\n\r\n" } else { "}]}" };
                    if text.ends_with(whole) {
                        break;
                    }
                    let mut bytes = [0; 4096];
                    let read = stream.read(&mut bytes).await.unwrap();
                    text += &String::from_utf8_lossy(&bytes[..read]);
                }
                kept.lock().unwrap().push(text);
                let answer = answers[usize::min(number, answers.len() - 1)];
                let answer = format!("HTTP/1.1 {answer}");
                stream.write_all(answer.as_bytes()).await.unwrap();
                stream.shutdown().await.unwrap();
            }
        });
        Self { url, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

const SAYS: &str = "200 OK\r\nconnection: close\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"hello there\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
const THINKS: &str = "200 OK\r\nconnection: close\r\n\r\ndata: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
const BUSY: &str =
    "503 Service Unavailable\r\nconnection: close\r\nretry-after-ms: 20\r\n\r\nback soon";
const REFUSES: &str = "401 Unauthorized\r\nconnection: close\r\n\r\n{\"error\":{\"message\":\"no such key: sk-0123456789-sesame\"}}";
const LISTS: &str =
    "200 OK\r\nconnection: close\r\n\r\n{\"data\":[{\"id\":\"small\"},{\"id\":\"large\"}]}";

async fn run(desk: &Desk, args: &[&str]) -> Ran {
    let root = desk.path("sessions");
    desk.run(&[&["run", "--root", root.to_str().unwrap()], args].concat()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_url_and_a_key_are_all_that_is_needed() {
    let service = Service::start(&[SAYS]).await;
    let mut desk = Desk::new(&[]);
    desk.variables = vec![("MY_KEY".into(), KEY.into())];
    let base = ["--base-url", &service.url, "--model", "small", "hi"];
    let ran = run(&desk, &[&["--key-env", "MY_KEY"], &base[..]].concat()).await;
    assert_eq!(ran.exit, Ok(Exit::Done), "{}", ran.err);
    assert_eq!(ran.out, "hello there\n");
    let none = run(&desk, &[&["--key-env", "NO_KEY"], &base[..]].concat()).await;
    assert!(none.err.contains("the variable NO_KEY"), "{}", none.err);
    let asked = service.asked();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].starts_with("POST /v1/chat/completions "), "{}", asked[0]);
    assert!(asked[0].contains(&format!("authorization: Bearer {KEY}")));
    let body: Value = serde_json::from_str(asked[0].split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(body["model"], "small");
    assert_eq!(body["messages"][1]["content"], "hi");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_may_print_the_key() {
    let service = Service::start(&[SAYS]).await;
    let desk = Desk::new(&[]);
    let with = |command: &str| {
        let command = format!("model.key-command=[\"sh\", \"-c\", \"{command}\"]");
        ["--set".to_owned(), command]
    };
    let base = ["--base-url", service.url.as_str(), "--model", "small", "hi"];
    let [set, command] = with("echo; echo sk-printed-key; echo not this");
    let ran = run(&desk, &[&[set.as_str(), &command], &base[..]].concat()).await;
    assert_eq!(ran.exit, Ok(Exit::Done), "{}", ran.err);
    assert!(service.asked()[0].contains("authorization: Bearer sk-printed-key\r\n"));
    for (command, why) in [("exit 3", "it ended with exit status: 3"), (":", "it prints nothing")] {
        let [set, command] = with(command);
        let ran = run(&desk, &[&[set.as_str(), &command], &base[..]].concat()).await;
        assert_eq!(ran.exit, Ok(Exit::Failed));
        assert!(ran.err.contains("gave no key") && ran.err.contains(why), "{}", ran.err);
    }
    assert_eq!(service.asked().len(), 1, "nothing is sent without the key that was spoken of");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_in_the_wrong_place_is_not_repeated() {
    let desk = Desk::new(&[]);
    let base = ["--base-url", "http://127.0.0.1:9/v1", "--model", "small", "hi"];
    let key = "sk-0123456789abcdef";
    let command = format!("model.key-command=[\"{key}\"]");
    for (given, place) in [
        (["--key-env", key], "`model.key-env`"),
        (["--key-env", "sk_live_0123456789abcdef"], "`model.key-env`"),
        (["--set", &command], "`model.key-command`"),
    ] {
        let ran = run(&desk, &[&given[..], &base].concat()).await;
        let said = format!("{}{}{:?}", ran.out, ran.err, ran.exit);
        assert!(said.contains(place) && said.contains("not shown"), "{said}");
        assert!(!said.contains("0123456789"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_usual_key_of_a_service_goes_to_nobody_else() {
    let service = Service::start(&[SAYS]).await;
    let mut desk = Desk::new(&[]);
    let none = run(&desk, &["--model", "deepseek/deepseek-v4-flash", "hi"]).await;
    assert_eq!(none.exit, Ok(Exit::Failed));
    assert!(none.err.contains("put it into the variable DEEPSEEK_API_KEY"), "{}", none.err);
    desk.variables = vec![("DEEPSEEK_API_KEY".into(), KEY.into())];
    let args = ["--provider", "deepseek", "--base-url", &service.url, "--model", "small", "hi"];
    assert_eq!(run(&desk, &args).await.exit, Ok(Exit::Done));
    assert!(!service.asked()[0].contains("sesame"), "{}", service.asked()[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_sees_why_and_how_long() {
    let service = Service::start(&[BUSY, SAYS]).await;
    let desk = Desk::new(&[]);
    let ran = run(&desk, &["--base-url", &service.url, "--model", "small", "hi"]).await;
    assert_eq!(ran.exit, Ok(Exit::Done));
    assert_eq!(ran.out, "hello there\n");
    let notice = "answered 503 Service Unavailable: back soon; asking again in 0.0 s (1 of 5)\n";
    assert!(ran.err.contains(notice), "{}", ran.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_key_is_told_and_not_shown_and_not_logged() {
    let service = Service::start(&[REFUSES]).await;
    let desk = Desk::new(&[("config/config.toml", "model.key = 'sk-0123456789-sesame'\n")]);
    let (url, key) = (format!("model.base-url={}", service.url), format!("model.key={KEY}"));
    let set =
        ["--json", "--encoding", "raw", "--set", &url, "--set", &key, "--model", "small", "hi"];
    let ran = run(&desk, &set).await;
    assert_eq!(ran.exit, Ok(Exit::TurnFailed));
    assert!(ran.out.contains("no such key: <hidden>; check the key"), "{}", ran.out);
    assert!(!ran.out.contains("sesame") && !ran.err.contains("sesame"));
    assert!(service.asked()[0].contains(KEY), "it was sent");
    let session: Value = serde_json::from_str(ran.out.lines().next().unwrap()).unwrap();
    let root = desk.path("sessions");
    let show = ["show", "--root", root.to_str().unwrap(), "--log", "--json"];
    let log = desk.run(&[&show[..], &[session["session"].as_str().unwrap()]].concat()).await.out;
    assert!(log.contains("no such key: <hidden>") && !log.contains("sesame"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn thinking_without_a_word_is_told() {
    let service = Service::start(&[THINKS]).await;
    let desk = Desk::new(&[]);
    let ran = run(&desk, &["--base-url", &service.url, "--model", "small", "hi"]).await;
    assert_eq!(ran.exit, Ok(Exit::Done));
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("The model thought, and said nothing"), "{}", ran.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_nobody_knows_is_an_error_with_a_way_out() {
    let desk = Desk::new(&[]);
    for (args, why) in [
        (&["--model", "gpt"][..], "write SERVICE/MODEL with one of deepseek, openai"),
        (&["--model", "nobody/gpt"], "give the URL of its service with --base-url"),
        (&["--provider", "nobody", "--model", "gpt"], r#"no service is known as "nobody""#),
        (&["--provider", "ollama"], "no model of it; say which with --model"),
    ] {
        let ran = run(&desk, &[args, &["hi"]].concat()).await;
        assert_eq!(ran.exit, Ok(Exit::Failed));
        assert!(ran.err.contains(why), "{}", ran.err);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_names_what_is_wrong_with_a_model() {
    let desk = Desk::new(&[]);
    let doctor = async |service: &Service, model: &str, key: Option<&str>| {
        let model = format!("model.name={model}");
        let url = format!("model.base-url={}", service.url);
        let key = key.map(|key| format!("model.key={key}"));
        let mut args = vec!["doctor", "--json", "--set", &model, "--set", &url];
        args.extend(key.iter().flat_map(|key| ["--set", key.as_str()]));
        desk.run(&args).await.out
    };
    let lists = Service::start(&[LISTS]).await;
    let refuses = Service::start(&[REFUSES]).await;
    let ill = Service::start(&[BUSY]).await;
    for (found, finding, says) in [
        (doctor(&lists, "small", None).await, "model", "which its service knows"),
        (doctor(&lists, "tiny", None).await, "model-unknown", "it has: small, large"),
        (doctor(&refuses, "small", None).await, "key-missing", "no such key"),
        (doctor(&refuses, "small", Some(KEY)).await, "key-refused", "no such key: <hidden>"),
        (doctor(&ill, "small", None).await, "model-unwell", "back soon"),
    ] {
        let line = found.lines().find(|line| line.contains(&format!(r#""finding":"{finding}""#)));
        assert!(line.is_some_and(|line| line.contains(says)), "{finding}: {found}");
        // What was never given cannot be known either.
        assert!(finding == "key-missing" || !found.contains("sesame"));
    }
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let gone = Service { url: format!("http://{gone}"), asked: Arc::default() };
    let found = doctor(&gone, "small", None).await;
    assert!(found.contains("model-unreachable") && found.contains("cannot be reached"), "{found}");
    let found = desk.run(&["doctor", "--set", "model.name=nothing"]).await.out;
    assert!(found.contains("model-unusable"), "{found}");
}
