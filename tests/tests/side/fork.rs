//! `/side`: what a side session inherits, how it begins, and what becomes of the session that it was opened on.

use std::sync::Arc;

use dsh_agent::{Agent, Target, TurnEnd};
use dsh_session::{Encoding, SessionId};
use dsh_tests::{Rig, ended, model, turn};
use dsh_wasm::{Options, Ran};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::stage::{Stage, Waits, id, lines, options, recompose};

#[tokio::test(flavor = "multi_thread")]
async fn side_session_is_born_framed_and_its_source_untouched() {
    let stage = Stage::set(&[]).await;
    let before = (stage.bytes(&stage.parent), stage.parent.live().next_seq());
    let (child, send) = stage.side_on(&stage.parent, "why?").await;
    assert_eq!(send.as_deref(), Some("why?"));
    assert_eq!((stage.bytes(&stage.parent), stage.parent.live().next_seq()), before);
    let (source, log) = (stage.log(id(&stage.parent)), stage.log(id(&child)));
    let header = child.live().header();
    assert_eq!(header.parent.as_ref(), Some(id(&stage.parent)));
    assert_eq!(header.seed_length, Some(source.len() as u64));
    assert!(!header.subagent && header.delegation_depth == 0);
    assert_eq!(log[..source.len()], source);
    let [end, framing] = &log[source.len()..] else { panic!("{log:?}") };
    assert_eq!((&*end.kind, &*framing.kind), ("session/end-seed", "user/message"));
    assert_eq!(stage.notes(&child, "framing").len(), 1);
    assert_ne!(id(&child), id(&stage.parent));
}

/// That the child's first request is what the parent would send next, the framing and the question.
fn continues(stage: &Stage, parent: &[String]) {
    let request = stage.request();
    let said = lines(&request.messages);
    assert_eq!(said[..parent.len()], *parent);
    let [framing, question] = &said[parent.len()..] else { panic!("{said:?}") };
    assert!(framing.starts_with("sidechat: This is a side session"), "{framing}");
    assert_eq!(question, "user: why?");
}

#[tokio::test(flavor = "multi_thread")]
async fn side_session_asks_first_what_its_parent_would_send_next() {
    let replies = [json!({ "text": "because" }), json!({ "text": "on with it" })];
    let stage = Stage::set(&replies).await;
    let tools = [Waits::tool("read", true, &Arc::new(Semaphore::new(0)))];
    recompose(&stage.parent, |parts| parts.tools = tools.to_vec());
    let inherited = stage.parent.live().messages();
    stage.side("why?").await;
    let child = stage.request();
    assert_eq!(turn(&stage.parent, "go on").await, TurnEnd::Completed);
    let parent = stage.request();
    let wire = |header| serde_json::to_string(header).unwrap();
    assert_eq!(wire(&child.header), wire(&parent.header));
    assert!(child.header.system.is_some() && child.header.tools.len() == 1);
    let prefix = inherited.len();
    let json = |messages: &[dsh_session::Message]| -> Vec<String> {
        messages.iter().map(|message| message.json().as_str().to_owned()).collect()
    };
    assert_eq!(json(&child.messages[..prefix]), json(&parent.messages[..prefix]));
    assert_eq!(child.messages[..prefix], inherited);
    // Whatever is kept for the session by an adapter is not the parent's.
    assert_ne!(child.session, parent.session);
}

