//! A component without `pre-step` loads, and its other seams work.

use programs::mentions::{Candidate, Target};
use programs::references::{Parsed, Prepared, Reference, Snapshot};
use programs::{Block, Failure, Mentions, References, SessionId, Step, failure, query};

struct Program;

impl Mentions for Program {
    fn candidates(
        target: Target,
        query: String,
        limit: Option<u32>,
    ) -> Result<Vec<Candidate>, Failure> {
        assert!(Step::current().is_none(), "no step outside `pre-step`");
        if limit == Some(0) {
            return Err(failure("LIMIT"));
        }
        let sessions = query::list_sessions()?.into_iter().map(|header| Candidate {
            mention: format!("@[{query}]({} for {})", header.id, target.session),
            session: header.id,
            label: query.clone(),
            cwd: header.cwd,
            created_at: header.created_at,
        });
        Ok(sessions.collect())
    }
}

impl References for Program {
    fn parse(text: String) -> Result<Parsed, Failure> {
        match text.strip_prefix('@') {
            Some(id) => {
                let reference = Reference { session: id.to_owned(), label: None };
                Ok(Parsed { text: id.to_owned(), references: vec![reference] })
            }
            None => Err(failure("NO_MENTION")),
        }
    }

    fn format(reference: Reference) -> String {
        format!("@{}", reference.session)
    }

    fn prepare(
        _target: SessionId,
        content: Vec<Block>,
        references: Vec<Reference>,
    ) -> Result<Prepared, Failure> {
        let facts = |reference: Reference| {
            format!("{{ \"kind\": \"plugin\", \"session\": \"{}\" }}", reference.session)
        };
        let snapshot = references.into_iter().next().map(|reference| Snapshot {
            content: vec![Block::Text("what it says".to_owned())],
            facts: facts(reference),
        });
        Ok(Prepared { content, snapshot })
    }
}

programs::export!(Program: Mentions, References);
