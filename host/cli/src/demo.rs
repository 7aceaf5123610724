//! `demo`: a turn that mentions another session, step by step, offline.

mod side;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use dsh_agent::Agent;
use dsh_model::{Script, Scripted};
use dsh_session::{Message, Role, SessionId};
use serde_json::json;

use crate::args::Demo;
use crate::exit::Exit;
use crate::harness::{Harness, Options};
use crate::outcome::Outcome;
use crate::visible::{Line, Lines};
use crate::{find, snapshot};

/// The sample sessions: each prompt with the reply that it gets.
const SAMPLES: [&[(&str, &str)]; 3] = [
    &[
        (
            "Plan a Kyoto garden weekend. It is November, and I walk slowly.",
            "Saturday: Daitoku-ji and its stone gardens, then the moss of Gio-ji. Sunday: Shugaku-in, by permit, and an evening at the Kamo.",
        ),
        (
            "Nothing before ten in the morning, and no buses.",
            "Then each day starts at half past ten, on foot or by train. Shugaku-in has a tour at 11:00; its paths are steep and wet in November.",
        ),
    ],
    &[(
        "Keep a sourdough starter alive over a holiday: how?",
        "Feed it stiff, one part starter to five of flour, and put it into the fridge.",
    )],
    &[(
        "What do I always forget to pack?",
        "Plugs for the other country's sockets, and something to read.",
    )],
];

/// What the model answers to the mention: only who read the snapshot can.
const ANSWER: &str = "Shoes that grip, for the steep wet paths at Shugaku-in; a warm layer for the evening at the Kamo; the permit. You start at half past ten, so no alarm clock.";

/// Makes the sample sessions and shows the turn.
pub(crate) async fn demo(args: &Demo, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let place = Place::new(args.keep.as_deref())?;
    let options = Options { encoding: Some(args.encoding.into()), ..Options::standard() };
    let plugins = options.plugins.len();
    let harness = Harness::open(&place.root(), options).await?;
    let mut sessions = Vec::new();
    for sample in SAMPLES {
        sessions.push(talk(&harness, sample).await?);
    }
    let [source, _, target] = sessions.as_slice() else {
        anyhow::bail!("a sample session is missing")
    };
    heading(out, "1. Sample sessions")?;
    for id in &sessions {
        writeln!(out, "{}", Line(&title(&harness, id).await?))?;
    }
    heading(out, "2. You write, in the last of them")?;
    let label = title(&harness, source).await?;
    let prompt =
        format!("For the trip in {}: what do I have to pack?", find::mention(&label, source));
    writeln!(out, "{prompt}")?;

    let model = Arc::new(Scripted::new(script([ANSWER])?));
    let agent = harness.resume(target, model.clone()).await?;
    let before = agent.live().next_seq();
    ask(&agent, &prompt).await?;
    let request = model.requests().pop().context("the model was not asked")?;
    agent.dispose().await?;
    drop(agent);

    heading(out, "3. What the plugin did")?;
    let (own, others) = (fresh(&request.messages), plugins);
    writeln!(out, "agent/pre-step passed your message through {others} sandboxed component(s).")?;
    for message in own {
        match snapshot::summary(message) {
            Some(lines) => {
                for line in lines {
                    writeln!(out, "{}: added a {line}", message.source().kind)?;
                }
            }
            None => writeln!(
                out,
                "session-reference: your message now reads\n  {}",
                Lines(&message.text())
            )?,
        }
    }
    heading(out, "4. The request that the model got")?;
    if let Some(system) = &request.header.system {
        writeln!(out, "[system]\n{}", Lines(system))?;
    }
    for message in &request.messages {
        let who = match message.role() {
            Role::Assistant => "assistant".to_owned(),
            Role::User => format!("user, from {}", message.source().kind),
        };
        writeln!(out, "[{who}]\n{}", Lines(&message.text()))?;
    }
    heading(out, "5. The reply")?;
    writeln!(out, "{ANSWER}")?;
    heading(out, "6. The log")?;
    let after =
        harness.sessions().surface(target).await?.surface.captured_through().unwrap_or_default();
    writeln!(
        out,
        "Events {before} to {after} of {} tell all of this again.",
        Line(&target.to_string())
    )?;
    writeln!(out, "The other session was read, and neither resumed nor changed.")?;
    side::show(&harness, target, out).await?;
    place.leave(out, target)
}

