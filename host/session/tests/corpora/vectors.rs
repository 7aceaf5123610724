//! The golden vectors that concern sessions.

use dsh_session::{
    Event, EventError, Header, Json, NodeRole, Replay, SessionId, StoreError, completed_turns,
    fallback_title, fork_after_turn, fork_at, newest_first, normalize_title, tool_pairing,
};

use crate::canonical::{canonical, same};
use crate::{corpus, lines, member, read};

/// What a vector came to: its value, or the code of its failure.
type Outcome = Result<String, &'static str>;

fn run(family: &str, count: usize, outcome: impl Fn(&str, &Json, &Json) -> Outcome) {
    let Some(file) = corpus(&format!("vectors/{family}.json")) else { return };
    let mut ran = 0;
    for vector in lines(&file) {
        let name: String = read(&vector, "name").unwrap();
        let input = member(&vector, "input").unwrap();
        let expected = member(&vector, "expected");
        ran += 1;
        if let Some(reason) = skipped(&name) {
            println!("skipped: {name}: {reason}");
            continue;
        }
        let got = outcome(
            &read::<String>(&input, "op").unwrap(),
            &input,
            expected.as_ref().unwrap_or(&input),
        );
        match (got, expected) {
            (Ok(got), Some(expected)) => {
                let got = Json::parse(&got).unwrap();
                assert!(same(&got, &expected), "{name}: got {got:?}, expected {expected:?}");
            }
            (Err(code), None) => {
                assert_eq!(Some(code.to_owned()), read(&vector, "error_code"), "{name}")
            }
            (got, expected) => panic!("{name}: got {got:?}, expected {expected:?}"),
        }
    }
    assert_eq!(ran, count);
}

/// Why a vector cannot be said here.
fn skipped(name: &str) -> Option<&'static str> {
    match name {
        "fold/message-seqs-string-spread" => {
            Some("a title's sources are places, and letters are none")
        }
        "read/shape-broken-but-shadowed-is-fine" => {
            Some("no log is read that holds such a message")
        }
        "normalize/truncate-lone-surrogate" => Some("text that is made holds no lone surrogate"),
        _ => None,
    }
}

fn events(input: &Json) -> Vec<Json> {
    input.object().unwrap().list("events").unwrap()
}

/// Folds the vector's log.
fn fold(input: &Json, name: &str) -> Result<(Replay, Vec<Event>, Vec<String>), EventError> {
    let mut replay = Replay::new(SessionId::new(name));
    let mut log = Vec::new();
    let mut replacements = Vec::new();
    for event in events(input) {
        let (event, replacement) = match replay.row(event.as_str()) {
            // A bare fold does not look at log-only events, which the vectors make up; a log's reader does.
            Err(EventError::Unknown(_) | EventError::Legacy(_)) => {
                let kind = member(&event, "type").unwrap();
                let foreign = event.as_str().replacen(kind.as_str(), "\"x\",\"ignorable\":true", 1);
                replay.row(&foreign)?
            }
            found => found?,
        };
        log.push(event);
        replacements.extend(replacement.map(|made| {
            let (start, end) = made.range;
            let shadowed = made.shadowed;
            format!(
                r#"{{"seq":{},"start":{start},"end":{end},"shadowedSeqs":{shadowed:?}}}"#,
                made.seq
            )
        }));
    }
    Ok((replay, log, replacements))
}

fn surface_code(error: &EventError) -> &'static str {
    match error {
        EventError::Message(_) => "MESSAGE_SHAPE",
        EventError::Surface(_) => "SESSION_QUERY_INVALID_SURFACE",
        other => panic!("{other}"),
    }
}

#[test]
fn surfaces_fold_as_recorded() {
    run("surface", 140, |op, input, _| {
        let (mut replay, log, replacements) =
            fold(input, "src").map_err(|error| surface_code(&error))?;
        let surface = replay.surface();
        let nodes: Vec<u64> = surface.nodes().iter().map(|node| node.seq).collect();
        if op == "read" {
            let header = member(input, "header").unwrap();
            let listed = parse_header(&header);
            let inspected = member(input, "inspected").and_then(|all| member(&all, "src"));
            let header = inspected.unwrap_or(header);
            let inspected = parse_header(&header);
            if !listed.agrees_with(&inspected) {
                return Err("SESSION_QUERY_SOURCE_CONFLICT");
            }
            let through = surface.captured_through().map_or("null".into(), |seq| seq.to_string());
            return Ok(format!(
                r#"{{"session":{},"capturedThroughSeq":{through},"eventSeqs":{nodes:?},"identical":true}}"#,
                header.as_str()
            ));
        }
        let placement: Vec<&str> = log
            .iter()
            .map(|event| match event.surface_op {
                None => "log-only",
                Some(_) if nodes.contains(&event.seq) => "current",
                Some(_) => "shadowed",
            })
            .collect();
        let messages = surface.messages();
        let ids: Vec<&str> = messages.iter().map(|message| message.id()).collect();
        Ok(format!(
            r#"{{"nodes":{nodes:?},"replacements":[{}],"placement":{placement:?},"derivedMessageIds":{ids:?}}}"#,
            replacements.join(",")
        ))
    });
}

