//! Every shape in which services have been seen to stream: S01 to S15 of the field reports, and their kin.

use dsh_agent::{Chunk, Finish, Model as _, ReplyBlock};
use futures::StreamExt as _;
use serde_json::json;

use crate::events::{
    DONE, Told, ask, called, calls, ends, event, figures, request, says, stream, thinks, told,
    whole,
};
use crate::server::{Act, STREAM, Server, answer, pieces, send, wait};

/// The reply to this script.
async fn reply(script: Vec<Act>) -> Told {
    let server = Server::play(vec![script]).await;
    ask(&server.model(), request()).await
}

/// A recording with everything in it: thinking, text in many scripts, two calls, comments and line ends of all kinds.
fn recording() -> String {
    let events = [
        ": begin\r\n\r\n".to_owned(),
        thinks("considérons 考える"),
        thinks(" \u{1F9E0}\n"),
        says("日本語 と "),
        says("\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467} ёж").replace('\n', "\r\n"),
        calls(0, Some("call_é"), Some("search"), "{\"q\":\"naïve "),
        ": keep-alive\n\n".to_owned(),
        calls(1, Some("call_2"), Some("list"), "{}").replace("data: ", "data:"),
        calls(0, None, None, "\u{2713}\"}"),
        ends("tool_calls"),
        figures(7, 5),
        DONE.to_owned(),
    ];
    events.concat()
}

async fn chunks(script: Vec<Act>) -> Vec<Chunk> {
    let server = Server::play(vec![script]).await;
    server.model().stream(request()).collect().await
}

#[tokio::test]
async fn s01_one_byte_at_a_time_is_the_same_reply() {
    let recording = recording();
    let unsplit = chunks(vec![send(STREAM), send(recording.as_str())]).await;
    let Told { text, thought, blocks, .. } = told(unsplit.clone());
    assert_eq!(thought, "considérons 考える \u{1F9E0}\n");
    assert_eq!(text, "日本語 と \u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467} ёж");
    let expected = [("call_é", "search", "{\"q\":\"naïve \u{2713}\"}"), ("call_2", "list", "{}")];
    assert_eq!(called(&blocks), expected);
    let bytes = chunks(pieces(recording.as_bytes().chunks(1))).await;
    assert_eq!(bytes, unsplit);
}

#[tokio::test]
async fn s02_every_split_in_two_is_the_same_reply() {
    let recording = recording();
    let unsplit = chunks(vec![send(STREAM), send(recording.as_str())]).await;
    let cuts = recording.len();
    let script = recording.clone();
    let server = Server::answer(move |number, _| {
        let (before, after) = script.as_bytes().split_at(number);
        pieces([before, after])
    })
    .await;
    let model = server.model();
    for cut in 0..cuts {
        let split: Vec<Chunk> = model.stream(request()).collect().await;
        assert_eq!(split, unsplit, "cut at {cut}");
    }
}

#[tokio::test]
async fn s03_an_error_in_plain_text_is_no_end_of_an_answer() {
    let words = "upstream error: read ECONNRESET";
    let told = reply(stream(&[thinks("hm"), thinks(" so"), format!("{words}\n")])).await;
    told.failed("TRANSPORT", words);
    assert_eq!(told.thought, "hm so");
    // The same where the text has not even a line's end.
    reply(stream(&[words.into()])).await.failed("TRANSPORT", "before the answer was finished");
}

#[tokio::test]
async fn s03_a_call_that_is_cut_off_is_no_call() {
    let begun = calls(0, Some("c"), Some("rm"), "{\"path\":\"/tm");
    let cut = begun.len() / 2;
    for events in [begun.clone(), begun[..cut].to_owned(), begun.clone() + &begun[..cut]] {
        reply(stream(&[events])).await.failed("TRANSPORT", "closed the connection");
    }
    // An HTTP body that promises more than comes.
    let mut half = pieces([begun.as_bytes()]);
    if let Some(Act::Send(bytes)) = half.last_mut() {
        bytes.truncate(bytes.len() - 5);
    }
    reply(half).await.failed("TRANSPORT", "broke before the answer was finished");
}

#[tokio::test]
async fn s10_thinking_alone_is_a_reply() {
    let told = reply(stream(&[thinks("only this"), ends("stop"), DONE.into()])).await;
    assert_eq!(told.finish, Finish::Stop);
    assert_eq!(told.blocks, [ReplyBlock::Reasoning { text: "only this".into() }]);
}

#[tokio::test]
async fn s11_a_stop_without_any_content_is_a_failure() {
    for events in [
        vec![says(""), ends("stop"), figures(9, 0), DONE.into()],
        vec![ends("stop"), DONE.into()],
        vec![DONE.into()],
        vec![event(&json!({ "choices": [] })), event(&json!({})), DONE.into()],
    ] {
        reply(stream(&events)).await.failed("EMPTY_RESPONSE", "without saying anything");
    }
}

