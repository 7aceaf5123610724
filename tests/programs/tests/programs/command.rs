//! Commands: what they are told, what they may do to agents, and what they may come to.

use std::sync::Arc;
use std::time::Duration;

use dsh_plugin_host::{
    CallError, Capabilities, Cause, Chain, Command, Draft, Gates, Grants, Invocation, Limit,
    LoadError, Opening, Outcome, Plugin, Question, Refusal, Services, Settings, ToolCall, Verdict,
};
use program_tests::{
    self as programs, Event, Living, Reply, Session, everything, fact, host, load, manifest, run,
    services_with,
};

async fn plugin(path: &str) -> Plugin {
    load(&host(), path, everything()).await.unwrap_or_else(|err| panic!("{err}"))
}

/// Services with agents, of which `s` has two completed turns.
fn living() -> (Services, Living) {
    let living = Living::new([("s", Session::of_turns(2))]);
    (services_with(living.clone()).0.with_agents(Arc::new(living.clone())), living)
}

fn invocation(name: &str, arguments: &str) -> Invocation {
    Invocation {
        session: "s".to_owned(),
        cwd: None,
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        edited: None,
    }
}

/// What a program's command comes to, with agents of its own.
async fn outcome(path: &str, arguments: &str) -> (Result<Outcome, CallError>, Living) {
    let (services, living) = living();
    let plugin = plugin(path).await;
    (plugin.run_command(&services, &invocation("do", arguments)).await, living)
}

async fn text(path: &str, arguments: &str) -> (String, Living) {
    match outcome(path, arguments).await {
        (Ok(Outcome::Text(text)), living) => (text, living),
        (other, _) => panic!("{other:?}"),
    }
}

async fn cause(path: &str, arguments: &str) -> Cause {
    outcome(path, arguments).await.0.expect_err("an error").cause
}

#[tokio::test]
pub(crate) async fn tells_its_invocation() {
    let (plugin, (services, _)) = (plugin(programs::TELLS_ITS_INVOCATION).await, living());
    let offered = plugin.commands(&services).await.expect("commands");
    assert_eq!(
        offered.first(),
        Some(&Command {
            name: "tell".to_owned(),
            summary: "What tell does".to_owned(),
            arguments: "[what]".to_owned(),
        })
    );
    let given = Invocation {
        session: r"s\ud800".to_owned(),
        cwd: Some("/w".to_owned()),
        edited: Some("new".to_owned()),
        ..invocation("tell", "a b")
    };
    let told = r#"s\ud800 Some("/w") "a b" Some("new")"#.to_owned();
    let (name, arguments) = ("tell".to_owned(), "it".to_owned());
    let run = async |name: &str| {
        let given = Invocation { name: name.to_owned(), ..given.clone() };
        plugin.run_command(&services, &given).await
    };
    assert_eq!(run("tell").await, Ok(Outcome::Text(told.clone())));
    let draft = Draft { text: told.clone(), name: name.clone(), arguments: arguments.clone() };
    assert_eq!(run("draft-it").await, Ok(Outcome::Draft(draft)));
    let question = Question { text: told, name, arguments };
    assert_eq!(run("ask").await, Ok(Outcome::Question(question)));
    let failed = run("dance").await.expect_err("no such command");
    assert_eq!(failed.export, "dsh:agent/commands.run");
    assert!(matches!(failed.cause, Cause::Failed(failure) if failure.code == "NO_SUCH_COMMAND"));
}

