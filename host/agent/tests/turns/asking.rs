//! Turns that a plugin asks for.

use dsh_agent::{Agent, AskError, Cause, Composition, Finish, Route, TurnEnd};
use dsh_session::Message;

use crate::fed::{Fed, Feed};
use crate::rig::{Rig, scripted, text_message};

fn asks(id: &str) -> Message {
    text_message(id, r#"{"kind":"plugin","plugin":"p","key":"k"}"#, "write a note")
}

async fn fed() -> (Rig, Feed) {
    let (model, feed) = Fed::new(Route::new("p", "m"));
    (Rig::start(Composition::new(model)).await, feed)
}

/// Asks in the background.
fn asking(agent: &Agent) -> tokio::task::JoinHandle<Result<dsh_agent::Answer, AskError>> {
    let agent = agent.clone();
    tokio::spawn(async move { agent.ask(asks("q")).await })
}

#[tokio::test]
async fn a_side_answer_is_the_last_text_of_its_turn() {
    let rig = Rig::start(scripted("{\"text\":\"one\"}\n{\"text\":\"two\"}")).await;
    rig.ask("hello").await;
    let answer = rig.agent.ask(asks("q")).await.unwrap();
    assert_eq!(answer.text, "two");
    let log = rig.disk().await;
    assert_eq!(&*log[usize::try_from(answer.last_seq).unwrap()].kind, "turn/end");
}

#[tokio::test]
async fn a_side_question_waits_for_the_turn_that_runs_however_it_ends() {
    for cancel in [false, true] {
        let (mut rig, feed) = fed().await;
        rig.agent.followup(rig.prompt("first")).await.unwrap();
        feed.text("so");
        rig.until("assistant/chunk").await;
        let asked = asking(&rig.agent);
        rig.until("agent/inbox/spliced").await;
        match cancel {
            true => rig.agent.cancel(Cause::User, true).await.unwrap(),
            false => feed.finish(Finish::Stop),
        }
        feed.say("the note");
        assert_eq!(asked.await.unwrap().unwrap().text, "the note");
        rig.story().await;
    }
}

#[tokio::test]
async fn a_side_question_that_is_given_up_cancels_its_turn_and_no_other() {
    let (mut rig, feed) = fed().await;
    let asked = asking(&rig.agent);
    feed.text("so");
    rig.until("assistant/chunk").await;
    asked.abort();
    rig.idle().await;
    let aborted = TurnEnd::Aborted { reason: Cause::User };
    assert_eq!(rig.agent.last_turn().unwrap().end, aborted);
    rig.agent.followup(rig.prompt("first")).await.unwrap();
    rig.until("turn/start").await;
    let asked = asking(&rig.agent);
    rig.until("agent/inbox/spliced").await;
    asked.abort();
    assert!(asked.await.is_err_and(|error| error.is_cancelled()));
    feed.say("ok");
    rig.idle().await;
    assert_eq!(rig.agent.last_turn().unwrap().end, TurnEnd::Completed);
    let prompts = rig.story().await.iter().filter(|line| line.starts_with("plugin:")).count();
    assert_eq!(prompts, 1, "the second question was taken back");
}

#[tokio::test]
async fn a_side_question_that_came_to_nothing_says_why() {
    let script = "{\"text\":\"half\",\"error\":{\"code\":\"BAD\",\"message\":\"unwell\"}}\n{\"calls\":[{\"name\":\"none\"}]}\n{\"text\":\" \"}";
    let rig = Rig::start(scripted(script)).await;
    let failed = rig.agent.ask(asks("q1")).await;
    assert!(matches!(failed, Err(AskError::Ended(TurnEnd::Error { .. }))), "{failed:?}");
    let silent = rig.agent.ask(asks("q2")).await;
    assert!(matches!(silent, Err(AskError::NoText)), "{silent:?}");
    rig.agent.dispose().await.unwrap();
    assert!(matches!(rig.agent.ask(asks("q3")).await, Err(AskError::Agent(_))));
}
