//! The families of vectors, and what runs each of them.

mod candidates;
mod fork_prefix;
mod mention_parse;
mod pipeline;
mod prepare;
mod prestep;
mod retention;
mod session_list;
mod surface;
mod tag_safe_json;
mod text_retainer;
mod title;
mod uri;

use anyhow::Result;

use crate::subject::Subject;
use crate::vector::{Got, Vector};

/// A family of vectors, which is a file of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// The reference URI.
    Uri,
    /// Mentions in a text.
    MentionParse,
    /// References held as values.
    Prepare,
    /// A batch on its way into a step.
    Prestep,
    /// What can be mentioned.
    Candidates,
    /// From raw logs to what the model reads.
    Pipeline,
    /// What fits into a budget.
    Retention,
    /// JSON in which no text can close a tag.
    TagSafeJson,
    /// A text cut to its ends.
    TextRetainer,
    /// The fold of a raw log.
    Surface,
    /// Titles.
    Title,
    /// The order of sessions.
    SessionList,
    /// What a fork inherits.
    ForkPrefix,
}

impl Family {
    /// All of them, in the order in which they are run.
    pub const ALL: [Self; 13] = [
        Self::Uri,
        Self::MentionParse,
        Self::Prepare,
        Self::Prestep,
        Self::Candidates,
        Self::Pipeline,
        Self::Retention,
        Self::TagSafeJson,
        Self::TextRetainer,
        Self::Surface,
        Self::Title,
        Self::SessionList,
        Self::ForkPrefix,
    ];

    /// Its name, which is its file's.
    pub fn name(self) -> &'static str {
        match self {
            Self::Uri => "uri",
            Self::MentionParse => "mention_parse",
            Self::Prepare => "prepare",
            Self::Prestep => "prestep",
            Self::Candidates => "candidates",
            Self::Pipeline => "pipeline",
            Self::Retention => "retention",
            Self::TagSafeJson => "tag_safe_json",
            Self::TextRetainer => "text_retainer",
            Self::Surface => "surface",
            Self::Title => "title",
            Self::SessionList => "session_list",
            Self::ForkPrefix => "fork_prefix",
        }
    }

    /// Runs one vector.
    pub(crate) async fn run(self, subject: &Subject, vector: &Vector) -> Result<Got> {
        match self {
            Self::Uri => uri::run(subject, vector).await,
            Self::MentionParse => mention_parse::run(subject, vector).await,
            Self::Prepare => prepare::run(subject, vector).await,
            Self::Prestep => prestep::run(subject, vector).await,
            Self::Candidates => candidates::run(subject, vector).await,
            Self::Pipeline => pipeline::run(subject, vector).await,
            Self::Retention => retention::run(subject, vector).await,
            Self::TagSafeJson => tag_safe_json::run(&subject.blocks, vector),
            Self::TextRetainer => text_retainer::run(&subject.blocks, vector),
            Self::Surface => surface::run(vector),
            Self::Title => title::run(vector),
            Self::SessionList => session_list::run(subject, vector).await,
            Self::ForkPrefix => fork_prefix::run(vector).await,
        }
    }
}
