//! Whole turns over the network: what stays in the log when a service misbehaves, and what the next request says.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use dsh_agent::{Cause, Shown, TurnEnd};
use dsh_model::{Chat, Provider};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::events::{DONE, calls, ends, says, stream, thinks, whole};
use crate::server::{Act, STREAM, Server, answer, send};
use crate::turn::Rig;

/// A model at this server, asked as DeepSeek is.
fn deepseek(server: &Server) -> Chat {
    server.model_of(|endpoint| {
        *endpoint = endpoint.clone().of(Provider::named("deepseek").unwrap());
    })
}

#[tokio::test(start_paused = true)]
async fn s03_a_broken_answer_is_asked_for_again_and_leaves_no_message() {
    let broken = stream(&[thinks("hm"), "upstream error: read ECONNRESET\n".into()]);
    let server = Server::play(vec![broken, whole("fine")]).await;
    let rig = Rig::start(server.model()).await;
    assert_eq!(rig.ask("hello").await, TurnEnd::Completed);
    let texts: Vec<_> = rig.messages().iter().map(|message| message.text()).collect();
    assert_eq!(texts, ["hello", "fine"]);
    let retries = rig.events("llm/retry");
    assert_eq!(retries.len(), 1);
    let Some(Shown::Retrying(retry)) = Shown::of(&retries[0]) else { panic!("a retry shows") };
    assert_eq!(retry.failure.code, "TRANSPORT");
    assert!(retry.failure.message.contains("ECONNRESET"), "{}", retry.failure.message);
}

#[tokio::test(start_paused = true)]
async fn s03_a_call_that_was_cut_off_never_runs() {
    let cut = stream(&[calls(0, Some("c"), Some("ls"), "{\"path\":\"/tm")]);
    let server = Server::play(vec![cut]).await;
    let rig = Rig::start(server.model()).await;
    assert_eq!(rig.fail("hello").await, "TRANSPORT");
    assert!(rig.tool.calls.lock().unwrap().is_empty());
    assert!(rig.events("assistant/message").is_empty());
    assert_eq!(server.asked().len(), 1, "something was asked for, so it is not asked again");
}

