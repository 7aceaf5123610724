//! What is said beside the reply: notices, questions with all of what would run, and calls that nobody could be asked
//! about.

use std::io;

use dsh_session::{Event, ToolResult};
use serde::Serialize;

use super::Shower;
use crate::aside::{Answer, Aside, Beside, Question};
use crate::visible::{Line, Lines};

/// A call that was denied because nobody could be asked.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Unanswered {
    /// The tool.
    tool: String,
    /// Why it was asked about, and which rule would have allowed it.
    reason: Option<String>,
    #[serde(skip)]
    id: String,
    #[serde(skip)]
    call: String,
}

/// Questions that the log tells of.
#[derive(Default)]
pub(super) struct Questions {
    /// Asked and not decided yet.
    open: Vec<Unanswered>,
    /// Those that nobody could answer.
    pub(super) unanswered: Vec<Unanswered>,
}

impl Questions {
    /// Keeps what an event says of a question; the call that it leaves unanswered.
    fn event(&mut self, event: &Event) -> Option<&Unanswered> {
        let data = event.data.object().ok()?;
        let text = |key| data.text(key).map(|text| text.as_ref().to_owned());
        let id = text("id")?;
        match &*event.kind {
            "approval/asked" => {
                let (tool, reason, call) = (text("toolName")?, text("reason"), text("callId")?);
                self.open.push(Unanswered { tool, reason, id, call });
                None
            }
            "approval/decided" => {
                let at = self.open.iter().position(|asked| asked.id == id)?;
                let asked = self.open.remove(at);
                if text("outcome")? != "unavailable" {
                    return None;
                }
                self.unanswered.push(asked);
                self.unanswered.last()
            }
            _ => None,
        }
    }
}

impl Shower<'_> {
    /// Shows a notice, or asks; the reply so far is shown by then.
    pub(super) async fn aside(&mut self, aside: Aside, beside: Option<&Beside>) -> io::Result<()> {
        match aside {
            Aside::Notice(text) => writeln!(self.err, "{}", Line(&text)),
            Aside::Question(question) => self.question(question, beside).await,
        }
    }

    /// Shows all of a call and asks; where the question is taken back meanwhile, it goes on without an answer.
    async fn question(&mut self, question: Question, beside: Option<&Beside>) -> io::Result<()> {
        // Without a person the sender is dropped, which says that nobody is there.
        let Some(person) = beside.and_then(Beside::person) else { return Ok(()) };
        self.end_line()?;
        let Question { preview, reason, mut answer } = question;
        writeln!(self.err, "{}", Line(&preview.title))?;
        writeln!(self.err, "{}", Lines(preview.body.trim_end_matches('\n')))?;
        if let Some(reason) = reason {
            writeln!(self.err, "({})", Line(&reason))?;
        }
        let asked =
            format!("Run it? y = yes, a = always ({}, until this ends), else no:", preview.kept);
        let typed = tokio::task::spawn_blocking(move || person.answer(&asked));
        tokio::select! {
            typed = typed => {
                let typed = typed.map_err(io::Error::other)??;
                // Whoever asked may have given up at this very moment.
                let _ = answer.send(Answer::of(&typed));
                Ok(())
            }
            () = answer.closed() => writeln!(self.err),
        }
    }

    /// Tells of a call that nobody could be asked about.
    pub(super) fn unanswered(&mut self, event: &Event) -> io::Result<()> {
        let Some(call) = self.questions.event(event) else { return Ok(()) };
        let reason = call.reason.as_deref().unwrap_or("a gate asks about it");
        writeln!(
            self.err,
            "{} did not run, for nobody could be asked: {}",
            Line(&call.tool),
            Line(reason)
        )
    }

    /// One line on a call that failed, unless it was told of already: the model reads all of it.
    pub(super) fn failed_call(&mut self, result: &ToolResult) -> io::Result<()> {
        if self.questions.unanswered.iter().any(|asked| *asked.call == *result.call) {
            return Ok(());
        }
        let text = result.content.iter().find_map(|block| block.text()).unwrap_or_default();
        let first = text.lines().next().unwrap_or_default();
        let shown = first.get(..first.floor_char_boundary(500)).unwrap_or(first);
        writeln!(self.err, "  {}", Line(shown))
    }
}
