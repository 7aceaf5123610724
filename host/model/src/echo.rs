//! A model that says what it was asked.

use futures::StreamExt as _;
use futures::stream::{self, BoxStream};

use dsh_agent::{Chunk, Finish, Model, ReplyBlock, Request, Route};
use dsh_session::Message;

use crate::reply;

/// Most characters of a prompt that are echoed.
const LONGEST: usize = 200;

/// Answers with a short account of what it got: the last prompt, and the context messages that came with it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Echo;

impl Model for Echo {
    fn route(&self) -> Route {
        Route::new("dsh-wasm", "echo")
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Chunk> {
        let blocks = [ReplyBlock::Text { text: account(&request.messages) }];
        let chunks = reply::chunks(&blocks, Some(Finish::Stop), &request);
        let yielding = |chunk| async {
            tokio::task::yield_now().await;
            chunk
        };
        stream::iter(chunks).then(yielding).boxed()
    }
}

/// What there is to say about a request with these messages.
fn account(messages: &[Message]) -> String {
    let Some(prompt) = messages.iter().rposition(|message| message.source().is_user()) else {
        return format!("I got {}, none of them from you.", counted(messages.len(), "message"));
    };
    let said = messages.get(prompt).map(Message::text).unwrap_or_default();
    let context: Vec<&str> = messages.iter().filter_map(context_kind).collect();
    let mut account = format!("You said: {}", shortened(&said));
    account += &format!("\nI got {}", counted(messages.len(), "message"));
    match context.as_slice() {
        [] => account.push('.'),
        kinds => {
            let named = kinds.join(", ");
            let count = counted(kinds.len(), "context message");
            account += &format!(", {count} among them: {named}.");
        }
    }
    account
}

/// Who a context message speaks for: a plugin's name where it has one.
fn context_kind(message: &Message) -> Option<&str> {
    let source = message.source();
    let spoken = matches!(&*source.kind, "user" | "model" | "tool");
    (!spoken).then(|| source.plugin.as_deref().unwrap_or(&source.kind))
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dsh_session::Json;

    fn message(source: &str, text: &str) -> Message {
        let block = Json::of(&serde_json::json!({ "type": "text", "text": text })).unwrap();
        Message::user("m", &Json::parse(source).unwrap(), &[block]).unwrap()
    }

    #[test]
    fn it_tells_the_prompt_from_the_context() {
        let messages = [
            message(r#"{"kind":"user"}"#, "compare"),
            message(r#"{"kind":"session-reference"}"#, "secret"),
            message(r#"{"kind":"plugin","plugin":"notes"}"#, "secret"),
        ];
        let account = account(&messages);
        let expected = "You said: compare\n\
            I got 3 messages, 2 context messages among them: session-reference, notes.";
        assert_eq!(account, expected);
    }

    #[test]
    fn it_is_not_lost_without_a_prompt() {
        assert_eq!(account(&[]), "I got 0 messages, none of them from you.");
    }

    #[test]
    fn a_long_prompt_is_cut_between_characters() {
        let account = account(&[message(r#"{"kind":"user"}"#, &"ä".repeat(201))]);
        assert!(account.contains(&format!("{}…\n", "ä".repeat(200))));
    }
}
