//! Compactions: asked for, by themselves, failed and cancelled, and what a log makes of them afterwards.

use dsh_agent::{
    Cause, Chunk, CompactError, Compacted, Compaction, Composition, Finish, ModelFailure,
    ReplyBlock, Route, TurnEnd, Usage,
};
use dsh_session::{Event, Message};
use tokio::task::JoinHandle;

use crate::fed::{Fed, Feed};
use crate::rig::{Rig, scripted};

fn fed(window: Option<u64>) -> (Composition, Feed) {
    let (model, feed) = Fed::new(Route { context_window: window, ..Route::new("p", "m") });
    (Composition::new(model), feed)
}

/// A reply whose request had this many tokens.
fn say_with_usage(feed: &Feed, text: &str, input_tokens: u64) {
    feed.text(text);
    let usage = Usage { input_tokens, ..Usage::default() };
    feed.chunk(Chunk::Usage { usage });
    feed.finish(Finish::Stop);
}

fn fail(feed: &Feed, code: &str) {
    feed.finish(Finish::Error { failure: ModelFailure::new(code, "not today") });
}

const TOO_LONG: &str = "CONTEXT_WINDOW_EXCEEDED";

fn texts(messages: &[Message]) -> Vec<String> {
    messages.iter().map(Message::text).collect()
}

/// A checkpoint's message around this summary, as the model reads it.
fn is_checkpoint(text: &str, summary: &str) -> bool {
    text.ends_with(&format!("<compacted-summary>\n{summary}\n</compacted-summary>"))
}

/// The story from the first line on that begins so.
fn from(story: &[String], start: &str) -> Vec<String> {
    let place = story.iter().position(|line| line.starts_with(start)).unwrap();
    story[place..].to_vec()
}

const TWO_TURNS: &str = "{\"text\":\"Hi\"}\n{\"text\":\"Ho\"}\n";

#[tokio::test]
async fn a_person_gets_a_summary_in_the_place_of_the_past() {
    let script = format!("{TWO_TURNS}{{\"text\":\"They greeted.\"}}\n{{\"text\":\"Hm\"}}");
    let rig = Rig::start(scripted(&script)).await;
    rig.ask("one").await;
    rig.ask("two").await;
    let compacted = rig.agent.compact(Some(" the greeting ")).await.unwrap().unwrap();
    assert_eq!(compacted.nodes, 3);
    // Each of the three is a word in a block in a message.
    assert_eq!(compacted.shadowed, 3 * 9);
    assert_eq!(compacted.before, 4 * 9);
    let messages = rig.agent.live().messages();
    assert!(is_checkpoint(&messages[0].text(), "They greeted."));
    assert!(messages[0].source().is_checkpoint());
    assert_eq!(texts(&messages[1..]), ["Ho"]);
    rig.ask("three").await;
    let requests = rig.requests();
    assert_eq!(texts(&requests[2].messages[..3]), ["one", "Hi", "two"]);
    assert!(requests[2].messages[3].text().ends_with("\nthe greeting"));
    assert_eq!(requests[2].header.config.max_tokens, Some(8192));
    assert_eq!(texts(&requests[3].messages[1..]), ["Ho", "three"]);
    let story = rig.story().await;
    let expected = [
        "/compact the greeting",
        "compaction",
        "compaction/summary",
        "checkpoint for 4..20: They greeted.",
        "compaction end",
        "command success",
    ];
    assert_eq!(from(&story, "/compact")[..6], expected);
}