#[tokio::test(start_paused = true)]
async fn s04_a_silent_answer_holds_nobody_else_up() {
    let hangs = [stream(&[thinks("hm"), says("half a sentence")]), vec![Act::Hold]].concat();
    let server = Arc::new(tokio::sync::Mutex::new(
        Server::play(vec![whole("one"), hangs, whole("two")]).await,
    ));
    let model = server.lock().await.model();
    let rig = Rig::start(model.clone()).await;
    assert_eq!(rig.ask("first").await, TurnEnd::Completed);
    let fork = rig.fork(model).await;
    let mut told = rig.agent.live().subscribe();
    rig.agent.followup(rig.agent.prompt("second").unwrap()).await.unwrap();
    while !matches!(Shown::of(&told.next().await.unwrap()), Some(Shown::Text(_))) {}
    assert_eq!(fork.ask("aside").await, TurnEnd::Completed);
    let before = Instant::now();
    rig.agent.cancel(Cause::User, false).await.unwrap();
    rig.agent.when_idle().await.unwrap();
    assert!(before.elapsed() < Duration::from_secs(1));
    server.lock().await.gone(1).await;
    let last = rig.events("assistant/message").pop().unwrap();
    assert!(last.data.as_str().contains(r#""interrupted":true"#), "{}", last.data.as_str());
    assert_eq!(rig.messages().last().unwrap().text(), "half a sentence");
    assert_eq!(rig.agent.last_turn().unwrap().end, TurnEnd::Aborted { reason: Cause::User });
}

#[tokio::test(start_paused = true)]
async fn s07_what_was_said_before_a_drop_is_not_said_twice() {
    let drop = [stream(&[says("one "), says("two "), says("three")]), vec![Act::Reset]].concat();
    let server = Server::play(vec![drop, whole("again")]).await;
    let rig = Rig::start(server.model()).await;
    assert_eq!(rig.fail("hello").await, "TRANSPORT");
    let shown = rig.log().iter().filter_map(Shown::of).collect::<Vec<_>>();
    let said: String = shown
        .iter()
        .filter_map(|shown| match shown {
            Shown::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert!("one two three".starts_with(&said), "{said}");
    assert_eq!(server.asked().len(), 1);
    assert_eq!(rig.ask("and now?").await, TurnEnd::Completed);
    assert!(!server.asked()[1].body.contains("three"), "nothing final came of it");
}

/// A service that thinks before each answer, and refuses a request that lacks a single thought of its own.
async fn remembers() -> Server {
    let thoughts: Mutex<Vec<String>> = Mutex::default();
    Server::answer(move |number, asked| {
        let mut thoughts = thoughts.lock().unwrap();
        let body = asked.json();
        let messages = body["messages"].as_array().unwrap();
        let replies = messages.iter().filter(|message| message["role"] == "assistant");
        let given: Vec<&Value> = replies.map(|reply| &reply["reasoning_content"]).collect();
        if !given.iter().all(|given| thoughts.iter().any(|thought| *given == thought)) {
            let error = json!({ "error": { "message": "reasoning_content is missing" } });
            return answer("400 Bad Request", &[], &error.to_string());
        }
        let thought = format!("thought {number}: 考\u{1F9E0} \n\t\"\\ ");
        thoughts.push(thought.clone());
        let call = number == 0;
        let end = if call {
            calls(0, Some("c"), Some("ls"), "{}") + &ends("tool_calls")
        } else {
            says("so") + &ends("stop")
        };
        stream(&[thinks(&thought), end, DONE.into()])
    })
    .await
}

#[tokio::test]
async fn s09_thinking_goes_back_on_every_path_byte_for_byte() {
    let server = remembers().await;
    let rig = Rig::start(deepseek(&server)).await;
    assert_eq!(rig.ask("with a tool").await, TurnEnd::Completed);
    assert_eq!(rig.ask("a later turn").await, TurnEnd::Completed);
    let fork = rig.fork(deepseek(&server)).await;
    assert_eq!(fork.ask("in a fork").await, TurnEnd::Completed);
    let rig = rig.resume(deepseek(&server)).await;
    assert_eq!(rig.ask("after a restart").await, TurnEnd::Completed);
    assert_eq!(server.asked().len(), 5);
    // The twin: who keeps the thinking to himself is refused.
    let forgetful = server.model_of(|endpoint| endpoint.provider = "somebody else".into());
    let rig = rig.resume(forgetful).await;
    assert_eq!(rig.fail("without").await, "INVALID_REQUEST");
}

#[tokio::test]
async fn s10_a_reply_that_only_thinks_ends_the_turn_and_stays() {
    let server = Server::play(vec![stream(&[thinks("hm"), ends("stop"), DONE.into()])]).await;
    let rig = Rig::start(server.model()).await;
    assert_eq!(rig.ask("hello").await, TurnEnd::Completed);
    let last = rig.messages().pop().unwrap();
    assert_eq!((last.text().as_str(), last.blocks().len()), ("", 1));
}

#[tokio::test(start_paused = true)]
async fn s11_an_empty_answer_is_asked_for_again_until_it_is_a_failure() {
    let empty = || stream(&[ends("stop"), DONE.into()]);
    let server = Server::play(vec![empty(), whole("a"), empty()]).await;
    let rig = Rig::start(server.model()).await;
    assert_eq!(rig.ask("hello").await, TurnEnd::Completed);
    assert_eq!(rig.fail("again").await, "EMPTY_RESPONSE");
    assert_eq!(server.asked().len(), 2 + 6);
    assert_eq!(rig.events("llm/retry").len(), 1 + 5);
}

#[tokio::test]
async fn s13_another_service_gets_nothing_that_only_the_first_one_knows() {
    let first = Server::play(vec![
        stream(&[
            thinks("mine"),
            calls(0, Some("c"), Some("ls"), "{}"),
            ends("tool_calls"),
            DONE.into(),
        ]),
        whole("so"),
    ])
    .await;
    let second = Server::play(vec![whole("and")]).await;
    let rig = Rig::start(first.model()).await;
    assert_eq!(rig.ask("hello").await, TurnEnd::Completed);
    let other = second.model_of(|endpoint| endpoint.provider = "q".into());
    let rig = rig.resume(other).await;
    assert_eq!(rig.ask("go on").await, TurnEnd::Completed);
    let body = second.asked()[0].json();
    for message in body["messages"].as_array().unwrap() {
        let known = ["role", "content", "tool_calls", "tool_call_id"];
        for member in message.as_object().unwrap().keys() {
            assert!(known.contains(&member.as_str()), "{member}");
        }
    }
    assert!(!second.asked()[0].body.contains("mine"));
}

#[tokio::test]
async fn s14_a_made_id_links_the_call_to_its_result() {
    let nameless = |arguments| {
        stream(&[calls(0, Some(""), Some("ls"), arguments), ends("tool_calls"), DONE.into()])
    };
    let server = Server::play(vec![nameless("{\"n\":1}"), nameless(""), whole("so")]).await;
    let rig = Rig::start(server.model()).await;
    assert_eq!(rig.ask("hello").await, TurnEnd::Completed);
    assert_eq!(*rig.tool.calls.lock().unwrap(), [r#"{"n":1}"#, "{}"]);
    let body = server.asked()[2].json();
    let messages = body["messages"].as_array().unwrap();
    let called = |place: usize| messages[place]["tool_calls"][0]["id"].clone();
    let answered = |place: usize| messages[place]["tool_call_id"].clone();
    assert_eq!((called(1), called(3)), (json!("call_1_0"), json!("call_3_0")));
    assert_eq!((answered(2), answered(4)), (called(1), called(3)));
}

#[tokio::test(start_paused = true)]
async fn too_many_requests_are_waited_out_as_long_as_the_service_asks() {
    let busy = |headers: &[&str]| {
        answer("429 Too Many Requests", headers, r#"{"error":{"message":"slow down"}}"#)
    };
    let ill = answer("503 Service Unavailable", &[], "busy");
    let server =
        Server::play(vec![busy(&["retry-after: 30"]), busy(&[]), ill, whole("well")]).await;
    let rig = Rig::start(server.model_of(|endpoint| endpoint.retry.jitter = 0.0)).await;
    let before = Instant::now();
    assert_eq!(rig.ask("hello").await, TurnEnd::Completed);
    assert_eq!(before.elapsed().as_secs(), 30 + 1 + 2);
    let delays: Vec<f64> = rig
        .events("llm/retry")
        .iter()
        .filter_map(Shown::of)
        .map(|shown| match shown {
            Shown::Retrying(retry) => retry.delay_ms,
            shown => panic!("no retry but {shown:?}"),
        })
        .collect();
    assert_eq!(delays, [30_000.0, 1_000.0, 2_000.0]);
}

#[tokio::test(start_paused = true)]
async fn what_waiting_does_not_mend_ends_the_turn_at_once() {
    let server = Server::play(vec![
        answer("401 Unauthorized", &[], ""),
        answer("429 Too Many Requests", &["retry-after: 3600"], ""),
        answer("429 Too Many Requests", &[], r#"{"error":{"code":"insufficient_quota"}}"#),
        whole("well"),
    ])
    .await;
    let rig = Rig::start(server.model()).await;
    let before = Instant::now();
    for code in ["AUTH", "RATE_LIMIT", "QUOTA"] {
        assert_eq!(rig.fail("hello").await, code);
    }
    assert!(before.elapsed() < Duration::from_secs(1));
    let end = rig.events("turn/end").remove(1);
    assert!(end.data.as_str().contains(r#""providerRetryAfterMs":3600000"#));
    assert_eq!(rig.ask("now?").await, TurnEnd::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_reply_without_room_keeps_its_text_and_runs_nothing() {
    let cut = [
        says("Once upon a"),
        calls(0, Some("c"), Some("ls"), "{\"pa"),
        ends("length"),
        DONE.into(),
    ];
    let server = Server::play(vec![stream(&cut)]).await;
    let rig = Rig::start(server.model()).await;
    assert_eq!(rig.ask("hello").await, TurnEnd::MaxTokens);
    assert_eq!(rig.messages().pop().unwrap().text(), "Once upon a");
    assert!(rig.tool.calls.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_request_begins_with_the_bytes_of_the_one_before() {
    let call = stream(&[
        thinks("hm"),
        says("look"),
        calls(0, Some("c"), Some("ls"), "{ \"b\":1, \"a\": 2 }"),
        ends("tool_calls"),
        DONE.into(),
    ]);
    let server = Server::play(vec![call, whole("so"), whole("and")]).await;
    let rig = Rig::start(deepseek(&server)).await;
    assert_eq!(rig.ask("日本").await, TurnEnd::Completed);
    let rig = rig.resume(deepseek(&server)).await;
    assert_eq!(rig.ask("more").await, TurnEnd::Completed);
    let asked = server.asked();
    for (before, after) in asked.iter().zip(&asked[1..]) {
        let before = before.body.strip_suffix("]}").unwrap();
        assert!(after.body.starts_with(before), "{before}\n{}", after.body);
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_wait_for_the_first_byte_leaves_nothing() {
    let mut server = Server::play(vec![vec![send(STREAM), Act::Hold]]).await;
    let rig = Rig::start(server.model()).await;
    rig.agent.followup(rig.agent.prompt("hello").unwrap()).await.unwrap();
    while server.asked().is_empty() {
        tokio::task::yield_now().await;
    }
    rig.agent.cancel(Cause::User, false).await.unwrap();
    rig.agent.when_idle().await.unwrap();
    server.gone(1).await;
    assert!(rig.events("assistant/message").is_empty());
    assert_eq!(rig.messages().len(), 1);
}