#[tokio::test]
pub(crate) async fn opens_a_fork() {
    let (opened, living) = outcome(programs::OPENS_A_FORK, "why?").await;
    let Ok(Outcome::Opened(Opening { session, send, notice })) = opened else {
        panic!("{opened:?}")
    };
    assert_eq!((send.as_deref(), notice.as_deref()), (Some("why?"), Some("8 events")));
    let (source, child) = (living.session("s"), living.session(&session));
    let (seed, own) = child.log.split_at(child.seed_length);
    assert_eq!(seed, source.log);
    let [Event::Context(first), Event::Context(second)] = own else { panic!("{own:?}") };
    for (note, id, text) in [(first, "c0", "first"), (second, "c1", "second")] {
        assert_eq!((note.id.as_str(), note.plugin.as_str()), (id, "opens_a_fork"));
        assert_eq!(note.content.first().and_then(|block| block.as_text()), Some(text));
        assert_eq!(&*note.facts, r#"{"kind":"plugin","plugin":"opens_a_fork"}"#);
    }
}

#[tokio::test]
pub(crate) async fn opens_a_stranger() {
    for session in ["elsewhere", "s"] {
        let refused = Cause::Refused(Refusal::NotHeld { session: session.to_owned() });
        assert_eq!(cause(programs::OPENS_A_STRANGER, session).await, refused);
    }
}

#[tokio::test]
pub(crate) async fn speaks_for_the_person() {
    let refused = Cause::Refused(Refusal::NotTyped);
    assert_eq!(cause(programs::SPEAKS_FOR_THE_PERSON, "why?").await, refused);
}

#[tokio::test]
pub(crate) async fn creates_twice() {
    let (_, once) = text(programs::CREATES_TWICE, "once").await;
    assert_eq!(once.ids().len(), 2);
    let (twice, living) = outcome(programs::CREATES_TWICE, "twice").await;
    assert!(matches!(twice.expect_err("a trap").cause, Cause::Trap(_)));
    assert_eq!(living.ids().len(), 2);
}

#[tokio::test]
pub(crate) async fn uses_a_dropped_agent() {
    assert_eq!(text(programs::USES_A_DROPPED_AGENT, "held").await.0, "s");
    for forged in ["dropped", "made up"] {
        let cause = cause(programs::USES_A_DROPPED_AGENT, forged).await;
        assert!(matches!(cause, Cause::Trap(_)), "{forged}: {cause:?}");
    }
}

fn asking(reply: Reply) -> (Services, Living) {
    let (services, living) = living();
    living.change("s", |session| session.replies.push_back(reply));
    (services, living)
}

#[tokio::test]
pub(crate) async fn asks() {
    let plugin = plugin(programs::ASKS).await;
    let (services, living) = asking(Reply::Says("well".to_owned()));
    for existed in [false, true] {
        let answer = plugin.run_command(&services, &invocation("do", "k")).await;
        assert_eq!(answer, Ok(Outcome::Text(format!("well 11 {existed}"))));
    }
    let log = living.session("s").log;
    let [Event::Context(question), ..] = &log[9..] else { panic!("{log:?}") };
    assert_eq!((fact(question, "key").as_str(), fact(question, "plugin")), ("k", "asks".into()));
    let failed = plugin.run_command(&services, &invocation("do", "l")).await;
    let failed = failed.expect_err("a failed turn").cause;
    assert!(matches!(failed, Cause::Failed(failure) if failure.code == "turn-failed"));
}

#[tokio::test(start_paused = true)]
async fn the_time_that_a_command_waits_for_a_turn_counts_against_no_limit() {
    let plugin = plugin(programs::ASKS).await;
    let (services, _) = asking(Reply::Later(3_600_000, "an hour later".to_owned()));
    let answer = plugin.run_command(&services, &invocation("do", "k")).await;
    assert_eq!(answer, Ok(Outcome::Text("an hour later 11 false".to_owned())));
}

#[tokio::test(start_paused = true)]
async fn a_command_that_is_cancelled_gives_its_turn_up() {
    let plugin = plugin(programs::ASKS).await;
    let (services, living) = asking(Reply::Hangs);
    let given = invocation("do", "k");
    let running = plugin.run_command(&services, &given);
    assert!(tokio::time::timeout(Duration::from_secs(60), running).await.is_err());
    assert_eq!(living.session("s").given_up, 1);
    living.change("s", |session| session.replies.push_back(Reply::Says("now".to_owned())));
    assert!(plugin.run_command(&services, &given).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_command_that_waits_for_a_turn_is_no_running_call() {
    let mut manifest = manifest("asks");
    manifest.limits.concurrent_calls = 1;
    let wasm = std::fs::read(programs::ASKS).expect("a program");
    let grants = Grants::new(everything());
    let loaded = host().load(manifest, &wasm, Settings::default(), &grants).await;
    let plugin = loaded.expect("a plugin");
    let (services, living) = asking(Reply::Later(60_000, "later".to_owned()));
    let given = invocation("do", "k");
    let call = ToolCall {
        session: "s".to_owned(),
        turn: 1,
        step: 1,
        id: "call".to_owned(),
        name: "read".to_owned(),
        arguments: "{}".to_owned(),
        read_only: true,
    };
    let command = plugin.run_command(&services, &given);
    let gate = async {
        // Its turn has begun.
        while living.session("s").log.len() < 10 {
            tokio::task::yield_now().await;
        }
        plugin.check_tool(&services, &call).await
    };
    let (ended, checked) = tokio::join!(command, gate);
    assert_eq!((checked, ended.is_ok()), (Ok(Verdict::Allow), true));
    // And it had its place again when it went on: none is left over.
    assert_eq!(plugin.check_tool(&services, &call).await, Ok(Verdict::Allow));
    let hanging = services_with(programs::Scripted::delayed(programs::Delay::Hang)).0;
    assert_eq!(plugin.check_tool(&hanging, &call).await, Ok(Verdict::Allow));
}

#[tokio::test]
pub(crate) async fn asks_for_ever() {
    assert_eq!(text(programs::ASKS_FOR_EVER, "16").await.1.session("s").log.len(), 8 + 16);
    let (stopped, living) = outcome(programs::ASKS_FOR_EVER, "for ever").await;
    let Cause::Limit(breach) = stopped.expect_err("a limit").cause else { panic!() };
    assert_eq!((breach.limit, breach.figure, breach.allowed), (Limit::Acts, Some(17), 16));
    assert_eq!(living.session("s").log.len(), 8 + 16);
}

#[tokio::test]
pub(crate) async fn hands_back_too_much() {
    assert_eq!(text(programs::HANDS_BACK_TOO_MUCH, "100000").await.1.session("s").log.len(), 8 + 3);
    let Cause::Limit(breach) = cause(programs::HANDS_BACK_TOO_MUCH, "4000000").await else {
        panic!()
    };
    assert_eq!((breach.limit, breach.allowed), (Limit::Output, 8 << 20));
}

#[tokio::test]
pub(crate) async fn injects() {
    let (codes, living) = text(programs::INJECTS, "").await;
    assert_eq!(codes, "not-granted invalid-json done withdrawn not-found");
    let log = living.session("s").log;
    let [Event::Context(note), Event::Instead(of, _)] = &log[8..] else { panic!("{log:?}") };
    assert_eq!(of, &note.id);
    assert_eq!(&*note.facts, r#"{"kind":"plugin","key":"k","plugin":"injects"}"#);
}

#[tokio::test]
pub(crate) async fn appends_system() {
    let (child, living) = text(programs::APPENDS_SYSTEM, "").await;
    assert_eq!(living.session(&child).appended, ["Be brief.", "Be kind."]);

    let mut without = everything();
    without.append_system = false;
    let plugin = load(&host(), programs::APPENDS_SYSTEM, without).await.expect("a plugin");
    let (services, living) = self::living();
    let refused = plugin.run_command(&services, &invocation("do", "")).await;
    let refused = refused.expect_err("no grant").cause;
    assert!(matches!(refused, Cause::Failed(failure) if failure.code == "not-granted"));
    assert_eq!(living.ids(), ["s"]);
}

#[tokio::test]
pub(crate) async fn follows_its_lineage() {
    let said = text(programs::FOLLOWS_ITS_LINEAGE, "").await.0;
    assert_eq!(said, "None None Some(6)");

    let (services, living) = living();
    let plugin = plugin(programs::FOLLOWS_ITS_LINEAGE).await;
    living.change("s", |session| session.parent = Some("mother".to_owned()));
    let stranger = plugin.run_command(&services, &invocation("do", "")).await;
    let stranger = stranger.expect_err("another's session").cause;
    assert!(matches!(stranger, Cause::Failed(failure) if failure.code == "not-granted"));
}

#[tokio::test]
pub(crate) async fn offers_what_nobody_can_type() {
    let refused = Cause::Refused(Refusal::CommandName { name: "do it".to_owned() });
    assert_eq!(cause(programs::OFFERS_WHAT_NOBODY_CAN_TYPE, "").await, refused);
    let plugin = plugin(programs::OFFERS_WHAT_NOBODY_CAN_TYPE).await;
    let offered = plugin.commands(&living().0).await.expect_err("no such name");
    assert_eq!(offered.cause, refused);
}

#[tokio::test]
pub(crate) async fn acts_outside_a_command() {
    let plugin = plugin(programs::ACTS_OUTSIDE_A_COMMAND).await;
    let services = living().0;
    let given = invocation("do", "");
    assert_eq!(plugin.run_command(&services, &given).await, Ok(Outcome::Text("s".to_owned())));
    let offered = plugin.commands(&services).await.expect("commands");
    assert_eq!(offered.first().map(|command| command.name.as_str()), Some("no-agent"));
    let call = ToolCall {
        session: "s".to_owned(),
        turn: 1,
        step: 1,
        id: "call".to_owned(),
        name: "read".to_owned(),
        arguments: "{}".to_owned(),
        read_only: true,
    };
    let verdict = plugin.check_tool(&services, &call).await;
    assert_eq!(verdict, Ok(Verdict::Deny("no-agent".to_owned())));
    let stepped = run(&Chain::new([plugin.clone()]), &services).await;
    assert!(format!("{stepped:?}").contains("no-agent"), "{stepped:?}");
    // Nor is there one where the embedder lends none.
    let alone = services_with(Living::default()).0;
    let said = plugin.run_command(&alone, &given).await;
    assert_eq!(said, Ok(Outcome::Text("no-agent".to_owned())));
}

#[tokio::test]
pub(crate) async fn loops_in_a_command() {
    let Cause::Limit(breach) = cause(programs::LOOPS_IN_A_COMMAND, "").await else { panic!() };
    assert_eq!((breach.limit, breach.allowed), (Limit::Cpu, 250));
}

#[tokio::test]
async fn agents_have_to_be_granted() {
    let err = load(&host(), programs::ASKS, Capabilities::default()).await;
    assert!(
        matches!(&err, Err(LoadError::NotGranted { interface, .. }) if interface == "dsh:agent/agents@0.1.0"),
        "{err:?}"
    );
}

#[tokio::test]
async fn a_plugin_without_commands_says_so() {
    let plugin = plugin(programs::PASSES).await;
    let services = living().0;
    let err = plugin.run_command(&services, &invocation("do", "")).await.expect_err("no seam");
    assert_eq!(err.to_string(), "passes: `dsh:agent/commands.run` is not exported by it");
    assert!(Gates::new([plugin]).plugins().is_empty());
}