#[tokio::test]
async fn a_checkpoint_cites_what_it_was_made_from() {
    let rig = Rig::start(scripted(&format!("{TWO_TURNS}{{\"text\":\"S\"}}"))).await;
    rig.ask("one").await;
    rig.ask("two").await;
    let older: Vec<u64> =
        rig.agent.live().surface().nodes().iter().map(|node| node.seq).take(3).collect();
    rig.agent.compact(None).await.unwrap().unwrap();
    let events = rig.disk().await;
    let find = |kind: &str| events.iter().find(|event| &*event.kind == kind).unwrap();
    let (start, summary) = (find("compaction/start"), find("compaction/summary"));
    let checkpoint = events.iter().find(|event| event.data.as_str().contains("<compacted"));
    let cited = [&[start.seq, summary.seq][..], &older].concat();
    assert_eq!(checkpoint.unwrap().sources, Some(cited));
    let facts = summary.data.object().unwrap();
    assert_eq!(facts.read::<Vec<u64>>("shadowedSeqs").unwrap(), older);
    assert_eq!(facts.read::<bool>("llmStreamCall"), Some(true));
    let id = |event: &Event| event.data.object().unwrap().text("compactionId").unwrap();
    assert_eq!(id(start), id(find("compaction/end")));
}

#[tokio::test]
async fn a_session_of_one_exchange_is_left_alone() {
    let rig = Rig::start(scripted(&format!("{TWO_TURNS}{{\"text\":\"S\"}}"))).await;
    assert_eq!(rig.agent.compact(None).await.unwrap(), None);
    rig.ask("one").await;
    rig.ask("two").await;
    rig.agent.compact(None).await.unwrap().unwrap();
    let before = rig.heard();
    // What is left is a checkpoint and the newest node.
    assert_eq!(rig.agent.compact(None).await.unwrap(), None);
    assert_eq!(rig.heard(), before);
}

#[tokio::test]
async fn a_second_compaction_takes_the_first_one_in() {
    let script = format!(
        "{TWO_TURNS}{{\"text\":\"first\"}}\n{TWO_TURNS}{{\"text\":\"second\"}}\n{{\"text\":\"Hm\"}}"
    );
    let rig = Rig::start(scripted(&script)).await;
    rig.ask("one").await;
    rig.ask("two").await;
    rig.agent.compact(None).await.unwrap().unwrap();
    rig.ask("three").await;
    rig.ask("four").await;
    let compacted = rig.agent.compact(None).await.unwrap().unwrap();
    assert_eq!(compacted.nodes, 5);
    rig.ask("five").await;
    let requests = rig.requests();
    assert!(is_checkpoint(&requests[5].messages[0].text(), "first"));
    let last = &requests[6].messages;
    assert!(is_checkpoint(&last[0].text(), "second"));
    assert_eq!(texts(&last[1..]), ["Ho", "five"]);
    rig.story().await;
}

#[tokio::test]
async fn a_failed_compaction_changes_nothing_and_the_next_one_works() {
    let (composition, feed) = fed(None);
    let rig = Rig::start(composition).await;
    for text in ["Hi", "Ho"] {
        feed.say(text);
        rig.ask("go").await;
    }
    let before = rig.agent.live().surface();
    let failures: [&dyn Fn(); 3] = [
        &|| fail(&feed, "SERVER"),
        &|| {
            feed.text("Once upon");
            feed.finish(Finish::MaxTokens);
        },
        &|| feed.call(&[("c", "bash", "{}")]),
    ];
    for failure in failures {
        failure();
        let failed = rig.agent.compact(None).await;
        assert!(matches!(failed, Err(CompactError::Summary(_))), "{failed:?}");
        assert_eq!(rig.agent.live().surface().nodes(), before.nodes());
    }
    let story = rig.story().await;
    let expected = ["/compact ", "compaction", "compaction failed: not today", "command error"];
    assert_eq!(from(&story, "/compact")[..4], expected);
    feed.say("S");
    rig.agent.compact(None).await.unwrap().unwrap();
}

/// A rig of two turns, and a compaction of it that has begun and waits for what the feed says.
async fn compacting() -> (Rig, Feed, JoinHandle<Result<Option<Compacted>, CompactError>>) {
    let (composition, feed) = fed(None);
    let mut rig = Rig::start(composition).await;
    for text in ["Hi", "Ho"] {
        feed.say(text);
        rig.ask("go").await;
    }
    let agent = rig.agent.clone();
    let compacting = tokio::spawn(async move { agent.compact(None).await });
    rig.until("compaction/start").await;
    (rig, feed, compacting)
}