#[tokio::test]
async fn s12_a_finish_with_figures_needs_no_done() {
    let last = json!({ "choices": [{ "index": 0, "delta": { "content": "b" }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 4, "completion_tokens": 2 } });
    let told = reply(stream(&[says("a"), event(&last)])).await;
    assert_eq!((told.text.as_str(), &told.finish), ("ab", &Finish::Stop));
    assert_eq!(told.usage.len(), 1);
    assert_eq!(told.usage[0].input_tokens, 4);
    // Nor does it need the empty line that ends an event.
    let unended = event(&last).trim_end().to_owned();
    assert_eq!(reply(stream(&[says("a"), unended])).await.finish, Finish::Stop);
}

#[tokio::test]
async fn s12_a_done_without_a_finish_ends_what_was_said() {
    let told = reply(stream(&[says("a"), figures(1, 1), DONE.into()])).await;
    assert_eq!((told.text.as_str(), told.finish), ("a", Finish::Stop));
    let told = reply(stream(&[calls(0, Some("c"), Some("ls"), "{}"), DONE.into()])).await;
    assert_eq!(told.finish, Finish::ToolCalls);
    let told = reply(stream(&[says("a"), "data: [DONE]".into()])).await;
    assert_eq!(told.finish, Finish::Stop);
}

#[tokio::test]
async fn s12_neither_a_finish_nor_a_done_is_a_failure() {
    let told = reply(stream(&[says("a"), figures(1, 1)])).await;
    told.failed("TRANSPORT", "closed the connection before the answer was finished");
    assert_eq!(told.text, "a");
}

#[tokio::test]
async fn s14_an_empty_id_is_made_once_and_stays() {
    let events = [
        calls(0, Some(""), Some("ls"), "{"),
        calls(0, Some(""), None, "}"),
        calls(1, None, Some("pwd"), ""),
        ends("tool_calls"),
        DONE.into(),
    ];
    let chunks = chunks(stream(&events)).await;
    let ids: Vec<_> = chunks
        .iter()
        .filter_map(|chunk| match chunk {
            Chunk::ToolCallDelta { id, .. } => Some(id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["call_1_0", "call_1_0", "call_1_1"]);
    let told = told(chunks);
    assert_eq!(called(&told.blocks), [("call_1_0", "ls", "{}"), ("call_1_1", "pwd", "")]);
}

#[tokio::test(start_paused = true)]
async fn s15_a_reset_connection_keeps_its_cause() {
    let reset = vec![send(STREAM), send(says("half")), wait(1), Act::Reset];
    let told = reply(reset).await;
    told.failed("TRANSPORT", "the connection broke before the answer was finished");
    assert!(told.failure().message.contains("reset"), "{}", told.failure().message);
    assert!(told.failure().message.starts_with("127.0.0.1:"));
    reply(vec![Act::Reset]).await.failed("TRANSPORT", "gave no answer");
}

#[tokio::test]
async fn parallel_calls_with_reused_and_missing_indexes_stay_apart() {
    let anonymous = |name: &str| {
        let call = json!({ "function": { "name": name, "arguments": "{}" } });
        event(&json!({ "choices": [{ "delta": { "tool_calls": [call] } }] }))
    };
    let events = [
        calls(0, Some("a"), Some("one"), "{}"),
        calls(0, Some("b"), Some("two"), "{\"x\":"),
        calls(0, None, None, "1}"),
        anonymous("three"),
        anonymous("four"),
        ends("tool_calls"),
        DONE.into(),
    ];
    let told = reply(stream(&events)).await;
    let expected = [
        ("a", "one", "{}"),
        ("b", "two", "{\"x\":1}"),
        ("call_1_2", "three", "{}"),
        ("call_1_3", "four", "{}"),
    ];
    assert_eq!(called(&told.blocks), expected);
    assert_eq!(told.finish, Finish::ToolCalls);
}

#[tokio::test]
async fn figures_are_told_once_wherever_they_stand() {
    let within = |text: &str, read: u64| {
        event(&json!({ "choices": [{ "delta": { "content": text } }],
            "usage": { "prompt_tokens": read, "completion_tokens": 1 } }))
    };
    for events in [
        vec![says("a"), ends("stop"), figures(5, 1), DONE.into()],
        vec![within("a", 1), within("b", 5), ends("stop"), DONE.into()],
        vec![figures(5, 1), says("a"), ends("stop"), DONE.into()],
    ] {
        let told = reply(stream(&events)).await;
        assert_eq!(told.usage.iter().map(|usage| usage.input_tokens).collect::<Vec<_>>(), [5]);
    }
    let without = reply(stream(&[says("a"), ends("stop"), DONE.into()])).await;
    assert_eq!(without.usage, []);
}

#[tokio::test]
async fn a_cache_hit_is_counted_apart() {
    for cached in [
        json!({ "prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36 }),
        json!({ "prompt_tokens_details": { "cached_tokens": 64 } }),
    ] {
        let mut usage = json!({ "prompt_tokens": 100, "completion_tokens": 3 });
        usage.as_object_mut().unwrap().extend(cached.as_object().unwrap().clone());
        let last = event(&json!({ "choices": [], "usage": usage }));
        let told = reply(stream(&[says("a"), ends("stop"), last, DONE.into()])).await;
        let usage = told.usage[0];
        assert_eq!((usage.input_tokens, usage.cache_read_tokens), (36, Some(64)));
    }
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let body = json!({ "object": "chat.completion", "choices": [{ "index": 0,
        "message": { "role": "assistant", "content": "all at once", "reasoning_content": "hm",
            "tool_calls": [
                { "id": "a", "type": "function", "function": { "name": "ls", "arguments": "{}" } },
                { "type": "function", "function": { "name": "ls", "arguments": "{}" } }] },
        "finish_reason": "tool_calls" }],
        "usage": { "prompt_tokens": 2, "completion_tokens": 3 } });
    let told =
        reply(answer("200 OK", &["content-type: application/json"], &format!("\n{body:#}\n")))
            .await;
    assert_eq!((told.text.as_str(), told.thought.as_str()), ("all at once", "hm"));
    assert_eq!(called(&told.blocks), [("a", "ls", "{}"), ("call_1_1", "ls", "{}")]);
    assert_eq!((told.usage.len(), told.finish), (1, Finish::ToolCalls));
    let cut = answer("200 OK", &[], &body.to_string()[..40]);
    reply(cut).await.failed("TRANSPORT", "before the answer was finished");
    let other = answer("200 OK", &[], r#"{"detail":"Not Found"}"#);
    reply(other).await.failed("TRANSPORT", "before the answer was finished");
}

#[tokio::test]
async fn garbage_is_quoted_and_ends_the_call() {
    let garbage = reply(stream(&[says("a"), "data: {oops\n\n".into(), says("b")])).await;
    garbage.failed("MALFORMED_RESPONSE", "{oops");
    assert_eq!(garbage.text, "a");
    reply(stream(&["\u{0}\u{1}\u{2}".into()])).await.failed("TRANSPORT", "closed the connection");
    let page = answer("200 OK", &["content-type: text/html"], "<!doctype html><p>log in");
    reply(page).await.failed("MALFORMED_RESPONSE", "a web page; check the base URL");
    reply(vec![send("SSH-2.0-OpenSSH_9\r\n")]).await.failed("TRANSPORT", "gave no answer");
    reply(answer("200 OK", &[], "")).await.failed("TRANSPORT", "before the answer was finished");
}

#[tokio::test]
async fn an_error_within_the_stream_has_its_own_code() {
    let error = json!({ "error": { "message": "slow down", "code": 429 } });
    reply(stream(&[event(&error)])).await.failed("RATE_LIMIT", "slow down");
    let named = "event: error\ndata: {\"message\":\"overloaded\"}\n\n";
    reply(stream(&[says("a"), named.into()])).await.failed("SERVER", "overloaded");
    let filtered = reply(stream(&[says("a"), ends("content_filter"), DONE.into()])).await;
    assert_eq!(filtered.failure().code, "CONTENT_FILTER");
}

#[tokio::test]
async fn a_line_without_end_is_cut_off() {
    let server = Server::answer(|_, _| {
        let piece = vec![b'x'; 1024 * 1024];
        // The client is gone long before the last one.
        let endless = std::iter::repeat_n(Act::Send(piece), 32);
        [send(STREAM), send("data: ")].into_iter().chain(endless).collect()
    })
    .await;
    let told = ask(&server.model(), request()).await;
    told.failed("MALFORMED_RESPONSE", "a line that has no end");
}

#[tokio::test]
async fn old_and_odd_line_ends_and_a_byte_order_mark_are_read() {
    let text = whole("a");
    let Act::Send(body) = &text[1] else { panic!("a body") };
    let body = String::from_utf8(body.clone()).unwrap();
    for body in [body.replace('\n', "\r\n"), body.replace('\n', "\r"), format!("\u{feff}{body}")] {
        let told = reply(vec![send(STREAM), send(body)]).await;
        assert_eq!((told.text.as_str(), told.finish), ("a", Finish::Stop));
    }
}
