//! `show`: one session, as people see it or as it lies beneath.

mod conversation;
mod raw;

use std::io::Write;

pub use conversation::Conversation;

use dsh_session::{Block, Encoding, Fold, Message, ReadSession, SessionId, Sessions};

use crate::args::Show;
use crate::exit::Exit;
use crate::{find, harness};

/// Shows the view that was asked for.
pub(crate) async fn show(args: &Show, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let root = find::root(&args.common)?;
    let sessions = harness::sessions(&root, Encoding::Zstd);
    let id = find::session(&sessions, &args.session).await?;
    let json = args.common.json;
    if args.view.log {
        raw::log(&sessions, &id, out, json).await?;
    } else if args.view.request {
        raw::request(&sessions, &id, out, json).await?;
    } else if args.view.surface {
        raw::surface(&sessions, &id, out, json, args.full).await?;
    } else {
        conversation::show(&sessions, &id, out, json, args.full).await?;
    }
    Ok(Exit::Done)
}

/// Reads a session whole, where it holds up nobody.
pub(crate) async fn read<F: Fold + 'static>(
    sessions: &Sessions,
    id: &SessionId,
    mut fold: F,
) -> anyhow::Result<(ReadSession, F)> {
    let (sessions, id) = (sessions.clone(), id.clone());
    let read = tokio::task::spawn_blocking(move || {
        let read = sessions.store().read(&id, &mut fold)?;
        Ok((read, fold))
    });
    read.await?
}

/// The plugins that changed a message on its way, as its source names them.
pub(crate) fn rewriters(message: &Message) -> Vec<String> {
    let source = message.source().facts.object().ok();
    source.and_then(|source| source.read("rewrittenBy")).unwrap_or_default()
}

/// A block as text, in the words that a model's protocol has for it.
fn block(block: &Block) -> String {
    match block {
        Block::Text(text) | Block::Reasoning(text) => text.to_string(),
        Block::ToolCall(call) => format!("call {} {}", call.name, call.arguments),
        Block::ToolResult(result) => {
            let texts: Vec<&str> = result.content.iter().filter_map(Block::text).collect();
            format!("result of {}: {}", result.call, texts.join("\n"))
        }
        Block::Other(json) => json.as_str().to_owned(),
    }
}