#[tokio::test]
async fn a_prompt_waits_until_the_compaction_is_over() {
    let (rig, feed, compacting) = compacting().await;
    rig.agent.followup(rig.prompt("next")).await.unwrap();
    assert!(matches!(rig.agent.compact(None).await, Err(CompactError::Busy)));
    feed.say("S");
    compacting.await.unwrap().unwrap().unwrap();
    feed.say("Hm");
    rig.idle().await;
    let story = from(&rig.story().await, "compaction");
    let place = |start: &str| story.iter().position(|line| line.starts_with(start)).unwrap();
    assert!(place("next-turn@0 -0") < place("compaction end"));
    assert!(place("command success") < place("turn 3"));
    assert_eq!(story.last().unwrap(), "end completed");
}

#[tokio::test]
async fn a_running_turn_is_not_compacted_from_outside() {
    let (composition, feed) = fed(None);
    let mut rig = Rig::start(composition).await;
    rig.agent.followup(rig.prompt("one")).await.unwrap();
    rig.until("step/start").await;
    assert!(matches!(rig.agent.compact(None).await, Err(CompactError::Busy)));
    feed.say("Hi");
    rig.idle().await;
    assert!(!rig.story().await.iter().any(|line| line.contains("compact")));
}

#[tokio::test]
async fn a_cancelled_compaction_changes_nothing() {
    let (rig, feed, compacting) = compacting().await;
    let before = rig.agent.live().surface();
    rig.agent.cancel(Cause::User, true).await.unwrap();
    let cancelled = compacting.await.unwrap();
    assert!(matches!(cancelled, Err(CompactError::Cancelled(Cause::User))), "{cancelled:?}");
    rig.idle().await;
    assert_eq!(rig.agent.live().surface().nodes(), before.nodes());
    let story = rig.story().await;
    assert_eq!(story[story.len() - 2], "compaction failed: the compaction was cancelled");
    feed.say("Hm");
    rig.ask("go on").await;
    assert_eq!(rig.agent.last_turn().unwrap().end, TurnEnd::Completed);
}

#[tokio::test]
async fn closing_the_agent_ends_its_compaction() {
    let (rig, _feed, compacting) = compacting().await;
    rig.agent.dispose().await.unwrap();
    let cancelled = compacting.await.unwrap();
    assert!(matches!(cancelled, Err(CompactError::Cancelled(Cause::Disposed))), "{cancelled:?}");
    assert!(matches!(rig.agent.compact(None).await, Err(CompactError::Disposed)));
    assert_eq!(rig.story().await.last().unwrap(), "command error");
}

#[tokio::test]
async fn a_full_window_makes_room_before_the_step() {
    let (composition, feed) = fed(Some(1000));
    let rig = Rig::start(composition).await;
    say_with_usage(&feed, "Hi", 100);
    rig.ask("one").await;
    say_with_usage(&feed, "Ho", 799);
    rig.ask("two").await;
    feed.say("They greeted.");
    feed.say("Hm");
    rig.ask("three").await;
    let expected = [
        "turn 3",
        "next-turn@0 -1 +[]",
        "compaction in turn 3",
        "compaction/summary",
        "checkpoint for 4..19: They greeted.",
        "compaction end",
        "step 1",
        "user: three",
    ];
    assert_eq!(from(&rig.story().await, "turn 3")[..8], expected);
    let requests = rig.requests();
    assert_eq!(texts(&requests[3].messages[1..]), ["Ho", "three"]);
}

#[tokio::test]
async fn what_fits_into_the_retained_share_stays() {
    let (mut composition, feed) = fed(Some(1000));
    // Three eighths, and little less than that is what three of eight messages of one word are.
    composition.compaction = Compaction::new(0.8, 0.34, 100).unwrap();
    let rig = Rig::start(composition).await;
    for _ in 0..3 {
        say_with_usage(&feed, "Hi", 100);
        rig.ask("go").await;
    }
    say_with_usage(&feed, "Ho", 900);
    rig.ask("go").await;
    feed.say("S");
    feed.say("Hm");
    rig.ask("on").await;
    let requests = rig.requests();
    assert_eq!(texts(&requests[5].messages[1..]), ["Hi", "go", "Ho", "on"]);
    assert_eq!(requests[4].header.config.max_tokens, Some(100));
}