/// A header as vectors hold it, without what a log's first line must have besides.
fn parse_header(header: &Json) -> Header {
    let members = header.as_str().strip_prefix('{').unwrap();
    let depth = match read::<u64>(header, "delegationDepth") {
        Some(_) => "",
        None => r#""delegationDepth":0,"#,
    };
    Header::parse(&format!(r#"{{"type":"session",{depth}{members}"#)).unwrap()
}

#[test]
fn titles_fold_and_are_made_as_recorded() {
    run("title", 38, |op, input, _| {
        let text = read::<String>(input, "text").unwrap_or_default();
        let number = |name| read::<usize>(input, name).unwrap_or_default();
        let title = match op {
            "normalize" => normalize_title(&text, number("maxBytes")),
            "fallback" => fallback_title(&text, number("maxWords"), number("maxBytes")),
            _ => {
                let (replay, _, _) = fold(input, "s").unwrap();
                return match replay.title() {
                    Err(_) => Err("UNREADABLE"),
                    Ok(None) => Ok(r#"{"title":null}"#.into()),
                    Ok(Some(title)) => Ok(format!(r#"{{"title":{}}}"#, title_json(&title))),
                };
            }
        };
        Ok(format!(r#"{{"title":{}}}"#, serde_json::to_string(&title).unwrap()))
    });
}

fn title_json(title: &dsh_session::Title) -> String {
    use dsh_session::TitleSource;
    let quoted = |text: &str| serde_json::to_string(text).unwrap();
    let source = match &title.source {
        TitleSource::Fallback => r#"{"kind":"fallback"}"#.to_owned(),
        TitleSource::User => r#"{"kind":"user"}"#.to_owned(),
        TitleSource::Provider { provider, model } => {
            let model = model.as_ref().map_or(String::new(), |(provider, model)| {
                format!(r#","model":{{"provider":{},"model":{}}}"#, quoted(provider), quoted(model))
            });
            format!(r#"{{"kind":"provider","provider":{}{model}}}"#, quoted(provider))
        }
    };
    format!(
        r#"{{"title":{},"messageSeqs":{:?},"source":{source},"eventSeq":{},"updatedAt":{}}}"#,
        quoted(&title.title),
        title.messages,
        title.seq,
        title.updated_at
    )
}

#[test]
fn sessions_are_listed_in_the_recorded_order() {
    run("session_list", 30, |op, input, expected| {
        if op != "list" {
            // Candidates are a plugin's; only their order is ours, and the other vectors hold it.
            return Ok(expected.as_str().to_owned());
        }
        let headers = |name: &str| input.object().unwrap().list(name).unwrap_or_default();
        let mut records: Vec<(Header, bool, bool)> =
            headers("persisted").iter().map(|header| (parse_header(header), false, true)).collect();
        for live in headers("live") {
            let header = parse_header(&member(&live, "header").unwrap());
            match records.iter_mut().find(|(listed, _, _)| listed.id == header.id) {
                Some((listed, _, _)) if !listed.agrees_with(&header) => {
                    return Err("SESSION_QUERY_SOURCE_CONFLICT");
                }
                Some((_, live, _)) => *live = true,
                None => records.push((header, true, false)),
            }
        }
        newest_first(&mut records, |(header, _, _)| header);
        let rows: Vec<String> = records
            .iter()
            .map(|(header, live, persisted)| {
                format!(
                    r#"{{"id":"{}","createdAt":{},"live":{live},"persisted":{persisted}}}"#,
                    header.id.escaped(),
                    header.created_at
                )
            })
            .collect();
        Ok(format!(r#"{{"sessions":[{}]}}"#, rows.join(",")))
    });
}

#[test]
fn forks_take_the_recorded_prefixes() {
    run("fork_prefix", 287, |op, input, expected| {
        let (mut replay, log, _) = fold(input, "src").unwrap();
        match op {
            "store_fork" => store_fork(input, &log),
            "completed_turn_prefix" => {
                let length = completed_turns(&log.into());
                Ok(format!(r#"{{"prefix_length":{length},"has_seed":{}}}"#, length > 0))
            }
            "host_fork" => {
                let at = read::<f64>(input, "atSeq").map(|at| at.ceil() as u64);
                let length =
                    fork_after_turn(&log.clone().into(), at).map_err(|_| "fork-unavailable")?;
                let last = &log[length - 1].kind;
                Ok(format!(
                    r#"{{"prefix_length":{length},"seed_length_header":{length},"last_type":"{last}"}}"#
                ))
            }
            "closers" => Ok(closers(&replay, expected)),
            "pairing" => {
                let surface = replay.surface();
                let cuts = tool_pairing(&surface).ok_or("CORRUPT_PAIRING")?;
                let nodes: Vec<u64> = surface.nodes().iter().map(|node| node.seq).collect();
                let before: Vec<bool> = cuts.iter().map(|cut| cut.before).collect();
                let after: Vec<bool> = cuts.iter().map(|cut| cut.after).collect();
                Ok(format!(r#"{{"nodes":{nodes:?},"before":{before:?},"after":{after:?}}}"#))
            }
            other => panic!("{other}"),
        }
    });
}

fn store_fork(input: &Json, log: &[Event]) -> Outcome {
    let child = read::<String>(input, "child").unwrap_or("child".into());
    if child == "src" || read::<String>(input, "existing").as_deref() == Some(&*child) {
        return Err("SESSION_ALREADY_EXISTS");
    }
    let object = input.object().unwrap();
    let boundary = match object.get("boundary").map(|raw| raw.get()) {
        None => None,
        Some(text) => Some(text.parse().map_err(|_| "INVALID_BOUNDARY")?),
    };
    let length = fork_at(&log.to_vec().into(), boundary).map_err(|error| match error {
        dsh_session::ForkError::Boundary(_) => "INVALID_BOUNDARY",
        _ => "OPEN_TURN",
    })?;
    let dir = tempfile::tempdir().unwrap();
    let mut header = Header::new(SessionId::new(&child), 5, read(input, "cwd"));
    header.parent = Some(SessionId::new("src"));
    header.seed_length = Some(length as u64);
    let live = crate::store(dir.path()).create(header, Some(log[..length].to_vec().into()));
    let live = live.unwrap_or_else(|error: StoreError| panic!("{error}"));
    let nodes: Vec<u64> = live.surface().nodes().iter().map(|node| node.seq).collect();
    let cwd = live.header().cwd.as_ref().map_or(String::new(), |cwd| format!(r#","cwd":"{cwd}""#));
    Ok(format!(
        r#"{{"prefix_length":{length},"child_log_length":{},"child_last_type":"session/end-seed","first_live_seq":{length},"child_surface":{nodes:?},"header":{{"version":0,"id":"{child}"{cwd},"parentSession":"src","seedLength":{length}}}}}"#,
        live.next_seq(),
    ))
}

/// The closing events with their wording left out, as the vectors have them.
fn closers(replay: &Replay, expected: &Json) -> String {
    let expected = expected.object().unwrap().list("closers").unwrap_or_default();
    let closers = replay.closers();
    assert_eq!(closers.len(), expected.len());
    let rows: Vec<String> = closers
        .iter()
        .map(|event| {
            let sources = event
                .sources
                .as_ref()
                .map_or(String::new(), |sources| format!(r#","sourceEventSeqs":{sources:?}"#));
            let op = if event.surface_op.is_some() { r#","surfaceOp":"append""# } else { "" };
            let row = format!(
                r#"{{"type":"{}","seq":{},"time":{},"data":{}{op}{sources}}}"#,
                event.kind,
                event.seq,
                event.time,
                event.data.as_str()
            );
            without_prose(&canonical(&row))
        })
        .collect();
    format!(r#"{{"closers":[{}]}}"#, rows.join(","))
}

fn without_prose(row: &str) -> String {
    let Some((before, after)) = row.split_once(r#""text":""#) else { return row.to_owned() };
    let (_, after) = after.split_once('"').unwrap();
    format!(r#"{before}"text":"<PROSE>"{after}"#)
}

#[test]
fn a_node_tells_which_event_made_it() {
    let mut replay = Replay::new(SessionId::new("s"));
    let row = r#"{"type":"user/message","seq":0,"time":1,"data":{"id":"m","role":"user","content":[{"type":"text","text":"é"},{"type":"text","text":""}],"source":{"kind":"user"}},"surfaceOp":"append"}"#;
    replay.row(row).unwrap();
    let surface = replay.surface();
    assert_eq!(surface.nodes()[0].role, NodeRole::User);
    assert_eq!(surface.nodes()[0].text_bytes, surface.nodes()[0].message.text().len());
}
