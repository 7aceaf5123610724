//! `/side` and `/sides`: what a side session begins with, and what is told of it.

use program_tests::{Event, Living, Session, fact};

use crate::rig::{opened, rig, rig_with, text};

#[tokio::test]
async fn side_session_is_the_completed_turns_and_exactly_one_framing() {
    let rig = rig(Living::new([("main", Session::of_turns(2))])).await;
    let before = rig.living.session("main");
    let opening = rig.open("main").await;
    let child = rig.living.session(&opening.session);
    assert_eq!((child.parent.as_deref(), child.seed_length), (Some("main"), before.log.len()));
    let (seed, own) = child.log.split_at(child.seed_length);
    assert_eq!(seed, before.log);
    let [Event::Context(framing)] = own else { panic!("{own:?}") };
    assert_eq!(
        &*framing.facts,
        r#"{"kind":"plugin","form":"framing","tools":"read-only","plugin":"sidechat"}"#
    );
    assert!(text(framing).starts_with("This is a side session"), "{}", text(framing));
    assert_eq!((opening.send, opening.notice), (None, None));
    // The source is as it was.
    assert_eq!(rig.living.session("main").log, before.log);
    assert!(child.appended.is_empty());
}

#[tokio::test]
async fn side_question_is_sent_as_it_was_typed() {
    let rig = rig(Living::new([("main", Session::of_turns(1))])).await;
    let opening = rig.open_with("main", "/side why \"that\"?\nand what now?").await;
    assert_eq!(opening.send.as_deref(), Some("why \"that\"?\nand what now?"));
}

#[tokio::test]
async fn side_session_leaves_out_the_running_turn_and_says_so() {
    let mut main = Session::of_turns(1);
    let completed = main.log.len();
    main.log.extend([Event::TurnStart(None), Event::Prompt("go on".to_owned())]);
    main.running = true;
    let rig = rig(Living::new([("main", main)])).await;
    let opening = rig.open("main").await;
    assert_eq!(rig.living.session(&opening.session).seed_length, completed);
    assert!(opening.notice.is_some_and(|notice| notice.contains("running there")));
}

#[tokio::test]
async fn side_session_of_a_compacted_source_says_so() {
    let mut main = Session::of_turns(2);
    main.log.push(Event::Checkpoint);
    let rig = rig(Living::new([("main", main)])).await;
    let opening = rig.open("main").await;
    assert!(opening.notice.is_some_and(|notice| notice.contains("compacted")));
}

#[tokio::test]
async fn side_session_without_a_turn_is_empty_or_refused_as_the_settings_say() {
    let rig = rig(Living::new([("main", Session::default())])).await;
    let opening = rig.open("main").await;
    assert!(opening.notice.is_some_and(|notice| notice.contains("begins empty")));
    assert_eq!(rig.forms(&opening.session), ["framing"]);

    let living = Living::new([("main", Session::default())]);
    let strict = rig_with(living, r#"{"refuseWithoutTurn":true}"#, true).await;
    assert_eq!(strict.failure("main", "/side why?").await.0, "SIDECHAT_NO_TURN");
    assert_eq!(strict.living.ids(), ["main"]);
}

#[tokio::test]
async fn side_session_of_a_side_session_has_a_framing_of_its_own() {
    let (rig, child) = opened().await;
    let grandchild = rig.open(&child).await.session;
    assert_eq!(rig.living.session(&grandchild).parent, Some(child));
    assert_eq!(rig.forms(&grandchild), ["framing"]);
}

#[tokio::test]
async fn side_framing_in_the_system_prompt_takes_a_grant_and_says_what_it_costs() {
    let settings = r#"{"systemPrompt":true,"framing":"Only look."}"#;
    let strong = rig_with(Living::new([("main", Session::of_turns(1))]), settings, true).await;
    let opening = strong.open("main").await;
    let child = strong.living.session(&opening.session);
    assert_eq!(child.appended, ["Only look."]);
    assert_eq!(strong.forms(&opening.session), ["framing"]);
    assert!(opening.notice.is_some_and(|notice| notice.contains("paid in full")));

    let ungranted = rig_with(Living::new([("main", Session::of_turns(1))]), settings, false).await;
    assert_eq!(ungranted.failure("main", "/side").await.0, "not-granted");
    assert_eq!(ungranted.living.ids(), ["main"]);
}

#[tokio::test]
async fn side_session_that_cannot_be_written_is_none() {
    let held = Session { holder: Some("another process".to_owned()), ..Session::of_turns(1) };
    let rig = rig(Living::new([("main", held)])).await;
    assert_eq!(rig.failure("main", "/side").await.0, "unavailable");
    assert_eq!(rig.living.ids(), ["main"]);
}

#[tokio::test]
async fn side_sessions_are_listed_with_their_marks_from_the_logs_alone() {
    let (rig, child) = opened().await;
    rig.living.change(&child, |session| session.title = Some("Why?".to_owned()));
    // A plain fork is none, and neither is another session's.
    rig.living.change("fork", |session| session.parent = Some("main".to_owned()));
    rig.living.change("other", |session| session.parent = Some("elsewhere".to_owned()));
    assert_eq!(rig.text("main", "/sides").await, format!("open       {child}  Why?"));
    rig.living.change(&child, |session| {
        session.replies.push_back(program_tests::Reply::Says("so".to_owned()))
    });
    rig.text(&child, "/merge").await;
    assert_eq!(rig.text("main", "/sides").await, format!("merged     {child}  Why?"));
    rig.text(&child, "/merge --undo").await;
    assert_eq!(rig.text("main", "/sides").await, format!("withdrawn  {child}  Why?"));
    assert!(rig.text(&child, "/sides").await.contains("no side session"));
    assert_eq!(fact(&rig.handbacks("main")[0], "child"), child);
}

#[tokio::test]
async fn side_commands_are_on_offer_and_others_are_refused() {
    let (rig, _) = opened().await;
    let commands = rig.plugin.commands(&rig.services).await.expect("commands");
    let names: Vec<_> = commands.iter().map(|command| command.name.as_str()).collect();
    assert_eq!(names, ["side", "merge", "promote", "sides"]);
    assert_eq!(rig.failure("main", "/dance").await.0, "SIDECHAT_UNKNOWN_COMMAND");
}