#[tokio::test]
async fn three_compactions_fit_into_one_turn() {
    let (composition, feed) = fed(Some(1000));
    let rig = Rig::start(composition).await;
    feed.say("Hi");
    rig.ask("one").await;
    for round in ["a", "b", "c"] {
        feed.chunk(Chunk::BlockEnd {
            index: 0,
            block: ReplyBlock::ToolCall {
                id: round.into(),
                name: "none".into(),
                arguments: "{}".into(),
            },
        });
        let usage = Usage { input_tokens: 900, ..Usage::default() };
        feed.chunk(Chunk::Usage { usage });
        feed.finish(Finish::ToolCalls);
        feed.say(round);
    }
    feed.say("done");
    rig.ask("two").await;
    let story = rig.story().await;
    assert_eq!(story.iter().filter(|line| *line == "compaction in turn 2").count(), 3);
    // What was summarized last, and the newest call with its result.
    let last = rig.requests().pop().unwrap().messages;
    assert!(is_checkpoint(&last[0].text(), "c"));
    assert_eq!(last.len(), 3);
    assert_eq!(story.last().unwrap(), "end completed");
}

#[tokio::test]
async fn where_only_a_person_may_ask_nothing_happens_by_itself() {
    let (mut composition, feed) = fed(Some(1000));
    composition.compaction = composition.compaction.only_when_asked();
    let rig = Rig::start(composition).await;
    for _ in 0..2 {
        say_with_usage(&feed, "Hi", 900);
        rig.ask("go").await;
    }
    fail(&feed, TOO_LONG);
    rig.ask("go").await;
    assert!(!rig.story().await.iter().any(|line| line.contains("compact")));
}

#[tokio::test]
async fn a_turn_goes_on_where_no_room_could_be_made() {
    let (composition, feed) = fed(Some(1000));
    let rig = Rig::start(composition).await;
    for _ in 0..2 {
        say_with_usage(&feed, "Hi", 700);
        rig.ask("go").await;
    }
    say_with_usage(&feed, "Ho", 900);
    rig.ask("go").await;
    fail(&feed, "SERVER");
    feed.call(&[("a", "none", "{}")]);
    // The second step of the turn does not try again.
    feed.say("done");
    rig.ask("on").await;
    let story = from(&rig.story().await, "turn 4");
    let attempts = story.iter().filter(|line| *line == "compaction in turn 4").count();
    assert_eq!((attempts, &**story.last().unwrap()), (1, "end completed"));
}

#[tokio::test]
async fn a_request_that_was_too_long_is_made_again_once() {
    let (composition, feed) = fed(None);
    let rig = Rig::start(composition).await;
    feed.say("Hi");
    rig.ask("one").await;
    fail(&feed, TOO_LONG);
    feed.say("S");
    feed.say("Ho");
    rig.ask("two").await;
    let story = from(&rig.story().await, "turn 2");
    let expected = [
        "turn 2",
        "next-turn@0 -1 +[]",
        "step 1",
        "user: two",
        "chunks",
        "compaction in turn 2",
        "compaction/summary",
        "checkpoint for 4..11: S",
        "compaction end",
        "chunks",
        "model: Ho 0 calls",
        "step end",
        "end completed",
    ];
    assert_eq!(story, expected);
    // Once: a second time is the turn's end.
    fail(&feed, TOO_LONG);
    feed.say("S2");
    fail(&feed, TOO_LONG);
    rig.ask("three").await;
    let story = from(&rig.story().await, "turn 3");
    assert_eq!(story.last().unwrap(), &format!("end error {TOO_LONG}"));
    assert_eq!(texts(&rig.agent.live().messages()[1..]), ["Ho", "three"][1..]);
}