/// Runs a sample session's turns and gives its id.
async fn talk(harness: &Harness, sample: &[(&str, &str)]) -> anyhow::Result<SessionId> {
    let replies = sample.iter().map(|(_, reply)| *reply);
    let agent = harness.create(None, Arc::new(Scripted::new(script(replies)?))).await?;
    for (prompt, _) in sample {
        ask(&agent, prompt).await?;
    }
    agent.dispose().await?;
    Ok(agent.live().header().id.clone())
}

/// A model that gives these replies, one for each prompt.
fn script<'a>(replies: impl IntoIterator<Item = &'a str>) -> anyhow::Result<Script> {
    let lines = replies.into_iter().map(|text| json!({ "text": text }).to_string());
    Ok(Script::parse(&lines.collect::<Vec<_>>().join("\n"))?)
}

async fn ask(agent: &Agent, prompt: &str) -> anyhow::Result<()> {
    agent.followup(agent.prompt(prompt)?).await?;
    agent.when_idle().await?;
    let end = agent.last_turn().context("the turn left no end in the log")?.end;
    match Outcome::of(&end).sentence() {
        None => Ok(()),
        Some(sentence) => anyhow::bail!("{sentence}"),
    }
}

async fn title(harness: &Harness, id: &SessionId) -> anyhow::Result<String> {
    let mut titles = harness.sessions().titles(std::slice::from_ref(id)).await;
    let title = titles.pop().context("no title was read")??;
    Ok(title.map_or_else(|| id.to_string(), |title| title.title))
}

/// The messages of the turn just run: the last prompt and what follows it.
fn fresh(messages: &[Message]) -> &[Message] {
    let prompt = messages.iter().rposition(|message| message.source().is_user());
    prompt.and_then(|prompt| messages.get(prompt..)).unwrap_or_default()
}

fn heading(out: &mut dyn Write, text: &str) -> std::io::Result<()> {
    writeln!(out, "\n── {text} ──")
}

/// A word for a shell to read as it is.
fn quoted(word: &str) -> String {
    let plain = |char: char| char.is_alphanumeric() || "/._-".contains(char);
    if word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Where the sample sessions lie.
enum Place {
    Kept(PathBuf),
    Gone(tempfile::TempDir),
}

impl Place {
    fn new(keep: Option<&Path>) -> anyhow::Result<Self> {
        let Some(keep) = keep else {
            return Ok(Self::Gone(tempfile::tempdir().context("no temporary folder can be made")?));
        };
        let said = || format!("{}", keep.display());
        if keep.exists() && keep.read_dir().with_context(said)?.next().is_some() {
            anyhow::bail!("{} is not empty; say a new folder with --keep", keep.display());
        }
        Ok(Self::Kept(std::path::absolute(keep)?))
    }

    /// The root; one below the temporary folder, which the index beside it goes with.
    fn root(&self) -> PathBuf {
        match self {
            Self::Kept(path) => path.clone(),
            Self::Gone(dir) => dir.path().join("sessions"),
        }
    }

    fn leave(&self, out: &mut dyn Write, target: &SessionId) -> anyhow::Result<Exit> {
        match self {
            Self::Kept(path) => {
                let (root, id) = (quoted(&path.display().to_string()), target.to_string());
                writeln!(out, "\nIt is yours to look at:")?;
                writeln!(out, "  dsh-wasm sessions --root {root}")?;
                writeln!(out, "  dsh-wasm show --root {root} {id}")?;
                writeln!(out, "  dsh-wasm show --root {root} --log {id}")?;
            }
            Self::Gone(_) => {
                writeln!(out, "\n`dsh-wasm demo --keep DIR` leaves it for you to look at.")?
            }
        }
        Ok(Exit::Done)
    }
}
