//! The component: the commands and the gate, over the WIT.

mod merge;
mod open;
mod promote;
mod withdraw;

use dsh_plugin::commands::{Command, Outcome};
use dsh_plugin::tool_gate::Verdict;
use dsh_plugin::{Call, Commands, Failure, Invocation, ToolGate, query};

use crate::arguments::Merge;
use crate::config::Config;
use crate::error::Error;
use crate::listing::{self, Listed, Mark};
use crate::note::{Logged, Note};
use crate::{arguments, gate, note};

struct Sidechat;

dsh_plugin::export!(Sidechat: Commands, ToolGate);

impl Commands for Sidechat {
    fn available() -> Vec<Command> {
        let command = |name: &str, arguments: &str, summary: &str| Command {
            name: name.to_owned(),
            summary: summary.to_owned(),
            arguments: arguments.to_owned(),
        };
        vec![
            command("side", "[question]", "Asks on the side, in a session of its own"),
            command(
                "merge",
                "[--preview] [instruction] | --undo | --fork",
                "Takes a short note from this side session to the session it was opened on",
            ),
            command("promote", "", "Lets this side session change things"),
            command("sides", "", "Lists the side sessions of this session"),
        ]
    }

    fn run(invocation: Invocation) -> Result<Outcome, Failure> {
        let typed = invocation.arguments();
        match invocation.name().as_str() {
            "side" => open::side(&typed),
            "merge" => match Merge::parse(&typed)? {
                Merge::Note { preview, instruction, through } => {
                    let edited = invocation.edited();
                    merge::note(preview, instruction, edited.map(|text| (text, through)))
                }
                Merge::Undo => withdraw::undo(),
                Merge::Fork => withdraw::fork(),
            },
            "promote" => promote::promote(arguments::promoted(&typed)?),
            "sides" => list(&invocation.session()),
            name => Err(Error::Unknown(name.to_owned()).into()),
        }
    }
}

impl ToolGate for Sidechat {
    fn check(call: Call) -> Result<Verdict, Failure> {
        let tool = call.name();
        if gate::is_harmless(&tool, call.read_only(), &settings()?.exceptions) {
            return Ok(Verdict::Allow);
        }
        if note::is_read_only(&own(&call.session())?) {
            return Ok(Verdict::Deny(gate::reason(&tool)));
        }
        Ok(Verdict::Allow)
    }
}

/// This plugin's own messages in a session's own history.
fn own(session: &str) -> Result<Vec<Logged>, Failure> {
    let notes = query::own_notes(session)?.into_iter();
    let logged = |own: query::OwnNote| Logged {
        seq: own.seq,
        message: own.message,
        note: Note::read(&own.facts),
    };
    Ok(notes.map(logged).collect())
}

/// The side sessions of `session`, newest first.
fn list(session: &str) -> Result<Outcome, Failure> {
    let notes = own(session)?;
    let mut listed = Vec::new();
    for header in query::list_sessions()? {
        if header.parent.as_deref() != Some(session) {
            continue;
        }
        // One that cannot be read is not hidden: nobody can say that it is no side session.
        if own(&header.id).is_ok_and(|own| note::framing(&own).is_none()) {
            continue;
        }
        let mark = Mark::of(note::handbacks(&notes, &header.id).map(|(_, _, withdrawn)| withdrawn));
        listed.push(Listed { session: header.id, title: None, mark });
    }
    let ids: Vec<_> = listed.iter().map(|listed| listed.session.clone()).collect();
    for (listed, title) in listed.iter_mut().zip(query::read_titles(&ids)) {
        listed.title = title.ok().flatten();
    }
    Ok(Outcome::Text(listing::text(&listed)))
}

fn settings() -> Result<Config, Error> {
    dsh_plugin::settings().map_err(|error| Error::Settings(error.to_string()))
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { code: error.code().into(), message: error.to_string(), details: None }
    }
}

/// Facts that could not be written: the id that they hold is none.
fn broken(error: serde_json::Error) -> Failure {
    Failure { code: "invalid-json".into(), message: error.to_string(), details: None }
}
