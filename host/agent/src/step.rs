//! One step: the messages that enter it, a request, a reply, and its tools (contracts §6.2).

use dsh_session::{Block, Draft, Json, Message, ToolCall, fallback_title};
use serde::Serialize;

use crate::assemble::Reply;
use crate::compaction::is_too_long;
use crate::lifecycle;
use crate::turn::{StepEnd, Turn};
use crate::{Finish, LogError, ReplyBlock, Request, RequestHeader, TurnEnd, Usage};

/// Most words of a prompt that make a title, as in the real client's standard composition (contracts §4.4).
const TITLE_WORDS: usize = 5;

/// Most UTF-8 bytes of such a title, from the same place.
const TITLE_BYTES: usize = 40;

impl Turn<'_> {
    /// Opens a step with these messages, lets the model answer and runs what it calls.
    pub(crate) async fn step(&mut self, entered: Vec<Message>) -> Result<StepEnd, TurnEnd> {
        self.open_step()?;
        let entered = self.shared.join_due(entered)?;
        let first = self.enter(&entered)?;
        let (header, (reply, seqs)) = match self.reply(&entered).await {
            Err(end) if is_too_long(&end) => {
                // The chunks of the first attempt stay in the log, and no message is made from them.
                if !self.make_room_again(first).await? {
                    return Err(end);
                }
                self.reply(&entered).await?
            }
            answered => answered?,
        };
        let Reply { blocks, usage, finish, replay_state } = reply;
        let message = self.assistant_message(&header, &blocks, replay_state)?;
        let draft = self.place.assistant_message(&message, usage, false, seqs);
        self.shared.append_measured(draft)?;
        self.shared.replied(&message);
        let calls = message.blocks().iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call.clone()),
            _ => None,
        });
        let calls: Vec<ToolCall> = calls.collect();
        let end = if finish == Finish::MaxTokens {
            StepEnd::Done(TurnEnd::MaxTokens)
        } else if calls.is_empty() || self.run_tools(&calls).await? {
            StepEnd::Done(TurnEnd::Completed)
        } else {
            StepEnd::Owing
        };
        self.close_step()?;
        Ok(end)
    }

    /// Asks the model what the log says: the header of the request, and the reply with the chunks that it was made
    /// from.
    async fn reply(
        &self,
        entered: &[Message],
    ) -> Result<(RequestHeader, (Reply, Vec<u64>)), TurnEnd> {
        let request = self.request()?;
        debug_assert!(request.messages.ends_with(entered), "what entered is what is asked");
        self.shared.commit().await?;
        self.check_cancelled()?;
        let answered = self.answer(&request).await?;
        Ok((request.header, answered))
    }

    /// Logs the messages, and a title where the session has none yet; gives the place of the first message.
    fn enter(&self, entered: &[Message]) -> Result<Option<u64>, LogError> {
        let mut title = None;
        let mut first = None;
        for message in entered {
            let event = self.shared.append(Ok(self.composition.user_message(message)))?;
            first = first.or(Some(event.seq));
            if title.is_none() && message.source().is_user() {
                let words = fallback_title(&message.text(), TITLE_WORDS, TITLE_BYTES);
                title = (!words.is_empty()).then_some((words, event.seq));
            }
        }
        if let Some((title, seq)) = title
            && matches!(self.shared.live().title(), Ok(None))
        {
            self.shared.append(lifecycle::fallback_title(&title, seq))?;
        }
        Ok(first)
    }

    /// Logs what the request needs that the log does not hold yet, and derives it from the log.
    fn request(&self) -> Result<Request, LogError> {
        let route = self.composition.model.route();
        let (header, drafts) = self.shared.headers(|headers| {
            let header = headers.next(&self.composition);
            let drafts = headers.drafts(&header, &route);
            drafts.map(|drafts| (header, drafts))
        })?;
        for draft in drafts {
            self.log_header(draft)?;
        }
        let live = self.shared.live();
        let logged = self.shared.headers(|headers| headers.latest().cloned());
        let header = logged.unwrap_or(header);
        Ok(Request { session: live.header().id.clone(), header, messages: self.shared.asked() })
    }

    fn log_header(&self, draft: Draft) -> Result<(), LogError> {
        let event = self.shared.append(Ok(draft))?;
        self.shared.headers(|headers| headers.logged(&event));
        Ok(())
    }

    /// The message that a reply becomes.
    pub(crate) fn assistant_message(
        &self,
        header: &RequestHeader,
        blocks: &[ReplyBlock],
        replay_state: Option<serde_json::Value>,
    ) -> Result<Message, LogError> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Source<'a> {
            kind: &'static str,
            provider: &'a str,
            model: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            replay_state: Option<serde_json::Value>,
        }
        let RequestHeader { config, .. } = header;
        let (provider, model) = (&config.provider, &config.model);
        let source = Json::of(&Source { kind: "model", provider, model, replay_state })?;
        let content = blocks.iter().map(Json::of).collect::<Result<Vec<_>, _>>()?;
        Ok(Message::assistant(&self.shared.new_id(), &source, &content)?)
    }

    /// Logs what stays of a reply that was cut off.
    pub(crate) fn interrupted(
        &self,
        header: &RequestHeader,
        blocks: &[ReplyBlock],
        usage: Option<Usage>,
        seqs: Vec<u64>,
    ) -> Result<(), LogError> {
        let message = self.assistant_message(header, blocks, None)?;
        let draft = self.place.assistant_message(&message, usage, true, seqs);
        self.shared.append(draft)?;
        Ok(())
    }
}