#[tokio::test]
async fn a_prompt_alone_that_is_too_long_stays_an_error() {
    let (composition, feed) = fed(None);
    let rig = Rig::start(composition).await;
    fail(&feed, TOO_LONG);
    rig.ask("one").await;
    let story = rig.story().await;
    assert!(!story.iter().any(|line| line.contains("compact")));
    assert_eq!(story.last().unwrap(), &format!("end error {TOO_LONG}"));
}

#[tokio::test]
async fn a_cancel_while_room_is_made_ends_the_turn() {
    let (composition, feed) = fed(Some(1000));
    let mut rig = Rig::start(composition).await;
    for tokens in [100, 900] {
        say_with_usage(&feed, "Hi", tokens);
        rig.ask("go").await;
    }
    rig.agent.followup(rig.prompt("on")).await.unwrap();
    rig.until("compaction/start").await;
    rig.agent.cancel(Cause::User, true).await.unwrap();
    rig.idle().await;
    let story = from(&rig.story().await, "compaction in turn 3");
    let expected = [
        "compaction in turn 3",
        "compaction failed: the compaction was cancelled",
        r#"end aborted {"kind":"user"}"#,
    ];
    assert_eq!(story, expected);
}

#[tokio::test]
async fn a_restart_and_a_fork_see_the_compacted_view() {
    let (composition, feed) = fed(Some(1000));
    let rig = Rig::start(composition.clone()).await;
    for tokens in [100, 900] {
        say_with_usage(&feed, "Hi", tokens);
        rig.ask("go").await;
    }
    feed.say("S");
    rig.agent.compact(None).await.unwrap().unwrap();
    let expected = rig.agent.live().messages();
    // The count of 900 was for what is gone, so that nothing presses there.
    let fork = rig.fork(composition.clone()).await;
    assert_eq!(fork.agent.live().messages(), expected);
    feed.say("Ho");
    fork.ask("on").await;
    assert_eq!(fork.requests()[0].messages[..2], expected);
    drop(fork);
    let rig = rig.resume(composition).await;
    assert_eq!(rig.agent.live().messages(), expected);
    feed.say("Ho");
    rig.ask("on").await;
    assert_eq!(rig.requests()[0].messages[..2], expected);
}

#[tokio::test]
async fn the_count_of_the_last_reply_survives_a_restart() {
    let (composition, feed) = fed(Some(1000));
    let rig = Rig::start(composition.clone()).await;
    for tokens in [100, 900] {
        say_with_usage(&feed, "Hi", tokens);
        rig.ask("go").await;
    }
    let rig = rig.resume(composition).await;
    feed.say("S");
    feed.say("Ho");
    rig.ask("on").await;
    assert!(rig.story().await.iter().any(|line| line == "compaction in turn 3"));
}

#[tokio::test]
async fn a_crash_while_the_model_wrote_leaves_the_session_as_it_was() {
    let (composition, feed) = fed(Some(1000));
    let mut rig = Rig::start(composition).await;
    for tokens in [100, 900] {
        say_with_usage(&feed, "Hi", tokens);
        rig.ask("go").await;
    }
    let before = rig.agent.live().messages();
    rig.agent.followup(rig.prompt("on")).await.unwrap();
    rig.until("compaction/start").await;
    while !rig.disk().await.iter().any(|event| &*event.kind == "compaction/start") {
        tokio::task::yield_now().await;
    }
    let (composition, feed) = fed(Some(1000));
    let crashed = rig.crash(composition).await;
    assert_eq!(crashed.agent.live().messages(), before);
    feed.say("S");
    feed.say("Ho");
    crashed.ask("again").await;
    let story = from(&crashed.story().await, "compaction in turn 3");
    let expected = [
        "compaction in turn 3",
        "end interrupted",
        "session/end-seed",
        r#"next-turn@0 -0 +["again"]"#,
        "turn 4",
        "next-turn@0 -1 +[]",
        "compaction in turn 4",
    ];
    assert_eq!(story[..7], expected);
}
