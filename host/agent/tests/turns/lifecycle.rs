//! Turns that go well: what they log, what a resumed session goes on with, and titles.

use std::sync::Arc;

use dsh_agent::{Composition, Finish, Route, TurnEnd};
use dsh_model::{Echo, Script, Scripted};
use dsh_session::{Draft, Json, Message, SurfaceOp};

use crate::fed::Fed;
use crate::rig::{Rig, scripted, text_message};

#[tokio::test]
async fn a_first_turn_tells_the_whole_story() {
    let rig = Rig::start(scripted(r#"{"reasoning":"hm","text":"Hello."}"#)).await;
    rig.ask("Hi there, how are you today?").await;
    let story = rig.story().await;
    let expected = [
        r#"next-turn@0 -0 +["Hi there, how are you today?"]"#,
        "turn 1",
        "next-turn@0 -1 +[]",
        "step 1",
        "user: Hi there, how are you today?",
        "title Hi there, how are you",
        "header initial",
        "request/context",
        "chunks",
        "model: Hello. 0 calls",
        "step end",
        "end completed",
    ];
    assert_eq!(story, expected);
}

#[tokio::test]
async fn a_second_turn_repeats_neither_header_nor_title() {
    let rig = Rig::start(scripted("{\"text\":\"a\"}\n{\"text\":\"b\"}")).await;
    rig.ask("one").await;
    let before = rig.story().await.len();
    rig.ask("two").await;
    let expected = [
        r#"next-turn@0 -0 +["two"]"#,
        "turn 2",
        "next-turn@0 -1 +[]",
        "step 1",
        "user: two",
        "chunks",
        "model: b 0 calls",
        "step end",
        "end completed",
    ];
    assert_eq!(rig.story().await[before..], expected);
}

#[tokio::test]
async fn another_system_prompt_is_a_change_and_another_model_a_context() {
    let script = Script::parse("{\"text\":\"a\"}\n{\"text\":\"b\"}\n{\"text\":\"c\"}").unwrap();
    let model = Scripted::new(script);
    let rig = Rig::start(Composition::new(Arc::new(model))).await;
    rig.ask("one").await;
    let mut composition = rig.composition();
    composition.system = Some("Be brief.".into());
    rig.compose(composition);
    rig.ask("two").await;
    let mut composition = rig.composition();
    composition.model = Arc::new(Echo);
    rig.compose(composition);
    rig.ask("three").await;
    let story = rig.story().await;
    let of_interest =
        story.iter().filter(|line| line.contains("header") || line.contains("context"));
    let expected =
        ["header initial", "request/context", "header change", "header change", "request/context"];
    assert_eq!(of_interest.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn a_resumed_session_goes_on_where_it_was_left() {
    let rig = Rig::start(scripted(r#"{"text":"a"}"#)).await;
    rig.ask("one").await;
    let rig = rig.resume(scripted(r#"{"text":"b"}"#)).await;
    rig.ask("two").await;
    let story = rig.story().await;
    let resumed = story.iter().position(|line| line == "session/end-seed").unwrap();
    let expected = [
        "session/end-seed",
        r#"next-turn@0 -0 +["two"]"#,
        "turn 2",
        "next-turn@0 -1 +[]",
        "step 1",
        "user: two",
        "header resume",
        "chunks",
        "model: b 0 calls",
        "step end",
        "end completed",
    ];
    assert_eq!(story[resumed..], expected);
    let request = rig.requests().pop().unwrap();
    let texts: Vec<String> = request.messages.iter().map(Message::text).collect();
    assert_eq!(texts, ["one", "a", "two"]);
}

#[tokio::test]
async fn a_fork_goes_on_from_its_seed_without_what_waited_there() {
    let rig = Rig::start(scripted(r#"{"text":"a"}"#)).await;
    rig.ask("one").await;
    let note = text_message("note", r#"{"kind":"plugin","plugin":"notes"}"#, "a ghost");
    rig.agent.inject(note).await.unwrap();
    let fork = rig.fork(scripted(r#"{"text":"b"}"#)).await;
    fork.ask("two").await;
    let story = fork.story().await;
    let own = story.iter().position(|line| line == "session/end-seed").unwrap();
    let expected = [
        r#"next-turn@0 -0 +["two"]"#,
        "turn 2",
        "next-turn@0 -1 +[]",
        "step 1",
        "user: two",
        "header resume",
    ];
    assert_eq!(story[own + 1..own + 7], expected);
    let texts: Vec<String> = fork.requests()[0].messages.iter().map(Message::text).collect();
    assert_eq!(texts, ["one", "a", "two"]);
    let fork = fork.resume(scripted(r#"{"text":"c"}"#)).await;
    fork.ask("three").await;
    let texts: Vec<String> = fork.requests()[0].messages.iter().map(Message::text).collect();
    assert_eq!(texts, ["one", "a", "two", "b", "three"]);
}

#[tokio::test]
async fn after_a_compaction_the_model_gets_the_checkpoint_alone() {
    let rig = Rig::start(scripted("{\"text\":\"a\"}\n{\"text\":\"b\"}")).await;
    rig.ask("one").await;
    let nodes: Vec<u64> = rig.agent.live().surface().nodes().iter().map(|node| node.seq).collect();
    let checkpoint = text_message("c", r#"{"kind":"plugin","plugin":"compact"}"#, "in short");
    let (start, end) = (nodes[0], nodes[1]);
    let draft = Draft {
        surface_op: Some(SurfaceOp::Replace { start, end }),
        ..Draft::node("user/message", checkpoint.json().clone(), Some(nodes))
    };
    rig.agent.live().append(draft).unwrap();
    rig.ask("two").await;
    let texts: Vec<String> = rig.requests()[1].messages.iter().map(Message::text).collect();
    assert_eq!(texts, ["in short", "two"]);
    rig.story().await;
}

#[tokio::test]
async fn an_effort_that_was_chosen_is_kept_on_the_same_route() {
    let mut composition = scripted(r#"{"text":"a"}"#);
    composition.reasoning_effort = Some("max".into());
    let rig = Rig::start(composition).await;
    rig.ask("one").await;
    let rig = rig.resume(scripted(r#"{"text":"b"}"#)).await;
    rig.ask("two").await;
    let header = rig.requests().pop().unwrap().header;
    assert_eq!(header.config.reasoning_effort.as_deref(), Some("max"));
    let rig = rig.resume(Composition::new(Arc::new(Echo))).await;
    rig.ask("three").await;
    assert_eq!(rig.requests().pop().unwrap().header.config.reasoning_effort, None);
}

#[tokio::test]
async fn what_the_adapter_fills_in_is_marked() {
    let route = Route {
        max_tokens: Some(256_000),
        reasoning_effort: Some("high".into()),
        ..Route::new("p", "m")
    };
    let script = Script::parse("{\"text\":\"a\"}").unwrap();
    let mut composition = Composition::new(Arc::new(Scripted::routed(script, route)));
    composition.max_tokens = Some(321);
    let rig = Rig::start(composition).await;
    rig.ask("one").await;
    let header = Json::of(&rig.requests().pop().unwrap().header).unwrap();
    let expected = r#"{"config":{"provider":"p","model":"m","maxTokens":321,"reasoningEffort":"high"},"adapterDefaults":{"reasoningEffort":true}}"#;
    assert_eq!(header.as_str(), expected);
}

#[tokio::test]
async fn a_title_never_holds_words_of_a_note() {
    let rig = Rig::start(scripted("{\"text\":\"a\"}\n{\"text\":\"b\"}")).await;
    let note = text_message("note", r#"{"kind":"plugin","plugin":"notes"}"#, "secret words");
    rig.agent.inject(note).await.unwrap();
    rig.ask("").await;
    assert!(!rig.story().await.iter().any(|line| line.starts_with("title")));
    rig.ask("my words").await;
    assert!(rig.story().await.contains(&"title my words".to_owned()));
}

#[tokio::test]
async fn a_reply_without_room_ends_the_turn_so_whatever_follows() {
    let (model, feed) = Fed::new(Route::new("p", "m"));
    let mut rig = Rig::start(Composition::new(model)).await;
    rig.agent.followup(rig.prompt("one")).await.unwrap();
    feed.text("I ran out");
    rig.until("assistant/chunk").await;
    rig.agent.steer(rig.prompt("go on")).await.unwrap();
    feed.finish(Finish::MaxTokens);
    feed.say("done");
    rig.idle().await;
    let story = rig.story().await;
    assert!(story.contains(&"model: I ran out 0 calls".to_owned()));
    assert!(story.contains(&"model: done 0 calls".to_owned()));
    assert_eq!(story.last().unwrap(), "end max-tokens");
    assert_eq!(rig.agent.last_turn().unwrap().end, TurnEnd::MaxTokens);
}

#[tokio::test]
async fn a_stream_that_just_stops_counts_as_a_stop() {
    let script = r#"{"chunks":[{"type":"text-delta","index":0,"text":"all"}]}"#;
    let rig = Rig::start(scripted(script)).await;
    rig.ask("one").await;
    let story = rig.story().await;
    assert_eq!(story[story.len() - 3..], ["model: all 0 calls", "step end", "end completed"]);
}

#[tokio::test]
async fn two_agents_do_not_touch_each_other() {
    let root = tempfile::tempdir().unwrap();
    let (model, left_feed) = Fed::new(Route::new("p", "m"));
    let mut left = Rig::in_root(root.path(), "left", Composition::new(model)).await;
    let (model, right_feed) = Fed::new(Route::new("p", "m"));
    let mut right = Rig::in_root(root.path(), "right", Composition::new(model)).await;
    left.agent.followup(left.prompt("to the left")).await.unwrap();
    right.agent.followup(right.prompt("to the right")).await.unwrap();
    for _ in 0..20 {
        left_feed.text("left ");
        left.until("assistant/chunk").await;
        right_feed.text("right ");
        right.until("assistant/chunk").await;
    }
    left_feed.finish(Finish::Stop);
    right_feed.finish(Finish::Stop);
    for (rig, own, other) in [(&left, "left", "right"), (&right, "right", "left")] {
        rig.idle().await;
        let said = format!("model: {} 0 calls", format!("{own} ").repeat(20));
        let story = rig.story().await;
        assert!(story.contains(&said));
        assert!(!story.iter().any(|line| line.contains(other)));
        assert_eq!(rig.heard(), rig.disk().await);
    }
}
