//! What is on disk when, and what happens where the disk refuses.

use std::fs;

use dsh_agent::{AgentError, Composition, Route, TurnEnd};

use crate::fed::Fed;
use crate::rig::{Rig, scripted};
use crate::story::story;

#[tokio::test]
async fn a_prompt_is_on_disk_when_it_was_taken() {
    let (model, _feed) = Fed::new(Route::new("p", "m"));
    let rig = Rig::start(Composition::new(model)).await;
    rig.agent.followup(rig.prompt("keep me")).await.unwrap();
    let told = story(&rig.disk().await);
    assert_eq!(told[0], r#"next-turn@0 -0 +["keep me"]"#);
}

#[tokio::test]
async fn chunks_reach_the_disk_while_the_reply_goes_on() {
    let (model, feed) = Fed::new(Route::new("p", "m"));
    let mut rig = Rig::start(Composition::new(model)).await;
    rig.agent.followup(rig.prompt("one")).await.unwrap();
    rig.until("request/context").await;
    feed.text("so far");
    let delta = loop {
        let event = rig.until("assistant/chunk").await;
        if event.data.as_str().contains("so far") {
            break event;
        }
    };
    // No more comes, so only the timer can save it.
    while !rig.disk().await.contains(&delta) {
        tokio::task::yield_now().await;
    }
    feed.finish(dsh_agent::Finish::Stop);
    rig.agent.when_idle().await.unwrap();
    rig.story().await;
}

#[tokio::test]
async fn idle_means_that_everything_is_on_disk() {
    let rig = Rig::start(scripted("{\"text\":\"a\"}\n{\"text\":\"b\"}")).await;
    for _ in 0..2 {
        rig.ask("go").await;
        assert_eq!(rig.disk().await, rig.heard());
    }
}

#[tokio::test]
async fn a_disk_that_refuses_stops_the_turn_before_the_model_and_loses_nothing() {
    let rig = Rig::start(scripted("{\"text\":\"a\"}\n{\"text\":\"b\"}")).await;
    rig.ask("one").await;
    let (log, aside) = (rig.path(), rig.path().with_extension("aside"));
    fs::rename(&log, &aside).unwrap();
    fs::create_dir(&log).unwrap();
    let refused = rig.agent.followup(rig.prompt("two")).await.unwrap_err();
    assert!(matches!(refused, AgentError::Log(_)), "{refused}");
    assert!(rig.agent.when_idle().await.is_err());
    let TurnEnd::Error { error } = rig.agent.last_turn().unwrap().end else {
        panic!("the turn failed");
    };
    assert_eq!(error.code, "LOG");
    assert_eq!(rig.requests().len(), 1, "the model was not asked");
    fs::remove_dir(&log).unwrap();
    fs::rename(&aside, &log).unwrap();
    rig.agent.when_idle().await.unwrap();
    assert_eq!(rig.disk().await, rig.heard());
    rig.ask("three").await;
    assert_eq!(rig.agent.last_turn().unwrap().end, TurnEnd::Completed);
    rig.story().await;
}