#[tokio::test(flavor = "multi_thread")]
async fn side_session_leaves_out_the_turn_that_runs_and_what_waits_there() {
    let replies = [
        json!({ "text": "half", "hang": true }),
        json!({ "text": "because" }),
        json!({ "text": "more" }),
    ];
    let stage = Stage::set(&replies).await;
    let inherited = lines(&stage.parent.live().messages());
    let mut events = stage.parent.live().subscribe();
    stage.parent.followup(stage.parent.prompt("running").unwrap()).await.unwrap();
    while events.next().await.is_some_and(|event| &*event.kind != "assistant/chunk") {}
    stage.parent.followup(stage.parent.prompt("queued").unwrap()).await.unwrap();
    stage.parent.steer(stage.parent.prompt("steered").unwrap()).await.unwrap();
    let ran = stage.command(&stage.parent, "/side why?").await.unwrap();
    let Ran::Opened { agent: child, notice, .. } = ran else { panic!("no session") };
    assert!(notice.is_some_and(|notice| notice.contains("is running there")));
    assert!(
        child.waiting(Target::NextTurn).is_empty() && child.waiting(Target::NextStep).is_empty()
    );
    assert_eq!(turn(&child, "why?").await, TurnEnd::Completed);
    continues(&stage, &inherited);
    let child_id = id(&child).clone();
    child.dispose().await.unwrap();
    drop(child);
    let child = stage.rig.harness.resume(&child_id, stage.model.clone()).await.unwrap();
    assert_eq!(turn(&child, "and?").await, TurnEnd::Completed);
    let said = lines(&stage.request().messages);
    assert_eq!(said[inherited.len() + 1..], ["user: why?", "model: because", "user: and?"]);
    assert_eq!(stage.parent.waiting(Target::NextTurn).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn side_session_of_a_parent_with_a_running_tool_holds_no_half_of_a_call() {
    let replies = [
        json!({ "calls": [{ "name": "wait" }] }),
        json!({ "text": "because" }),
        json!({ "text": "waited" }),
    ];
    let stage = Stage::set(&replies).await;
    let inherited = lines(&stage.parent.live().messages());
    let lets = Arc::new(Semaphore::new(0));
    recompose(&stage.parent, |parts| parts.tools = vec![Waits::tool("wait", false, &lets)]);
    let mut events = stage.parent.live().subscribe();
    stage.parent.followup(stage.parent.prompt("wait").unwrap()).await.unwrap();
    while events.next().await.is_some_and(|event| &*event.kind != "tool/call") {}
    let child = stage.side("why?").await;
    continues(&stage, &inherited);
    assert!(dsh_session::tool_pairing(&child.live().surface()).is_some());
    lets.add_permits(1);
    assert_eq!(ended(&stage.parent).await, TurnEnd::Completed);
    let results =
        |id: &SessionId| stage.log(id).iter().filter(|event| &*event.kind == "tool/result").count();
    assert_eq!((results(id(&stage.parent)), results(id(&child))), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn side_session_without_a_completed_turn_is_empty_or_refused() {
    for refuse in [false, true] {
        let rig = Rig::with(options(&json!({ "refuseWithoutTurn": refuse }))).await;
        let model = model(&[json!({ "text": "because" })]);
        let parent = rig.harness.create(None, model.clone()).await.unwrap();
        let ran = rig.harness.command(id(&parent), "/side why?", None).await;
        match ran {
            Ok(Ran::Opened { agent: child, notice, .. }) if !refuse => {
                assert!(notice.is_some_and(|notice| notice.contains("begins empty")));
                assert_eq!(child.live().header().seed_length, Some(0));
                assert_eq!(turn(&child, "why?").await, TurnEnd::Completed);
            }
            Err(error) if refuse => {
                assert!(error.to_string().contains("SIDECHAT_NO_TURN"), "{error}");
                assert!(rig.harness.sessions().list().await.unwrap().sessions.len() <= 1);
            }
            _ => panic!("refuse: {refuse}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn side_session_of_a_side_session_has_a_framing_of_its_own_at_once() {
    let stage = Stage::set(&[json!({ "text": "because" })]).await;
    let (child, _) = stage.side_on(&stage.parent, "").await;
    let (grandchild, send) = stage.side_on(&child, "why?").await;
    assert_eq!(grandchild.live().header().parent.as_ref(), Some(id(&child)));
    assert_eq!(stage.notes(&grandchild, "framing").len(), 1);
    let log = stage.log(id(&grandchild));
    let seed = grandchild.live().header().seed_length.unwrap();
    assert_eq!(log.len() as u64, seed + 2);
    assert_eq!(log[..log.len() - 2], stage.log(id(&child)));
    assert_eq!(turn(&grandchild, &send.unwrap()).await, TurnEnd::Completed);
    let listed = stage.told(&child, "/sides").await;
    assert!(listed.contains(&id(&grandchild).to_string()), "{listed}");
    assert_eq!(listed.lines().count(), 1, "{listed}");
    // Opened again and again, it is the same: its own range is the header's word.
    for _ in 0..2 {
        let again = id(&grandchild).clone();
        grandchild.dispose().await.unwrap();
        let notes = stage.rig.harness.sessions().own_notes(&again, "sidechat").await.unwrap();
        assert_eq!(notes.iter().filter(|note| note.seq == Some(seed + 1)).count(), 1);
    }
}

async fn recorded(source: &str) -> Option<(Rig, Agent, Vec<String>)> {
    let rig = Rig::recorded(Encoding::Raw).await?;
    let model = model(&[json!({ "text": "because" })]);
    let agent = rig.harness.resume(&SessionId::new(source), model).await.unwrap();
    let said = lines(&agent.live().messages());
    Some((rig, agent, said))
}

#[tokio::test(flavor = "multi_thread")]
async fn side_session_of_a_compacted_source_inherits_what_its_model_sees() {
    let Some((rig, parent, inherited)) = recorded("compact-twice").await else { return };
    let ran = rig.harness.command(id(&parent), "/side why?", None).await.unwrap();
    let Ran::Opened { agent: child, notice, .. } = ran else { panic!("no session") };
    assert!(notice.is_some_and(|notice| notice.contains("was compacted")));
    let said = lines(&child.live().messages());
    assert_eq!(said[..said.len() - 1], inherited);
    assert_eq!(turn(&child, "why?").await, TurnEnd::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn side_session_of_a_real_stored_session_continues_it() {
    for source in ["plain-turns", "fork-base", "long", "queue-steer"] {
        let Some((rig, parent, inherited)) = recorded(source).await else { return };
        let ran = rig.harness.command(id(&parent), "/side why?", None).await.unwrap();
        let Ran::Opened { agent: child, .. } = ran else { panic!("no session") };
        let said = lines(&child.live().messages());
        assert_eq!(said[..said.len() - 1], inherited, "{source}");
        assert_eq!(turn(&child, "why?").await, TurnEnd::Completed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn side_session_of_a_damaged_source_is_refused_and_leaves_nothing() {
    let rig = Rig::with(Options { encoding: Some(Encoding::Raw), ..Options::standard() }).await;
    let source = rig.session(&["one", "two"]).await;
    let path = rig.root().join("_no-cwd").join(source.to_string()).join("session.jsonl");
    let log = std::fs::read_to_string(&path).unwrap();
    let mut rows: Vec<&str> = log.lines().collect();
    rows[3] = r#"{"type":"turn/en"#;
    std::fs::write(&path, rows.join("\n") + "\n").unwrap();
    let refused = rig.harness.resume(&source, model(&[])).await;
    let said = refused.err().map(|error| format!("{error:#}")).unwrap();
    assert!(said.contains("line 4"), "{said}");
    assert_eq!(rig.harness.sessions().list().await.unwrap().sessions.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn side_session_from_before_a_compaction_has_the_detail_that_it_removed() {
    let Some((rig, parent, inherited)) = recorded("compact-twice").await else { return };
    let mut log = Vec::new();
    rig.harness.sessions().store().read(id(&parent), &mut log).unwrap();
    let first = log.iter().find(|event| &*event.kind == "compaction/start").unwrap().seq;
    let seed = rig.harness.sessions().seed(id(&parent), Some(first)).await.unwrap();
    assert!(!seed.is_compacted());
    let own = SessionId::new("from-before");
    let child = rig.harness.sessions().bear(own, seed, Vec::new()).await.unwrap();
    let said = lines(&child.messages());
    assert!(!said.is_empty() && !said.iter().any(|line| line.starts_with("compact:")), "{said:?}");
    assert!(inherited.iter().any(|line| line.starts_with("compact:")), "{inherited:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn side_session_stays_one_after_a_compaction_and_a_restart() {
    let replies = ["because", "A summary.", "It is the cache."];
    let stage = Stage::set(&replies.map(|text| json!({ "text": text }))).await;
    let child = stage.side("why?").await;
    child.compact(None).await.unwrap();
    child.when_idle().await.unwrap();
    let said = lines(&child.live().messages());
    assert!(!said.iter().any(|line| line.contains("This is a side session")), "{said:?}");
    let child_id = id(&child).clone();
    child.dispose().await.unwrap();
    drop(child);
    let child = stage.rig.harness.resume(&child_id, stage.model.clone()).await.unwrap();
    assert_eq!(stage.notes(&child, "framing").len(), 1);
    let told = stage.told(&child, "/merge").await;
    assert!(told.contains("was added"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn side_session_with_a_system_prompt_of_its_own_keeps_it() {
    let replies = ["because", "also", "and so", "on it"].map(|text| json!({ "text": text }));
    let stage = Stage::with(&json!({ "systemPrompt": true }), &replies).await;
    let ran = stage.command(&stage.parent, "/side").await.unwrap();
    let Ran::Opened { agent: child, notice, .. } = ran else { panic!("no session") };
    assert!(notice.is_some_and(|notice| notice.contains("paid in full")));
    let (grandchild, _) = stage.side_on(&child, "").await;
    assert_eq!(turn(&child, "why?").await, TurnEnd::Completed);
    let system = stage.request().header.system.unwrap();
    assert!(system.contains("This is a side session"), "{system}");
    let ids = [id(&child).clone(), id(&grandchild).clone()];
    for agent in [child, grandchild] {
        agent.dispose().await.unwrap();
    }
    for (id, times) in ids.iter().zip([1, 2]) {
        let again = stage.rig.harness.resume(id, stage.model.clone()).await.unwrap();
        assert_eq!(turn(&again, "and?").await, TurnEnd::Completed);
        let kept = stage.request().header.system.unwrap();
        assert_eq!(kept.matches("This is a side session").count(), times);
    }
    assert_eq!(turn(&stage.parent, "go on").await, TurnEnd::Completed);
    assert!(!stage.request().header.system.unwrap().contains("side session"));
}
