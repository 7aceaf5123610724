//! Servers that are slow, silent, or keep a connection open for nothing, on a clock that the test turns.

use std::time::Duration;

use dsh_agent::{Chunk, Finish, Model as _};
use dsh_model::Chat;
use futures::StreamExt as _;
use tokio::time::Instant;

use crate::events::{DONE, ask, ends, figures, request, says, stream, thinks, whole};
use crate::server::{Act, STREAM, Server, send, wait};

/// A model that waits 60 s for an answer to begin, and 10 s for each next piece.
fn impatient(server: &Server) -> Chat {
    server.model_of(|endpoint| {
        endpoint.timeouts.first_byte = Duration::from_secs(60);
        endpoint.timeouts.idle = Duration::from_secs(10);
    })
}

#[tokio::test(start_paused = true)]
async fn s04_silence_amid_thinking_ends_with_a_sentence() {
    let mut script = stream(&[thinks("one"), thinks("two"), thinks("three")]);
    script.push(Act::Hold);
    let mut server = Server::play(vec![script]).await;
    let before = Instant::now();
    let told = ask(&impatient(&server), request()).await;
    told.failed("TIMEOUT", "said nothing for 10 s");
    assert_eq!(told.thought, "onetwothree");
    assert_eq!(before.elapsed().as_secs(), 10);
    server.gone(1).await;
}

#[tokio::test(start_paused = true)]
async fn s04_giving_up_a_silent_answer_closes_its_connection_at_once() {
    let mut script = stream(&[thinks("one")]);
    script.push(Act::Hold);
    let mut server = Server::play(vec![script]).await;
    let model = impatient(&server);
    let mut answer = model.stream(request());
    // The start of the block, and its one delta.
    assert!(matches!(answer.next().await, Some(Chunk::BlockStart { .. })));
    assert!(matches!(answer.next().await, Some(Chunk::ReasoningDelta { .. })));
    let before = Instant::now();
    drop(answer);
    server.gone(1).await;
    assert!(before.elapsed() < Duration::from_secs(1));
    // So is one whose answer has not even begun.
    let server = &mut Server::play(vec![vec![Act::Hold]]).await;
    let model = impatient(server);
    let mut answer = model.stream(request());
    tokio::select! {
        biased;
        _ = answer.next() => panic!("nothing is answered"),
        () = asked(server, 1) => {}
    }
    drop(answer);
    server.gone(1).await;
}

/// Waits until the server has read this many requests.
async fn asked(server: &Server, requests: usize) {
    while server.asked().len() < requests {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn s05_comments_and_arguments_are_activity() {
    let alive = || [wait(1), send(": keep-alive\n\n")];
    let mut script = vec![send(STREAM)];
    script.extend((0..30).flat_map(|_| alive()));
    for piece in ["{\"a\":", "\"", "x", "\"}"] {
        script.extend([wait(9), send(crate::events::calls(0, Some("c"), Some("ls"), piece))]);
    }
    script.push(send(ends("tool_calls") + DONE));
    let server = Server::play(vec![script]).await;
    let before = Instant::now();
    let told = ask(&impatient(&server), request()).await;
    assert_eq!(told.finish, Finish::ToolCalls);
    assert_eq!(before.elapsed().as_secs(), 66);
}

#[tokio::test(start_paused = true)]
async fn s05_each_attempt_has_a_clock_of_its_own() {
    let slow = |text: &str| {
        let mut script = vec![wait(59), send(STREAM), wait(59), send(says(text)), wait(9)];
        script.push(send(ends("stop") + DONE));
        script
    };
    let server = Server::play(vec![vec![Act::Hold], slow("at last")]).await;
    let model = impatient(&server);
    ask(&model, request()).await.failed("TIMEOUT", "said nothing for 60 s");
    let told = ask(&model, request()).await;
    assert_eq!((told.text.as_str(), told.finish), ("at last", Finish::Stop));
}

#[tokio::test(start_paused = true)]
async fn a_slow_first_byte_is_waited_for_but_not_for_ever() {
    let slow = |seconds| {
        let mut script = vec![send(STREAM), wait(seconds)];
        script.push(send(says("here") + &ends("stop") + DONE));
        script
    };
    let server = Server::play(vec![slow(59), slow(61)]).await;
    let model = impatient(&server);
    assert_eq!(ask(&model, request()).await.finish, Finish::Stop);
    ask(&model, request()).await.failed("TIMEOUT", "said nothing for 60 s");
}

#[tokio::test(start_paused = true)]
async fn a_finished_answer_waits_for_figures_a_short_while_only() {
    let script = |late: u64| {
        let mut script = stream(&[says("done"), ends("stop")]);
        script.extend([wait(late), send(figures(5, 1)), Act::Hold]);
        script
    };
    let server = Server::play(vec![script(2), script(99)]).await;
    let model = impatient(&server);
    for (figures, seconds) in [(1, 5), (0, 5)] {
        let before = Instant::now();
        let told = ask(&model, request()).await;
        assert_eq!((told.text.as_str(), &told.finish), ("done", &Finish::Stop));
        assert_eq!(told.usage.len(), figures);
        assert_eq!(before.elapsed().as_secs(), seconds);
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_breaks_after_the_finish_takes_nothing_away() {
    let mut script = stream(&[says("done"), ends("stop")]);
    script.extend([wait(1), Act::Reset]);
    let server = Server::play(vec![script]).await;
    assert_eq!(ask(&impatient(&server), request()).await.finish, Finish::Stop);
}

#[tokio::test(start_paused = true)]
async fn a_whole_answer_is_told_as_it_comes() {
    let mut script = stream(&[says("first")]);
    script.push(wait(5));
    script.extend(whole("second").split_off(1));
    let server = Server::play(vec![script]).await;
    let model = impatient(&server);
    let mut answer = model.stream(request());
    let before = Instant::now();
    for _ in 0..2 {
        answer.next().await.unwrap();
    }
    assert!(before.elapsed() < Duration::from_secs(1));
    assert!(answer.next().await.is_some());
    assert_eq!(before.elapsed().as_secs(), 5);
}
